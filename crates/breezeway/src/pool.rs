//! A client that many threads share: a small pool of sessions.

mod pooled;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use breezeway_os::{Deadline, clock};

use crate::address::{Address, AddressError};
use crate::connect;
use crate::error::{CallError, ClientError, ConnectError};
use crate::exclusive::ExclusiveSession;
use crate::options::{ClientOptions, SessionOptions};
use crate::reconnect::Reconnecting;

pub use pooled::{PoolReply, PooledSession};

/// Number of call timeouts after which a session whose reply was given up is replaced, if the reply
/// has still not arrived; but not before `SHORTEST_OVERDUE`. Its server may be stuck, and each
/// replacement costs that server one more session.
const OVERDUE_TIMEOUTS: u32 = 10;
const SHORTEST_OVERDUE: Duration = Duration::from_secs(1);
/// Time that a session is used without a check that its server still exists and stays.
const TRUSTED_FOR: Duration = Duration::from_millis(1);
/// Limit on resending a call that never ran because the server was about to end.
const RESENDS: u32 = 16;
/// Time that a server at the first place may take for its hello while another server is connected.
const RETURN_PATIENCE: Duration = Duration::from_millis(100);

/// Calls a server from any number of threads. `Send` and `Sync`; each call has a session of the
/// pool for itself while it lasts.
///
/// A session that ended is replaced by a new one at the next call; the call during which it ended
/// fails, and is not repeated, as the server may have served it. (Once a millisecond each session
/// is checked first, so a call after a restart finds the new server.) If the server of a session
/// goes away for a successor, the session is replaced likewise, and a call that this server has
/// refused to begin is made again there. [`ClientOptions::wait_for_server`] sets the time to wait
/// for a server that does not listen. A session on which the reply of a call that was given up is
/// pending is used after all others, and replaced if the reply has not arrived after ten call
/// timeouts, and a second at least.
pub struct Pool {
    address: Address,
    options: ClientOptions,
    pool: Mutex<Members>,
    returned: Condvar,
}

struct Members {
    /// Sessions without a call in flight. The last used session is used next. Boxed: to take and
    /// return one costs 23 ns; 54 ns where its 1.2 KiB move.
    #[allow(clippy::vec_box, reason = "as above: sessions move in and out at each call")]
    idle: Vec<Box<Member>>,
    /// Sessions with pending replies to calls that were given up, in the order of their return.
    late: VecDeque<Late>,
    /// Sessions that exist or are being opened.
    open: usize,
    /// Threads that wait for a session to be returned: only they need to be notified.
    waiting: usize,
}

/// A session of the pool.
struct Member {
    session: ExclusiveSession,
    /// Time of the last check that it is usable, in clock ticks.
    asked: u64,
    /// Time of the last attempt at the first place, for a session with another place.
    tried_first: Option<Instant>,
}

impl Member {
    /// Returns true if it can be used: at intervals the kernel is asked if its server still exists,
    /// and at each use the ring if the server stays.
    fn is_usable(&mut self) -> bool {
        let now = clock::ticks();
        let is_trusted = now.wrapping_sub(self.asked) < clock::ticks_in(TRUSTED_FOR);
        if is_trusted && !self.session.has_arrivals() {
            return true;
        }
        self.asked = now;
        self.session.is_alive()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // Another thread may wait with a deadline, and unwritten bytes then belong to a call that
        // was given up, and to one-way messages behind it, if any were posted.
        if self.session.has_late_replies() {
            self.session.leave_unwritten();
        }
    }
}

/// A session with pending replies to calls that were given up.
struct Late {
    member: Box<Member>,
    since: Instant,
}

impl Pool {
    /// Connects with default options.
    pub fn connect(
        address: impl TryInto<Address, Error: Into<AddressError>>,
    ) -> Result<Self, ConnectError> {
        Self::connect_with(address, ClientOptions::new())
    }

    /// Connects and opens the first session, so that a missing server is noticed at once.
    pub fn connect_with(
        address: impl TryInto<Address, Error: Into<AddressError>>,
        options: ClientOptions,
    ) -> Result<Self, ConnectError> {
        let address = Address::of(address)?;
        options.validate()?;
        clock::calibrate();
        let mut reconnecting = Reconnecting::new(options.wait_for_server, Deadline::NEVER);
        let first = reconnecting.run(|| connect(&address, &options.session))?;
        let pool = Members { idle: vec![first], late: VecDeque::new(), open: 1, waiting: 0 };
        Ok(Self { address, options, pool: Mutex::new(pool), returned: Condvar::new() })
    }

    /// Calls `method` with a copy of `request` and waits for the reply.
    pub fn call(&self, method: u32, request: &[u8]) -> Result<PoolReply<'_>, ClientError> {
        let deadline = Deadline::from(self.options.session.call_timeout);
        for attempt in 0..RESENDS {
            let mut session = self.session_until(deadline)?;
            let has_begun = attempt > 0 || session.has_waited;
            let reply = match has_begun.then(|| deadline.time_left()).flatten() {
                None => session.call(method, request),
                // The session's own timeout would start again.
                Some(left) => session.call_until(method, request, Instant::now() + left),
            };
            // The reply stays in the session, which the result holds.
            match reply.map(std::mem::forget) {
                Ok(()) => return Ok(PoolReply { session }),
                Err(error) if !error.may_have_run() && session.is_going_away() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(CallError::GoingAway.into())
    }

    /// Takes a session for exclusive use, to reserve space or to have several calls in flight; it
    /// returns to the pool when dropped. Waits while all are in use, for at most the call timeout:
    /// a thread that keeps replies or sessions while it asks for more may wait for itself.
    pub fn session(&self) -> Result<PooledSession<'_>, ClientError> {
        self.session_until(Deadline::from(self.options.session.call_timeout))
    }

    pub(crate) fn session_until(
        &self,
        deadline: Deadline,
    ) -> Result<PooledSession<'_>, ClientError> {
        let mut pool = self.lock();
        let mut has_waited = false;
        loop {
            if let Some(mut member) = pool.idle.pop() {
                drop(pool);
                if member.is_usable() {
                    let (member, is_new) = self.returned_to_first(member, deadline);
                    let mut session = self.lend(member, None);
                    session.has_waited = has_waited || is_new;
                    return Ok(session);
                }
                drop(member);
                pool = self.lock();
                pool.open -= 1;
                continue;
            }
            if let Some(late) = pool.late.pop_front() {
                drop(pool);
                return self.take_late(late, deadline).map(PooledSession::waited_for);
            }
            if pool.open < self.options.max_sessions {
                pool.open += 1;
                drop(pool);
                return self.open(deadline).map(PooledSession::waited_for);
            }
            pool = self.wait(pool, deadline)?;
            has_waited = true;
        }
    }

    /// Waits until a session may have been returned.
    fn wait<'p>(
        &self,
        mut pool: MutexGuard<'p, Members>,
        deadline: Deadline,
    ) -> Result<MutexGuard<'p, Members>, CallError> {
        const NO_PANIC: &str = "no thread panics with the lock";
        pool.waiting += 1;
        let mut pool = match deadline.time_left() {
            None => self.returned.wait(pool).expect(NO_PANIC),
            Some(left) if left.is_zero() => {
                pool.waiting -= 1;
                return Err(CallError::DeadlinePassed);
            }
            Some(left) => self.returned.wait_timeout(pool, left).expect(NO_PANIC).0,
        };
        pool.waiting -= 1;
        Ok(pool)
    }

    /// Opens a session that is already counted.
    fn open(&self, deadline: Deadline) -> Result<PooledSession<'_>, ClientError> {
        let mut reconnecting = Reconnecting::new(self.options.wait_for_server, deadline);
        match reconnecting.run(|| connect(&self.address, &self.options_until(deadline))) {
            Ok(member) => Ok(self.lend(member, None)),
            Err(error) => {
                self.closed();
                Err(error.into())
            }
        }
    }

    /// Returns the options of a session that is opened before a call's deadline.
    fn options_until(&self, deadline: Deadline) -> Cow<'_, SessionOptions> {
        let options = &self.options.session;
        match deadline.time_left() {
            Some(left) if left < options.handshake_timeout => {
                Cow::Owned(options.clone().handshake_timeout(left.max(Duration::from_nanos(1))))
            }
            _ => Cow::Borrowed(options),
        }
    }

    /// Returns a session whose late replies have arrived, or another one if they have not.
    #[cold]
    fn take_late(
        &self,
        mut late: Late,
        deadline: Deadline,
    ) -> Result<PooledSession<'_>, ClientError> {
        let is_settled = late.member.session.settle();
        if late.member.session.is_ended() || late.member.session.is_going_away() {
            drop(late);
            return self.open(deadline);
        }
        if is_settled {
            return Ok(self.lend(late.member, None));
        }
        let is_overdue = late.since.elapsed() >= self.overdue_after();
        if !is_overdue && !self.count_one_more() {
            return Ok(self.lend(late.member, Some(late.since)));
        }
        // A server that hangs may not answer the hello of another session either.
        match connect(&self.address, &self.options_until(deadline)) {
            Ok(member) => {
                if !is_overdue {
                    self.give_back(|pool| pool.late.push_back(late));
                }
                Ok(self.lend(member, None))
            }
            // No other session is available, so this one is returned; its call may fail with the
            // reason.
            Err(_) => {
                if !is_overdue {
                    self.closed();
                }
                Ok(self.lend(late.member, Some(late.since)))
            }
        }
    }

    /// Returns a session with the first place instead of one with another, if that is due and
    /// possible; and true if it was tried.
    fn returned_to_first(
        &self,
        mut member: Box<Member>,
        deadline: Deadline,
    ) -> (Box<Member>, bool) {
        if let (Some(every), Some(tried)) = (self.options.return_to_first, member.tried_first)
            && tried.elapsed() >= every
        {
            let options = &self.options.session;
            let left = deadline.time_left().unwrap_or(Duration::MAX);
            // Once for connecting, and again for the hello.
            let patience = options.handshake_timeout.min(RETURN_PATIENCE).min(left / 2);
            let first = Address::from(self.address.places()[0].clone());
            match connect(&first, &options.clone().handshake_timeout(patience)) {
                Ok(returned) => return (returned, true),
                Err(_) => {
                    member.tried_first = Some(Instant::now());
                    return (member, true);
                }
            }
        }
        (member, false)
    }

    /// Closes unused sessions with a server that goes away, so that it can end.
    #[cold]
    fn retire_idle(&self) {
        let mut idle = std::mem::take(&mut self.lock().idle);
        let all = idle.len();
        idle.retain_mut(|member| member.session.is_alive());
        let retired = all - idle.len();
        let mut pool = self.lock();
        pool.open -= retired;
        pool.idle.append(&mut idle);
        drop(pool);
        self.returned.notify_all();
    }

    fn overdue_after(&self) -> Duration {
        let timeout = self.options.session.call_timeout.unwrap_or_default();
        timeout.saturating_mul(OVERDUE_TIMEOUTS).max(SHORTEST_OVERDUE)
    }

    /// Counts one more session, if the limit allows it.
    fn count_one_more(&self) -> bool {
        let mut pool = self.lock();
        let may_be = pool.open < self.options.max_sessions;
        pool.open += usize::from(may_be);
        may_be
    }

    fn lend(&self, member: Box<Member>, late_since: Option<Instant>) -> PooledSession<'_> {
        PooledSession { client: self, member: Some(member), late_since, has_waited: false }
    }

    fn lock(&self) -> MutexGuard<'_, Members> {
        self.pool.lock().expect("no thread panics with the lock")
    }

    /// Notes that a session was closed.
    fn closed(&self) {
        self.give_back(|pool| pool.open -= 1);
    }

    /// Changes the pool so that a waiting thread can take a session.
    #[inline]
    fn give_back(&self, change: impl FnOnce(&mut Members)) {
        let mut pool = self.lock();
        change(&mut pool);
        let is_awaited = pool.waiting > 0;
        drop(pool);
        // A notification without a waiter would still be a system call: 230 ns for taking and
        // returning, not 23.
        if is_awaited {
            self.returned.notify_one();
        }
    }
}

/// Opens a session for a pool.
fn connect(address: &Address, options: &SessionOptions) -> Result<Box<Member>, ConnectError> {
    options.validate()?;
    let first = &address.places()[0];
    let (session, is_first) = connect::first_place(address, |place| {
        Ok((ExclusiveSession::connect_to(place, options)?, place == first))
    })?;
    let tried_first = (!is_first).then(Instant::now);
    Ok(Box::new(Member { session, asked: clock::ticks(), tried_first }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_whose_server_ended_just_now_is_not_used() {
        let (session, server) = ExclusiveSession::pair(&SessionOptions::new()).unwrap();
        let mut member = Member { session, asked: clock::ticks(), tried_first: None };
        assert!(member.is_usable());
        drop(server);
        member.asked = clock::ticks();
        assert!(!member.is_usable(), "a call would not be served");
    }
}
