//! Parts for the crates on top of this one and for its tests. **Nothing here keeps its form from
//! one release to the next**; programs use the rest of this crate.

use std::time::{Duration, Instant};

use breezeway_os::{Deadline, segment};
use breezeway_shm as shm;

pub use breezeway_os::shortage;

use crate::address::Place;
use crate::call::{Call, Handled};
use crate::error::{ClientError, ConnectError, OptionError, SegmentError};
use crate::foreign::ForeignConnection;
use crate::options::{ClientOptions, ServerOptions, SessionOptions};
use crate::pool::{Pool, PooledSession};
use crate::server::{Server, SessionListener};
use crate::session::{Driver, ServerSession, Session};
use crate::violation::MemoryViolation;

pub use crate::bytes::gather;
pub use crate::call_limit::{CallInFlight, CallLimit};
pub use crate::handler_timer::HandlerTimer;
pub use crate::options::Tuning;
pub use crate::reconnect::Reconnecting;
pub use crate::slice::Slice;
pub use crate::spans::CallSpan;

/// Returns the rule of shared memory that a peer broke.
pub fn broken_rule(violation: &MemoryViolation) -> &shm::Violation {
    &violation.0
}

/// Returns the problem with a segment.
pub fn segment_problem(error: &SegmentError) -> &segment::SegmentError {
    &error.0
}

/// Returns the limit on the time to connect and the limit on the time of a call.
pub fn timeouts(options: &SessionOptions) -> (Duration, Option<Duration>) {
    (options.handshake_timeout, options.call_timeout)
}

/// Returns the number of streams that the peer may have open.
pub fn max_streams(options: &SessionOptions) -> u16 {
    options.max_streams
}

/// Returns the limit on the time that a stopped or succeeded server continues.
pub fn drain_timeout(options: &ServerOptions) -> Duration {
    options.drain_timeout
}

/// Refuses threads that run handlers, for a server whose handlers are tasks.
pub fn validate_for_tasks(options: &ServerOptions) -> Result<(), OptionError> {
    let allowed = "0 under tokio: let slow handlers use spawn_blocking";
    OptionError::check("offload", options.offload, 0..=0, allowed)
}

/// Returns the pauses between attempts to connect, for at most `time`.
pub fn reconnecting(options: &ClientOptions, time: Duration) -> Reconnecting {
    Reconnecting::new(options.wait_for_server, Deadline::after(time))
}

/// Connects to a server of another protocol, whose name TLS announces (ALPN) if it has one. Takes
/// at most the handshake timeout.
pub fn connect_foreign(
    place: &Place,
    options: &SessionOptions,
    protocol: &[u8],
) -> Result<ForeignConnection, ConnectError> {
    ForeignConnection::connect(place, options, protocol)
}

/// Returns true if a read may return bytes that no event of the socket reports. The caller must
/// read them before it waits for the socket.
pub fn has_buffered(connection: &ForeignConnection) -> bool {
    connection.has_buffered()
}

/// Takes a session like [`Pool::session`], but waits, also for a connection, until `deadline` at
/// most.
pub fn pooled_session(pool: &Pool, deadline: Instant) -> Result<PooledSession<'_>, ClientError> {
    pool.session_until(Deadline::at(deadline))
}

/// Returns the span of a call that begins.
#[inline]
#[must_use]
pub fn call_span(session: &Session, method: u32) -> CallSpan {
    session.span(method)
}

/// Returns the span of a call that is served in a task.
#[cfg(feature = "spans")]
#[must_use]
pub fn served_span(call: &crate::OwnedCall) -> CallSpan {
    let of = || crate::spans::CallOf { carrier: call.carrier(), times: call.handler_times() };
    CallSpan::of_server(call.method(), of)
}

/// Replies like [`Call::reply`] to a call that is taken out of `place`. Fails if the place is
/// empty.
#[inline]
pub fn reply_from(place: &mut Option<Call<'_>>, bytes: &[u8]) -> Handled {
    Call::reply_from(place, bytes)
}

/// Sets a function that is called once all threads and descriptors for serving exist.
#[must_use]
pub fn on_start(server: Server, started: impl FnOnce() + Send + 'static) -> Server {
    server.on_start(started)
}

/// Returns the limit on the calls in flight of all sessions of a listener.
pub fn call_limit(listener: &SessionListener) -> CallLimit {
    listener.call_limit()
}

/// Returns true once a session has [drained](ServerSession::drain).
pub fn has_drained(session: &ServerSession) -> bool {
    session.has_drained()
}

/// Takes note, like [`Driver::ready`], of an edge-triggered event that has reported neither the
/// peer's end nor an urgent byte (`EPOLLRDHUP`, `EPOLLPRI`): the driver then reads the socket once.
pub fn ready_with_bytes(driver: &mut Driver) {
    driver.ready_with_bytes();
}

/// Returns true if the last turn of [`Driver::advance`] found something.
pub fn has_worked(driver: &Driver) -> bool {
    driver.has_worked()
}

/// Returns true if messages are so rare that the turn after one that found something finds nothing.
pub fn is_rare(driver: &Driver) -> bool {
    driver.is_rare()
}

/// Returns true if the next turn copies a piece of a large reply, which takes some time: the loop
/// serves other sockets before it.
pub fn is_copying(driver: &Driver) -> bool {
    driver.is_copying()
}
