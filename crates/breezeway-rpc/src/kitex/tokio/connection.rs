//! A connection of a Thrift client, served by a task.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use breezeway::{Carrier, ForeignConnection, Peer};
use breezeway_tokio::ForeignStream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{timeout, timeout_at};

use super::client::Bytes;
use super::streams;
use super::watched::{Ends, Watched, Watcher};
use crate::call::Call;
use crate::error::Error;
use crate::kitex::{Message, Receiver, Served, WireError};
use crate::thrift::{ExceptionKind, Limits};
use crate::tokio::{AsyncServices, Shared, caught};

/// Units of room for the requests of one connection that are served concurrently.
pub(super) const ROOM: usize = 64 << 10;
/// Units of room that a request takes beside one per KiB of its memory: there are at most 1,024
/// requests.
const EACH: usize = 64;
/// Number of replies waiting to be written at which no further request is served.
const MAX_QUEUED: usize = 64;

/// Serves a connection's requests until its client closes it or the server stops.
///
/// A client that uses TTHeader finds its replies by their numbers: its requests are served at the
/// same time. Others expect replies in order.
pub(crate) async fn serve_connection<S: AsyncServices>(
    shared: Arc<Shared<S>>,
    connection: ForeignConnection,
    stopped: watch::Receiver<()>,
) {
    let client = (connection.carrier(), connection.peer().clone());
    match ForeignStream::new(connection) {
        Ok(stream) => serve_bytes(shared, stream, client, None, stopped).await,
        Err(error) => tracing::warn!(%error, "a Thrift client cannot be served"),
    }
}

/// Serves requests like [`serve_connection`], on any carrier. Until the first message is complete,
/// each wait for more of it ends after `patience`.
pub(super) async fn serve_bytes<S: AsyncServices>(
    shared: Arc<Shared<S>>,
    stream: impl Bytes + Ends + 'static,
    (carrier, peer): (Carrier, Peer),
    patience: Option<Duration>,
    mut stopped: watch::Receiver<()>,
) {
    let (reading, watcher) = Watched::new(stream);
    let writing = reading.clone();
    let (replies, queue) = mpsc::channel(MAX_QUEUED);
    // Dropping a set aborts its task: one that waits for a client that reads nothing.
    let mut writer = JoinSet::new();
    let written = write(writing, queue);
    let client = peer.clone();
    writer.spawn(async move {
        if let Err(error) = written.await {
            tracing::debug!(peer = ?client, %error, "a Thrift client's replies cannot be written");
        }
    });
    let session = Session { shared, carrier, peer: peer.clone(), replies, watcher };
    match session.read(reading, patience, &mut stopped).await {
        Ok(()) => {}
        Err(Error::Io(error)) if error.kind() == io::ErrorKind::TimedOut => {
            tracing::debug!(?peer, "a Thrift client sends nothing");
        }
        Err(error) => {
            let reason = breezeway::describe(&error);
            tracing::warn!(?peer, error = reason, "a Thrift client is refused");
        }
    }
    // It ends once it has written the queued replies: the sender of more is gone.
    writer.join_next().await;
}

pub(super) struct Session<S> {
    pub(super) shared: Arc<Shared<S>>,
    pub(super) carrier: Carrier,
    pub(super) peer: Peer,
    /// Replies to be written.
    pub(super) replies: mpsc::Sender<Vec<u8>>,
    pub(super) watcher: Watcher,
}

impl<S: AsyncServices> Session<S> {
    /// Serves requests until the client ends the connection, or the server stops.
    async fn read(
        self,
        mut from: impl Bytes,
        mut patience: Option<Duration>,
        stopped: &mut watch::Receiver<()>,
    ) -> Result<(), Error> {
        let session = Arc::new(self);
        let room = Arc::new(Semaphore::new(ROOM));
        let mut running = JoinSet::new();
        let mut receiver = Receiver::new(Limits::default());
        loop {
            if receiver.begins_with_stream() == Some(true) {
                return streams::serve(session, receiver, from, patience, stopped).await;
            }
            while let Some(message) = session.next(&mut receiver).await? {
                patience = None;
                if session.replies.is_closed() {
                    break;
                }
                let taken = (EACH + message.memory() / 1024).min(ROOM) as u32;
                let served = Served::new(message);
                if served.is_in_order() {
                    session.serve(served).await;
                    continue;
                }
                while running.try_join_next().is_some() {}
                let place = Arc::clone(&room).acquire_many_owned(taken).await;
                let session = Arc::clone(&session);
                running.spawn(async move {
                    session.serve(served).await;
                    drop(place);
                });
            }
            tokio::select! {
                read = within(patience, from.read(receiver.room())) => match or_end(read)? {
                    0 => break,
                    count => receiver.take(count),
                },
                // An error means that its sender is gone: the server stops.
                _ = stopped.changed() => break,
                // The client would wait for replies that cannot be written.
                () = session.replies.closed() => break,
            }
        }
        // Closed before handlers end, which may take long: a client that waits for replies sees the
        // end.
        drop(from);
        while running.join_next().await.is_some() {}
        Ok(())
    }

    /// Returns the next message. Data that is not one is reported to a client that can read the
    /// report.
    async fn next(&self, receiver: &mut Receiver) -> Result<Option<Message>, Error> {
        let outcome = receiver.next();
        if let Some(refusal) = outcome.as_ref().err().and_then(WireError::refusal) {
            // Fails once the connection is over.
            let _ = self.replies.send(refusal).await;
        }
        outcome.map_err(Error::wire)
    }

    async fn serve(&self, mut served: Served) {
        let asked = served.asked(&self.shared.registry, self.carrier, self.peer.clone());
        let (outcome, context, oneway) = match asked {
            Err(error) => (Err(error), None, served.is_oneway()),
            Ok(asked) => {
                let mut call = Call::new(&mut served);
                let running = self.shared.dispatch(asked.found, &asked.context, &mut call);
                let running = caught(running);
                let ended = match asked.context.deadline() {
                    Some(deadline) if !asked.oneway => timeout_at(deadline.into(), running).await,
                    _ => Ok(running.await),
                };
                let failed = |words| Err(Error::new(ExceptionKind::INTERNAL_ERROR, words));
                let outcome = match ended {
                    Ok(Ok(outcome)) => outcome,
                    Ok(Err(_)) => failed("the handler panicked"),
                    Err(_) => failed("the call's deadline passed"),
                };
                (outcome, Some(asked.context), asked.oneway)
            }
        };
        if oneway {
            if let Err(error) = outcome {
                tracing::warn!(error = %breezeway::describe(&error), "a oneway call failed");
            }
        } else {
            let bytes = served.finish(outcome, context.as_ref());
            // Fails only once the connection is over.
            let _ = self.replies.send(bytes).await;
        }
    }
}

/// Treats a reset, as when the client's process ends, as the end.
pub(super) fn or_end(read: io::Result<usize>) -> io::Result<usize> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
        read => read,
    }
}

/// Returns the result of a read, or an error after this time.
pub(super) async fn within<T>(
    patience: Option<Duration>,
    read: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    let Some(patience) = patience else { return read.await };
    timeout(patience, read).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Writes replies as they come, and ends the direction: also if one cannot be written, because the
/// client would wait for it. When the client is gone, the rest is dropped.
async fn write(mut to: impl Bytes, replies: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    let written = write_all(&mut to, replies).await;
    let ended = to.shutdown().await;
    written.and(ended)
}

async fn write_all(to: &mut impl Bytes, mut replies: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    while let Some(bytes) = replies.recv().await {
        to.write_all(&bytes).await?;
        // Over TLS, written bytes may still need room.
        to.flush().await?;
    }
    Ok(())
}
