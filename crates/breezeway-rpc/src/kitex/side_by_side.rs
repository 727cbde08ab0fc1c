//! A connection whose requests are served side by side, each by a thread of its own.

use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::Builder;

use breezeway::{Carrier, Peer};
use breezeway_os::shortage;

use super::connections::CountedThread;
use super::incoming::Incoming;
use super::output::Output;
use super::stream::{self, Place, Room};
use super::{Message, Receiver, Served, connection, connections};
use crate::error::Error;
use crate::server::Services;

/// Threads that stay while no request waits: one reads, and one reads on while the first serves.
/// This many of each connection do not count as its client's.
const MAX_IDLE: usize = 2;

/// Serves a connection whose client finds its replies by their numbers, from its first request on,
/// until the client closes it.
///
/// The thread that has read a request serves it, and another thread reads on. Room for requests in
/// progress is bounded; while there is none, nothing further is read. The caller's thread is one of
/// them and may return first; `client` is given up by the last.
pub(super) fn serve(
    services: &Arc<Services>,
    connection: Incoming,
    client: &Arc<connections::Place>,
    receiver: Receiver,
    first: Message,
) -> Result<(), Error> {
    let (carrier, peer) = (connection.carrier(), connection.peer().clone());
    let (socket, alone) = connection.shared()?;
    let room = Room::new();
    let place = room.take(first.memory());
    let connection = Arc::new(Connection {
        services: Arc::clone(services),
        carrier,
        peer,
        output: Arc::new(Output::new(socket)),
        room,
        reading: Mutex::new(Reading { receiver, alone, is_over: false }),
        threads: Mutex::new(Threads { all: 1, idle: 1, counted: Vec::new() }),
        client: Arc::clone(client),
    });
    connection.work(Some((first, place)));
    Ok(())
}

struct Connection {
    services: Arc<Services>,
    carrier: Carrier,
    peer: Peer,
    output: Arc<Output>,
    room: Room,
    /// Held by the thread that reads.
    reading: Mutex<Reading>,
    threads: Mutex<Threads>,
    /// Dropped last: then no thread of this client is left.
    client: Arc<connections::Place>,
}

/// Threads of a connection.
struct Threads {
    all: usize,
    /// Threads that read, or wait until they may.
    idle: usize,
    /// One for each beyond [`MAX_IDLE`].
    counted: Vec<CountedThread>,
}

impl Threads {
    /// Removes a thread from the count.
    fn end_one(&mut self) {
        self.all -= 1;
        self.counted.pop();
    }
}

/// The reading side.
struct Reading {
    receiver: Receiver,
    /// Source of bytes, if it is not the output's socket.
    alone: Option<Incoming>,
    is_over: bool,
}

impl Connection {
    /// Serves requests until the connection is over or enough threads are idle.
    fn work(self: &Arc<Self>, mut first: Option<(Message, Place)>) {
        while let Some((request, place)) = first.take().or_else(|| self.next()) {
            self.let_another_read();
            self.serve(request);
            drop(place);
            if !self.becomes_idle() {
                return;
            }
        }
        self.threads().end_one();
    }

    /// Waits for the turn to read, then for the next request; `None` once the connection is over.
    fn next(&self) -> Option<(Message, Place)> {
        let mut reading = self.reading.lock().expect("no panic under the lock");
        let Reading { receiver, alone, is_over } = &mut *reading;
        while !*is_over {
            if receiver.begins_with_stream() == Some(true) {
                let client = (self.carrier, self.peer.clone());
                let served = stream::serve(&self.services, &self.output, alone, client, receiver);
                served.unwrap_or_else(|error| self.refuse(&error));
                *is_over = true;
                break;
            }
            match receiver.next() {
                Ok(Some(message)) => {
                    self.output.socket().note_message();
                    if message.header.is_some() {
                        let place = self.room.take(message.memory());
                        return Some((message, place));
                    }
                    // Without a number its reply has to be the next one.
                    self.serve(message);
                }
                Ok(None) => match read(&self.output, alone, receiver.room()) {
                    Ok(0) | Err(_) => *is_over = true,
                    Ok(count) => receiver.take(count),
                },
                Err(error) => {
                    self.refuse(&error);
                    if let Some(refusal) = error.refusal() {
                        // Fails if the client is gone.
                        let _ = self.output.write(&refusal);
                    }
                    *is_over = true;
                }
            }
        }
        None
    }

    fn refuse(&self, error: &(dyn std::error::Error + 'static)) {
        let reason = breezeway::describe(error);
        tracing::warn!(peer = ?self.peer, error = reason, "a Thrift client is refused");
    }

    fn serve(&self, message: Message) {
        let (carrier, peer) = (self.carrier, self.peer.clone());
        let reply = connection::serve(&self.services, carrier, peer, Served::new(message));
        if let Some(reply) = reply {
            // A failure ends the connection, and so its reader.
            let _ = self.output.write(&reply);
        }
    }

    /// Starts another thread if none reads while this one serves. If this client may not have
    /// another, the next request waits until this one is served.
    fn let_another_read(self: &Arc<Self>) {
        let mut threads = self.threads();
        threads.idle -= 1;
        if threads.idle > 0 {
            return;
        }
        let mut counted = None;
        if threads.all >= MAX_IDLE {
            counted = self.client.count_thread();
            if counted.is_none() {
                return;
            }
        }
        let thread = Builder::new().name("thrift request".to_owned());
        let connection = Arc::clone(self);
        match thread.spawn(move || connection.work(None)).map_err(shortage::no_thread) {
            Ok(_) => {
                threads.all += 1;
                threads.idle += 1;
                threads.counted.extend(counted);
            }
            Err(error) => tracing::warn!(%error, "no thread to serve requests side by side"),
        }
    }

    /// Returns false if other threads are idle already: this one is no longer counted, and ends.
    /// (It must not count until it takes the lock again: otherwise a request in between might find
    /// no thread that reads behind it.)
    fn becomes_idle(&self) -> bool {
        let mut threads = self.threads();
        if threads.idle >= MAX_IDLE {
            threads.end_one();
            return false;
        }
        threads.idle += 1;
        true
    }

    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().expect("no panic under the lock")
    }
}

/// Reads the next bytes of a connection, at least one; 0 at its end.
pub(super) fn read(
    output: &Output,
    alone: &mut Option<Incoming>,
    room: &mut [u8],
) -> Result<usize, Error> {
    match alone {
        Some(connection) => connection.read(room),
        None => output.socket().read(room, None),
    }
}
