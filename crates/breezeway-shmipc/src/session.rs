//! A session: one connection, one queue region, one buffer region, and the streams in them.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;

use breezeway_os::{Deadline, Peer, prepare_tcp};
use rustix::io::ioctl_fionbio;

use crate::address::Address;
use crate::core::{Core, Parts};
use crate::counters::SessionCounters;
use crate::error::{AcceptError, ConnectError, HandshakeError, SessionEnd, StreamError};
use crate::handshake;
use crate::lock::lock;
use crate::options::{ClientOptions, ServerOptions, SessionOptions};
use crate::regions::{OwnBuffer, OwnRegions};
use crate::stream::Stream;
use crate::stream_state::StreamState;
use crate::table::Role;

/// One connection between two processes. Clones are handles of the same session, which ends when it
/// is closed, when the peer closes it, or when the last handle and stream are dropped.
#[derive(Clone)]
pub struct Session {
    pub(crate) core: Arc<Core>,
}

/// State of a session at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionStatistics {
    /// Open streams.
    pub streams: usize,
    /// Per kind of slice: payload bytes, free slices in the shared list, slices kept by this side
    /// for its next messages.
    pub slices: Vec<(u32, u32, u32)>,
    /// Bytes received over the socket and not read yet.
    pub fallback_bytes: usize,
    /// Streams whose bytes go over the socket because the shared memory was exhausted.
    pub streams_over_socket: usize,
    /// Messages written to the socket so far: mostly wake-ups.
    pub socket_writes: u64,
    /// Reads of the socket so far.
    pub socket_reads: u64,
    /// Sleeps in `poll` so far: for lack of room to send, with a deadline, or with an interrupter.
    pub polls: u64,
    /// Elements in the queue to the peer that it has not taken.
    pub queue_depth: u32,
    /// Sizes of the queue region and of the buffer region in bytes.
    pub region_sizes: [u32; 2],
    /// Counts of the session so far.
    pub counters: SessionCounters,
}

impl Session {
    pub(crate) fn new(parts: Parts, options: SessionOptions) -> Self {
        Self { core: Core::new(parts, options) }
    }

    /// Creates both ends of a session in memfds, connected by a socket pair: for tests, and for
    /// parent and child.
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

    /// Agrees on a session over a socket that was accepted elsewhere: by another listener, or in a
    /// process that passed it here. Waits for the client, at most for `handshake_timeout`.
    pub fn accept_over(socket: OwnedFd, options: &ServerOptions) -> Result<Self, AcceptError> {
        let address = Address::of_socket(&socket).map_err(HandshakeError::from)?;
        options.validate_at(&address)?;
        if let Address::Tcp(_) = address {
            prepare_tcp(&socket).map_err(HandshakeError::io("setsockopt"))?;
        }
        ioctl_fionbio(&socket, false).map_err(HandshakeError::io("ioctl(FIONBIO)"))?;
        Ok(Self::new(handshake::accept(socket, options)?, options.session.clone()))
    }

    /// Agrees on a session over a socket that was connected elsewhere. It is not replaced when it
    /// ends.
    pub fn connect_over(socket: OwnedFd, options: &ClientOptions) -> Result<Self, ConnectError> {
        let address = Address::of_socket(&socket).map_err(HandshakeError::from)?;
        options.validate_at(&address)?;
        if let Address::Tcp(_) = address {
            prepare_tcp(&socket).map_err(HandshakeError::io("setsockopt"))?;
        }
        ioctl_fionbio(&socket, false).map_err(HandshakeError::io("ioctl(FIONBIO)"))?;
        let buffer = OwnBuffer::create(options, None)?;
        let regions = OwnRegions::create(options, &buffer, 0)?;
        let parts = handshake::connect(socket, regions, options)?;
        Ok(Self::new(parts, options.session.clone()))
    }

    /// Opens a stream, which the peer sees with its first bytes. Only on the client's side: a
    /// client would not see a server's stream.
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

    /// Waits like [`accept`](Self::accept), at most until `deadline`.
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

    /// Receives without waiting, from the socket too, so that [`Self::ended`] reports a peer that
    /// is gone, unless another thread receives or bytes from the socket must be read first. Not
    /// needed while a thread waits on a stream of the session.
    pub fn poll(&self) {
        self.core.help_receive();
    }

    /// Returns true if opening a stream can succeed: the session has not ended and was not
    /// [replaced](Self::is_replaced), and its peer is not gone, even if [`Self::ended`] does not
    /// report that yet. Receives like [`poll`](Self::poll).
    pub fn is_usable(&self) -> bool {
        let is_empty = self.core.help_receive();
        let goes_on = self.core.ended().is_none() && !self.is_replaced();
        goes_on && (is_empty || !self.core.has_hung_up())
    }

    /// Ends the session at once: the peer sees the connection closed, and waits on this side fail
    /// with [`SessionEnd::Closed`].
    pub fn close(&self) {
        self.core.end(SessionEnd::Closed);
    }

    /// Returns the cause of the session's end, if it has ended.
    pub fn ended(&self) -> Option<SessionEnd> {
        self.core.ended().cloned()
    }

    /// Returns true if its [client](crate::Client) has replaced it by another session: either the
    /// server was restarted, and this session serves its streams until the old server closes it, or
    /// it has ended. A holder of a stream should then open another one.
    pub fn is_replaced(&self) -> bool {
        self.core.replaced.load(Ordering::SeqCst)
    }

    /// Returns the side of this process.
    pub fn role(&self) -> Role {
        self.core.role
    }

    /// Returns the agreed protocol version.
    pub fn version(&self) -> u8 {
        self.core.version
    }

    /// Returns the peer, over a unix socket. For policy, not for authentication.
    pub fn peer(&self) -> Option<Peer> {
        self.core.peer.clone()
    }

    /// Returns the present state of the session.
    pub fn statistics(&self) -> SessionStatistics {
        // Each lock is released before the next is taken: senders take them in another order.
        let streams = lock(&self.core.table).len();
        let slices = lock(&self.core.pool).free();
        SessionStatistics {
            streams,
            slices,
            fallback_bytes: self.core.fallback_held.load(Ordering::Relaxed),
            streams_over_socket: self.core.over_socket.load(Ordering::Relaxed),
            socket_writes: self.core.socket_writes.load(Ordering::Relaxed),
            socket_reads: self.core.socket_reads.load(Ordering::Relaxed),
            polls: self.core.polls.load(Ordering::Relaxed),
            queue_depth: self.core.queue_depth(),
            region_sizes: self.core.region_sizes(),
            counters: self.core.counters.read(),
        }
    }

    /// Records the session's counts since the last call in the counters of the `metrics` facade:
    /// `shmipc_bytes_sent_total` and the like, one for each field of [`SessionCounters`], and the
    /// histogram `shmipc_queue_depth`, all with the label `role`. Call it before each scrape; the
    /// rest is recorded when the session ends. The gauges `shmipc_sessions` and
    /// `shmipc_region_bytes` are always kept.
    #[cfg(feature = "metrics")]
    pub fn record_metrics(&self) {
        self.core.recorded.record(&self.core);
    }

    pub(crate) fn stream(&self, state: Arc<StreamState>) -> Stream {
        Stream::new(Arc::clone(&self.core), state)
    }
}

impl Stream {
    /// Returns its session. A kept stream of a session that was
    /// [replaced](crate::Session::is_replaced) still works for a while, and one of a session that
    /// has [ended](crate::Session::ended) does not: open another one at the client.
    pub fn session(&self) -> Session {
        Session { core: Arc::clone(self.core()) }
    }
}
