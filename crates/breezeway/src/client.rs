//! A client that many threads share: a small pool of sessions.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Instant;

use breezeway_shm::ForeignBytes;

use crate::address::Address;
use crate::error::{CallError, ConnectError};
use crate::options::ClientOptions;
use crate::session::Session;

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

/// Calls a server from any number of threads. `Send` and `Sync`; each call has a session of the pool for itself while it lasts.
///
/// A session that ended is replaced by a new one at the next call; the call on which it ended fails, and is not repeated, as the server may have served it.
pub struct Client {
    address: Address,
    options: ClientOptions,
    pool: Mutex<Pool>,
    returned: Condvar,
}

struct Pool {
    idle: Vec<Session>,
    /// Sessions that exist or are being opened.
    open: usize,
}

impl Client {
    /// Connects with default options.
    pub fn connect(address: &Address) -> Result<Self, ConnectError> {
        Self::connect_with(address, ClientOptions::new())
    }

    /// Connects: opens the first session, so that a server that is not there is noticed at once.
    pub fn connect_with(address: &Address, options: ClientOptions) -> Result<Self, ConnectError> {
        options.validate()?;
        let first = Session::connect_with(address, &options.session)?;
        Ok(Self {
            address: address.clone(),
            options,
            pool: Mutex::new(Pool { idle: vec![first], open: 1 }),
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

    /// Takes a session for exclusive use, to reserve space or to have several calls in flight; it returns to the pool when dropped.
    /// Waits while all are in use, for at most the call timeout: a thread that keeps replies or sessions while it asks for more may wait for itself.
    pub fn session(&self) -> Result<PooledSession<'_>, ClientError> {
        let deadline = self
            .options
            .session
            .call_timeout
            .and_then(|timeout| Instant::now().checked_add(timeout));
        let mut pool = self.lock();
        loop {
            if let Some(session) = pool.idle.pop() {
                return Ok(PooledSession { client: self, session: Some(session) });
            }
            if pool.open < self.options.max_sessions {
                break;
            }
            pool = match deadline {
                None => self.returned.wait(pool).expect("nobody panics with the lock"),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(CallError::DeadlinePassed.into());
                    }
                    self.returned.wait_timeout(pool, left).expect("nobody panics with the lock").0
                }
            };
        }
        pool.open += 1;
        drop(pool);
        match Session::connect_with(&self.address, &self.options.session) {
            Ok(session) => Ok(PooledSession { client: self, session: Some(session) }),
            Err(error) => {
                self.closed();
                Err(error.into())
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().expect("nobody panics with the lock")
    }

    /// One session less is open.
    fn closed(&self) {
        self.lock().open -= 1;
        self.returned.notify_one();
    }
}

/// A session of the pool.
pub struct PooledSession<'c> {
    client: &'c Client,
    /// `None` only while dropping.
    session: Option<Session>,
}

impl Deref for PooledSession<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session.as_ref().expect("present until dropped")
    }
}

impl DerefMut for PooledSession<'_> {
    fn deref_mut(&mut self) -> &mut Session {
        self.session.as_mut().expect("present until dropped")
    }
}

impl Drop for PooledSession<'_> {
    fn drop(&mut self) {
        // One that is over, or still has replies to come, is of no use to the next caller.
        match self.session.take() {
            Some(session) if !session.is_over() && session.in_flight() == 0 => {
                self.client.lock().idle.push(session);
                self.client.returned.notify_one();
            }
            _ => self.client.closed(),
        }
    }
}

/// A reply, lent by the server until this is dropped.
pub struct ClientReply<'c> {
    session: PooledSession<'c>,
}

impl ClientReply<'_> {
    /// Its bytes: a private copy up to 104 bytes, else the peer's memory, which the peer may still change.
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
