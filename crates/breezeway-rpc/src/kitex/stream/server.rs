//! A connection of Kitex's streams, served by a thread for each.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{Builder, Scope};
use std::time::Instant;

use breezeway::{CallError, Carrier, Peer};
use breezeway_os::shortage;

use super::room::{Place, Room};
use crate::context::Context;
use crate::error::Error;
use crate::kitex::Receiver;
use crate::kitex::frame::{TIMEOUT, Writer};
use crate::kitex::incoming::Incoming;
use crate::kitex::output::Output;
use crate::kitex::side_by_side::read;
use crate::kitex::streams::{Came, Opening, Streams};
use crate::server::Services;
use crate::stream::{Body, Ended, ReceivingRequests, SendingReplies, Served};
use crate::thrift::ExceptionKind;

/// Maximum number of concurrent streams of a connection, each with a thread.
const MAX_OPEN: usize = 128;

/// Next input for the handler of a stream.
enum Input {
    Message(Vec<u8>, Place),
    End,
}

/// Sender of a stream's input, for the connection.
struct Inlet {
    inputs: mpsc::Sender<Input>,
    cancelled: Arc<Cancelled>,
}

/// Set once the client no longer wants a stream, or is gone.
#[derive(Default)]
struct Cancelled {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Cancelled {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_set.lock().expect("no panic under the lock")
    }

    fn set(&self) {
        *self.lock() = true;
        self.changed.notify_all();
    }

    fn is_set(&self) -> bool {
        *self.lock()
    }

    fn wait(&self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = self.changed.wait_timeout_while(self.lock(), left, |is_set| !*is_set);
        *waited.expect("no panic under the lock").0
    }
}

impl Drop for Inlet {
    fn drop(&mut self) {
        self.cancelled.set();
    }
}

/// The client's direction, for its handler.
pub(crate) struct Requests {
    inputs: mpsc::Receiver<Input>,
    context: Arc<Context>,
    has_ended: bool,
}

/// The server's direction.
#[derive(Clone)]
pub(crate) struct Replies {
    output: Arc<Output>,
    writer: Writer,
    context: Arc<Context>,
    cancelled: Arc<Cancelled>,
    has_begun: bool,
}

/// Serves the streams of a connection until its client closes it. Unfinished streams are then
/// cancelled.
///
/// Messages that no handler has read take room; when there is no more, nothing further is read: the
/// protocol has no other way to stop a client, and all streams of the connection wait. A client
/// that ends the connection then cancels them too: bytes beyond the room are not read.
pub(in crate::kitex) fn serve(
    services: &Services,
    output: &Arc<Output>,
    alone: &mut Option<Incoming>,
    (carrier, peer): (Carrier, Peer),
    receiver: &mut Receiver,
) -> Result<(), Error> {
    std::thread::scope(|scope| {
        let (ended, reaped) = mpsc::channel();
        let mut streams = Connection {
            services,
            carrier,
            peer,
            output: Arc::clone(output),
            room: Room::new(),
            streams: Streams::new(MAX_OPEN),
            inlets: HashMap::new(),
            ended,
        };
        loop {
            while let Some(frame) = receiver.next_frame().map_err(Error::wire)? {
                output.socket().note_message();
                while let Ok(stream) = reaped.try_recv() {
                    streams.close(stream);
                }
                let came = streams.streams.take(frame).map_err(Error::wire)?;
                if streams.take(scope, came).is_break() {
                    return Ok(());
                }
            }
            match read(output, alone, receiver.room()) {
                Ok(0) | Err(_) => return Ok(()),
                Ok(count) => receiver.take(count),
            }
        }
    })
}

struct Connection<'c> {
    services: &'c Services,
    carrier: Carrier,
    peer: Peer,
    output: Arc<Output>,
    room: Room,
    streams: Streams,
    inlets: HashMap<i32, Inlet>,
    /// Channel by which threads report the numbers of their streams at the end.
    ended: mpsc::Sender<i32>,
}

impl<'c> Connection<'c> {
    fn close(&mut self, stream: i32) {
        self.streams.close(stream);
        self.inlets.remove(&stream);
    }

    /// Returns `Break` if the connection has ended while its room was full.
    fn take<'scope>(&mut self, scope: &'scope Scope<'scope, '_>, came: Came) -> ControlFlow<()>
    where
        'c: 'scope,
    {
        match came {
            Came::Opened(opening) => self.open(scope, opening),
            Came::Refused(opening, words) => {
                let error = Error::new(ExceptionKind::INTERNAL_ERROR, words);
                self.replies(opening).0.finish(Ended::Failed(error));
            }
            Came::Message(stream, message) => {
                let is_over = || self.output.socket().has_ended();
                let Some(place) = self.room.take_unless(message.len(), is_over) else {
                    return ControlFlow::Break(());
                };
                if let Some(inlet) = self.inlets.get(&stream) {
                    // Fails if the handler no longer reads.
                    let _ = inlet.inputs.send(Input::Message(message, place));
                }
            }
            Came::End(stream) => {
                if let Some(inlet) = self.inlets.get(&stream) {
                    let _ = inlet.inputs.send(Input::End);
                }
            }
            Came::Reset(stream) => drop(self.inlets.remove(&stream)),
            Came::Nothing => {}
        }
        ControlFlow::Continue(())
    }

    fn open<'scope>(&mut self, scope: &'scope Scope<'scope, '_>, opening: Opening)
    where
        'c: 'scope,
    {
        let found = opening.find(&self.services.registry);
        let stream = opening.stream;
        let (mut replies, context) = self.replies(opening);
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                self.streams.close(stream);
                return replies.finish(Ended::Failed(error));
            }
        };
        let (inputs, came) = mpsc::channel();
        let cancelled = Arc::clone(&replies.cancelled);
        self.inlets.insert(stream, Inlet { inputs, cancelled });
        let requests = Requests { inputs: came, context: Arc::clone(&context), has_ended: false };
        let mut refused = replies.clone();
        let (services, ended) = (self.services, self.ended.clone());
        let thread = Builder::new().name("thrift stream".to_owned());
        let started = thread.spawn_scoped(scope, move || {
            let served = Served {
                receiving: ReceivingRequests::Thrift(requests),
                sending: SendingReplies::Thrift(replies),
                ended: None,
            };
            served.serve(services, found, &context);
            // Fails once the connection is over.
            let _ = ended.send(stream);
        });
        if let Err(error) = started.map_err(shortage::no_thread) {
            tracing::warn!(%error, "no thread for a stream");
            let words = "the server has no thread for the stream";
            refused.finish(Ended::Failed(Error::new(ExceptionKind::INTERNAL_ERROR, words)));
            self.close(stream);
        }
    }

    fn replies(&self, mut opening: Opening) -> (Replies, Arc<Context>) {
        let context = Arc::new(opening.context(self.carrier, self.peer.clone()));
        let replies = Replies {
            output: Arc::clone(&self.output),
            writer: Writer::new(opening.stream, opening.method),
            context: Arc::clone(&context),
            cancelled: Arc::default(),
            has_begun: false,
        };
        (replies, context)
    }
}

impl Requests {
    pub(crate) fn receive(&mut self) -> Result<Option<Body>, Error> {
        if self.has_ended {
            return Ok(None);
        }
        let input = match self.context.time_left() {
            None => self.inputs.recv().map_err(RecvTimeoutError::from),
            Some(left) => self.inputs.recv_timeout(left),
        };
        match input {
            Ok(Input::Message(message, place)) => {
                drop(place);
                Ok(Some(Body::Private(message)))
            }
            Ok(Input::End) => {
                self.has_ended = true;
                Ok(None)
            }
            Err(RecvTimeoutError::Timeout) => Err(CallError::DeadlinePassed.into()),
            Err(RecvTimeoutError::Disconnected) => Err(Error::cancelled()),
        }
    }
}

impl Replies {
    pub(crate) fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        if self.is_cancelled() {
            return Err(Error::cancelled());
        }
        if self.context.time_left().is_some_and(|left| left.is_zero()) {
            return Err(CallError::DeadlinePassed.into());
        }
        let mut bytes = Vec::with_capacity(message.len() + 64);
        if !self.has_begun {
            self.writer.header(self.context.take_reply_metadata(), &mut bytes)?;
        }
        self.writer.data(message, &mut bytes)?;
        self.has_begun = true;
        self.output.write(&bytes).map_err(|_| Error::cancelled())
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.is_set()
    }

    pub(crate) fn wait_cancelled(&self, deadline: Instant) -> bool {
        self.cancelled.wait(deadline)
    }

    /// Ends the stream.
    pub(crate) fn end(&mut self, ended: Ended) {
        match ended {
            Ended::Failed(Error::Call(CallError::DeadlinePassed)) => self.reset(),
            ended => self.finish(ended),
        }
    }

    fn finish(&mut self, ended: Ended) {
        let texts = self.context.take_reply_metadata();
        let last = self.writer.last(self.has_begun, ended, texts);
        if !self.is_cancelled() {
            // Fails if the client is gone.
            let _ = self.output.write(&last);
        }
    }

    fn reset(&mut self) {
        if let Ok(bytes) = self.writer.reset(TIMEOUT, "the stream's deadline passed") {
            let _ = self.output.write(&bytes);
        }
    }
}
