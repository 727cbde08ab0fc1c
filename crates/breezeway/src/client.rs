//! A client that many threads share: a small pool of sessions.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use breezeway_os::{Deadline, clock};
use breezeway_shm::ForeignBytes;

use crate::address::Address;
use crate::error::{CallError, ConnectError};
use crate::options::ClientOptions;
use crate::session::Session;

/// A session is replaced once it has owed a reply that was given up for so many call timeouts, and
/// for this long at least: its server may be stuck, and each replacement costs that one more
/// session.
const OVERDUE_TIMEOUTS: u32 = 10;
const SHORTEST_OVERDUE: Duration = Duration::from_secs(1);
/// A session that was used so recently is used without asking whether its server is still there.
const TRUSTED_FOR: Duration = Duration::from_millis(1);

/// Why a client's call failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No session could be opened.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The call failed.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Calls a server from any number of threads. `Send` and `Sync`; each call has a session of the
/// pool for itself while it lasts.
///
/// A session that ended is replaced by a new one at the next call; the call on which it ended
/// fails, and is not repeated, as the server may have served it. (One that was idle for 1 ms is
/// asked first, so a call after a restart finds the new server.) A session whose server still owes
/// the reply of a call that was given up is used after all others, and replaced once ten call
/// timeouts, and a second at least, have not brought that reply.
pub struct Client {
    address: Address,
    options: ClientOptions,
    pool: Mutex<Pool>,
    returned: Condvar,
}

struct Pool {
    /// Sessions without a call in flight. The one that was used last is used next. Boxed: to take
    /// and return one costs 23 ns; 54 ns where its 1.2 KiB move.
    #[allow(clippy::vec_box, reason = "as just said: sessions move in and out at each call")]
    idle: Vec<Idle>,
    /// Sessions whose servers owe replies that were given up, in the order of their return.
    late: VecDeque<Late>,
    /// Sessions that exist or are being opened.
    open: usize,
    /// Threads that wait for a session to be returned: nobody else needs to be notified.
    waiting: usize,
}

/// A session without a call in flight.
struct Idle {
    session: Box<Session>,
    /// When it was returned, in clock ticks.
    since: u64,
}

impl Idle {
    fn now(session: Box<Session>) -> Self {
        Self { session, since: clock::ticks() }
    }

    /// Whether it can be used: one that was returned long ago asks the kernel whether its server is
    /// still there.
    fn is_usable(&mut self) -> bool {
        let idle = clock::ticks().wrapping_sub(self.since);
        idle < clock::ticks_in(TRUSTED_FOR) || self.session.is_alive()
    }
}

/// A session whose server owes replies that were given up.
struct Late {
    session: Box<Session>,
    since: Instant,
}

impl Client {
    /// Connects with default options.
    pub fn connect(address: &Address) -> Result<Self, ConnectError> {
        Self::connect_with(address, ClientOptions::new())
    }

    /// Connects: opens the first session, so that a server that is not there is noticed at once.
    pub fn connect_with(address: &Address, options: ClientOptions) -> Result<Self, ConnectError> {
        options.validate()?;
        let first = Box::new(Session::connect_with(address, &options.session)?);
        clock::calibrate();
        let pool =
            Pool { idle: vec![Idle::now(first)], late: VecDeque::new(), open: 1, waiting: 0 };
        Ok(Self {
            address: address.clone(),
            options,
            pool: Mutex::new(pool),
            returned: Condvar::new(),
        })
    }

    /// Calls `method` with a copy of `request` and waits for the reply.
    pub fn call(&self, method: u32, request: &[u8]) -> Result<ClientReply<'_>, ClientError> {
        let mut session = self.session()?;
        // The reply stays in the session, which the result holds.
        std::mem::forget(session.call(method, request)?);
        Ok(ClientReply { session })
    }

    /// Takes a session for exclusive use, to reserve space or to have several calls in flight; it
    /// returns to the pool when dropped. Waits while all are in use, for at most the call timeout:
    /// a thread that keeps replies or sessions while it asks for more may wait for itself.
    pub fn session(&self) -> Result<PooledSession<'_>, ClientError> {
        let deadline = Deadline::from(self.options.session.call_timeout);
        let mut pool = self.lock();
        loop {
            if let Some(mut idle) = pool.idle.pop() {
                drop(pool);
                if idle.is_usable() {
                    return Ok(self.lend(idle.session, None));
                }
                drop(idle);
                pool = self.lock();
                pool.open -= 1;
                continue;
            }
            if let Some(late) = pool.late.pop_front() {
                drop(pool);
                return self.take_late(late, deadline);
            }
            if pool.open < self.options.max_sessions {
                pool.open += 1;
                drop(pool);
                return self.open();
            }
            pool = self.wait(pool, deadline)?;
        }
    }

    /// Waits until a session may have been returned.
    fn wait<'p>(
        &self,
        mut pool: MutexGuard<'p, Pool>,
        deadline: Deadline,
    ) -> Result<MutexGuard<'p, Pool>, CallError> {
        const NO_PANIC: &str = "nobody panics with the lock";
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

    /// Opens a session that is counted already.
    fn open(&self) -> Result<PooledSession<'_>, ClientError> {
        match Session::connect_with(&self.address, &self.options.session) {
            Ok(session) => Ok(self.lend(Box::new(session), None)),
            Err(error) => {
                self.closed();
                Err(error.into())
            }
        }
    }

    /// Gives a session that owed replies, or another one where it still does.
    #[cold]
    fn take_late(
        &self,
        mut late: Late,
        deadline: Deadline,
    ) -> Result<PooledSession<'_>, ClientError> {
        if late.session.settle() {
            return Ok(self.lend(late.session, None));
        }
        if late.session.is_ended() {
            drop(late);
            return self.open();
        }
        let is_overdue = late.since.elapsed() >= self.overdue_after();
        if !is_overdue && !self.count_one_more() {
            return Ok(self.lend(late.session, Some(late.since)));
        }
        // A server that hangs may not answer the hello of another session either.
        let left = deadline.time_left().unwrap_or(Duration::MAX);
        let options = &self.options.session;
        let options = options.clone().handshake_timeout(options.handshake_timeout.min(left));
        match Session::connect_with(&self.address, &options) {
            Ok(session) => {
                if !is_overdue {
                    self.give_back(|pool| pool.late.push_back(late));
                }
                Ok(self.lend(Box::new(session), None))
            }
            // No other can be had, so it is this one whose call may fail, and says why.
            Err(_) => {
                if !is_overdue {
                    self.closed();
                }
                Ok(self.lend(late.session, Some(late.since)))
            }
        }
    }

    fn overdue_after(&self) -> Duration {
        let timeout = self.options.session.call_timeout.unwrap_or_default();
        timeout.saturating_mul(OVERDUE_TIMEOUTS).max(SHORTEST_OVERDUE)
    }

    /// Counts one more session, if there may be one.
    fn count_one_more(&self) -> bool {
        let mut pool = self.lock();
        let may_be = pool.open < self.options.max_sessions;
        pool.open += usize::from(may_be);
        may_be
    }

    fn lend(&self, session: Box<Session>, late_since: Option<Instant>) -> PooledSession<'_> {
        PooledSession { client: self, session: Some(session), late_since }
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().expect("nobody panics with the lock")
    }

    /// One session less is open.
    fn closed(&self) {
        self.give_back(|pool| pool.open -= 1);
    }

    /// Changes the pool so that one who waits for a session can have one.
    #[inline]
    fn give_back(&self, change: impl FnOnce(&mut Pool)) {
        let mut pool = self.lock();
        change(&mut pool);
        let is_awaited = pool.waiting > 0;
        drop(pool);
        // Notifying nobody would still be a system call: 230 ns for taking and returning, not 23.
        if is_awaited {
            self.returned.notify_one();
        }
    }
}

/// A session of the pool.
pub struct PooledSession<'c> {
    client: &'c Client,
    /// `None` only while dropping.
    session: Option<Box<Session>>,
    /// Since when it has owed replies, if it did when it was taken.
    late_since: Option<Instant>,
}

impl Deref for PooledSession<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session.as_deref().expect("present until dropped")
    }
}

impl DerefMut for PooledSession<'_> {
    fn deref_mut(&mut self) -> &mut Session {
        self.session.as_deref_mut().expect("present until dropped")
    }
}

impl Drop for PooledSession<'_> {
    fn drop(&mut self) {
        match self.session.take() {
            // One that has ended, or whose replies somebody still wanted, is of no use to others.
            Some(session) if session.is_ended() || session.in_flight() > 0 => {
                drop(session);
                self.client.closed();
            }
            Some(session) if session.has_late_replies() => {
                let since = self.late_since.unwrap_or_else(Instant::now);
                self.client.give_back(|pool| pool.late.push_back(Late { session, since }));
            }
            Some(session) => self.client.give_back(|pool| pool.idle.push(Idle::now(session))),
            None => {}
        }
    }
}

/// A reply, lent by the server until this is dropped.
pub struct ClientReply<'c> {
    session: PooledSession<'c>,
}

impl ClientReply<'_> {
    /// Its bytes: a private copy up to 104 bytes, else the peer's memory, which the peer may still
    /// change.
    pub fn bytes(&self) -> ForeignBytes<'_> {
        self.session.reply_bytes()
    }

    /// A private copy of its bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes().to_vec()
    }
}

impl Drop for ClientReply<'_> {
    fn drop(&mut self) {
        self.session.finish_reply();
    }
}
