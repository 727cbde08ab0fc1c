//! Connections to a server that wait for the next call, and how its requests are numbered.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use breezeway::{Address, SessionOptions};

use super::calling::{ThriftFraming, request};
use crate::caller::CallOptions;
use crate::error::Error;
use crate::method::Method;
use crate::thrift;

/// How long connecting to one address of a host may take, unless the client says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// The most idle connections that are kept.
const MAX_IDLE: usize = 64;

/// Where a server's sockets are, and how connections to them are made.
#[derive(Debug)]
pub(super) struct Reach {
    pub(super) address: Address,
    /// How long connecting to one address of a host may take.
    pub(super) timeout: Duration,
    /// The certificates of `tls:` addresses.
    pub(super) options: SessionOptions,
}

impl Reach {
    pub(super) fn new(address: Address) -> Self {
        Self { address, timeout: CONNECT_TIMEOUT, options: SessionOptions::new() }
    }
}

#[derive(Debug)]
pub(super) struct Pool<C> {
    framing: ThriftFraming,
    sequence: AtomicI32,
    idle: Arc<Mutex<Vec<C>>>,
    /// Whether nobody is to keep this connection: its server waits for its end.
    is_over: fn(&C) -> bool,
}

impl<C> Pool<C> {
    pub(super) fn new(framing: ThriftFraming, is_over: fn(&C) -> bool) -> Self {
        Self { framing, sequence: AtomicI32::new(1), idle: Arc::default(), is_over }
    }

    /// Closes those of the idle connections that are over; false once the pool is gone.
    #[cfg(feature = "shmipc")]
    pub(super) fn forgets(&self) -> impl Fn() -> bool + Send + use<C>
    where
        C: Send + 'static,
    {
        let (idle, is_over) = (Arc::downgrade(&self.idle), self.is_over);
        move || {
            let Some(idle) = idle.upgrade() else { return false };
            let over: Vec<C> =
                lock(&idle).extract_if(.., |connection| is_over(connection)).collect();
            drop(over);
            true
        }
    }

    /// The bytes of the next request, and its number.
    pub(super) fn request<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(Vec<u8>, i32), Error> {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed);
        Ok((request(self.framing.into(), sequence, method, arguments, options)?, sequence))
    }

    /// An idle connection that can be used; those that cannot are closed.
    pub(super) fn idle(&self, is_usable: impl Fn(&mut C) -> bool) -> Option<C> {
        loop {
            let mut connection = lock(&self.idle).pop()?;
            if is_usable(&mut connection) {
                return Some(connection);
            }
        }
    }

    pub(super) fn keep(&self, connection: C) {
        let mut idle = lock(&self.idle);
        // Judged with the lock: if it is over later, whoever ends it looks here then.
        if idle.len() < MAX_IDLE && !(self.is_over)(&connection) {
            idle.push(connection);
        }
    }
}

fn lock<C>(idle: &Mutex<Vec<C>>) -> MutexGuard<'_, Vec<C>> {
    idle.lock().expect("nobody panics with the lock")
}
