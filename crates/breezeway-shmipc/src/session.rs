//! A session: one connection, one queue region, one buffer region, and the streams in them.

use std::collections::HashMap;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;

use breezeway_os::{Deadline, Peer};

use crate::core::{Core, Parts};
use crate::error::{ConnectError, HandshakeError, SessionEnd, StreamError};
use crate::handshake;
use crate::lock::lock;
use crate::options::{ClientOptions, ServerOptions, SessionOptions};
use crate::regions::{OwnBuffer, OwnRegions};
use crate::stream::Stream;
use crate::stream_state::StreamState;
use crate::table::Role;

/// Streams that are served before the peer is notified of the answers: enough to share the cost of
/// that, few enough that a peer that sleeps begins early.
const IN_A_ROW: usize = 16;

/// One connection between two processes. Clones are handles of the same session, which ends when it
/// is closed, when the peer goes, or when the last handle and stream are gone.
#[derive(Clone)]
pub struct Session {
    pub(crate) core: Arc<Core>,
}

/// What a session holds at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionStatistics {
    /// Open streams.
    pub streams: usize,
    /// Per kind of slice: payload bytes, free slices in the shared list, slices kept by this side
    /// for its next messages.
    pub slices: Vec<(u32, u32, u32)>,
    /// Bytes that came over the socket and were not yet read.
    pub fallback_bytes: usize,
    /// Streams whose bytes go over the socket since the shared memory was exhausted.
    pub streams_over_socket: usize,
    /// Messages written to the socket so far: mostly wake-ups.
    pub socket_writes: u64,
    /// Reads of the socket so far.
    pub socket_reads: u64,
    /// Sleeps in `poll` so far: while there is no room to send, with a deadline, or with an
    /// interrupter.
    pub polls: u64,
}

impl Session {
    pub(crate) fn new(parts: Parts, options: SessionOptions) -> Self {
        Self { core: Core::new(parts, options) }
    }

    /// Both ends of a session in memfds, connected by a socket pair: for tests, and for parent and
    /// child.
    pub fn pair(
        client: &ClientOptions,
        server: &ServerOptions,
    ) -> Result<(Self, Self), ConnectError> {
        client.validate()?;
        server.validate()?;
        let (ours, theirs) = UnixStream::pair().map_err(|cause| ConnectError::Connect {
            address: "a socket pair".to_owned(),
            cause,
        })?;
        let buffer = OwnBuffer::create(client, None)?;
        let regions = OwnRegions::create(client, &buffer, 0)?;
        std::thread::scope(|scope| {
            let accepting = scope.spawn(|| handshake::accept(theirs.into(), server));
            let parts = handshake::connect(ours.into(), regions, client);
            let served = accepting.join().unwrap_or(Err(HandshakeError::Closed));
            let served = Self::new(served?, server.session.clone());
            Ok((Self::new(parts?, client.session.clone()), served))
        })
    }

    /// Opens a stream, which the peer learns of with its first bytes. Only for the client's side:
    /// nobody would learn of a server's stream.
    pub fn open(&self) -> Result<Stream, StreamError> {
        if self.core.ended().is_some() {
            return Err(self.core.end_error());
        }
        let opened = match self.core.role {
            Role::Client => lock(&self.core.table).open(),
            Role::Server => None,
        };
        let state = opened.ok_or(StreamError::TooManyStreams(self.core.options.max_streams))?;
        Ok(self.stream(state))
    }

    /// Waits for the next stream that the peer opens.
    pub fn accept(&self) -> Result<Stream, StreamError> {
        self.accept_until(Deadline::NEVER)
    }

    /// As [`Self::accept`], at most until `deadline`.
    pub fn accept_until(&self, deadline: Deadline) -> Result<Stream, StreamError> {
        self.core.wait(deadline, &mut |waker: Option<&Waker>| self.poll_accept(waker))?
    }

    pub(crate) fn poll_accept(&self, waker: Option<&Waker>) -> Option<Result<Stream, StreamError>> {
        let ended = self.core.ended().is_some();
        match lock(&self.core.table).accept(waker) {
            Some(state) => Some(Ok(self.stream(state))),
            None if ended => Some(Err(self.core.end_error())),
            None => None,
        }
    }

    /// Serves all streams of the session in this thread, until the session ends: `handler` is
    /// called with each stream for which something came, bytes or the end. It must not wait for
    /// more of the same stream. What it leaves unread it is called for again when more comes. A
    /// stream is closed when it is at its end, or when the handler fails or panics.
    pub fn serve(
        &self,
        mut handler: impl FnMut(&mut Stream) -> Result<(), StreamError>,
    ) -> SessionEnd {
        self.core.serving.store(true, Ordering::SeqCst);
        let (mut streams, mut current) = (HashMap::new(), None);
        // Around the loop and not around each call, so that a call costs nothing.
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| {
            self.serve_streams(&mut streams, &mut current, &mut handler);
        })) {
            // No handler was running: the defect is ours.
            let Some(id) = current.take() else { resume_unwind(panic) };
            tracing::error!(stream = id, "a handler of a shmipc stream panicked: it is closed");
            streams.remove(&id);
            // A failure has ended the session, which ends the loop.
            let _ = self.core.uncork();
        }
        self.core.ended().cloned().unwrap_or(SessionEnd::Closed)
    }

    /// Until the session ends, or a handler panics, then that of the stream `current`.
    fn serve_streams(
        &self,
        streams: &mut HashMap<u32, Stream>,
        current: &mut Option<u32>,
        handler: &mut impl FnMut(&mut Stream) -> Result<(), StreamError>,
    ) {
        let mut next_ready = |_: Option<&Waker>| self.next_ready();
        while let Ok(Some(state)) = self.core.wait(Deadline::NEVER, &mut next_ready) {
            self.core.cork();
            self.serve_one(streams, current, state, handler);
            for _ in 1..IN_A_ROW {
                let Some(Some(state)) = self.next_ready() else { break };
                self.serve_one(streams, current, state, handler);
            }
            // A failure has ended the session, which ends the loop.
            let _ = self.core.uncork();
        }
    }

    /// The next stream with something to do; the inner `None` at the session's end. (Streams that
    /// were accepted before serving began are their holders' business.)
    fn next_ready(&self) -> Option<Option<Arc<StreamState>>> {
        let ended = self.core.ended().is_some();
        if let Some(state) = lock(&self.core.ready).pop_front() {
            return Some(Some(state));
        }
        match lock(&self.core.table).accept(None) {
            Some(state) => Some(Some(state)),
            None => ended.then_some(None),
        }
    }

    fn serve_one(
        &self,
        streams: &mut HashMap<u32, Stream>,
        current: &mut Option<u32>,
        state: Arc<StreamState>,
        handler: &mut impl FnMut(&mut Stream) -> Result<(), StreamError>,
    ) {
        let id = state.id;
        // From now on, more that comes puts it into the queue again.
        state.queued.store(false, Ordering::SeqCst);
        if state.forgotten.load(Ordering::Relaxed) {
            return;
        }
        let stream = match streams.get_mut(&id) {
            Some(stream) if Arc::ptr_eq(stream.state(), &state) => stream,
            _ => streams.entry(id).or_insert_with(|| self.stream(state)),
        };
        *current = Some(id);
        let is_over = stream.has_arrivals() && handler(stream).is_err() || stream.is_at_end();
        *current = None;
        if is_over {
            streams.remove(&id);
        }
    }

    /// Ends the session at once: the peer sees the connection closed, and waits on this side fail
    /// with [`SessionEnd::Closed`].
    pub fn close(&self) {
        self.core.end(SessionEnd::Closed);
    }

    /// How the session ended, if it did.
    pub fn ended(&self) -> Option<SessionEnd> {
        self.core.ended().cloned()
    }

    /// Which side this is.
    pub fn role(&self) -> Role {
        self.core.role
    }

    /// The protocol version that was agreed on.
    pub fn version(&self) -> u8 {
        self.core.version
    }

    /// Who is on the other side, over a unix socket. For policy, not for identity.
    pub fn peer(&self) -> Option<Peer> {
        self.core.peer
    }

    /// What the session holds at this moment.
    pub fn statistics(&self) -> SessionStatistics {
        SessionStatistics {
            streams: lock(&self.core.table).len(),
            slices: lock(&self.core.pool).free(),
            fallback_bytes: self.core.fallback_held.load(Ordering::Relaxed),
            streams_over_socket: self.core.over_socket.load(Ordering::Relaxed),
            socket_writes: self.core.socket_writes.load(Ordering::Relaxed),
            socket_reads: self.core.socket_reads.load(Ordering::Relaxed),
            polls: self.core.polls.load(Ordering::Relaxed),
        }
    }

    fn stream(&self, state: Arc<StreamState>) -> Stream {
        Stream::new(Arc::clone(&self.core), state)
    }
}
