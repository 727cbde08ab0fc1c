//! Idle connections to a server, and the numbering of requests.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use breezeway::{Address, SessionOptions};

use super::calling::{ThriftFraming, request};
use crate::caller::CallOptions;
use crate::error::Error;
use crate::method::Method;
use crate::thrift;

/// Default of the maximum time for connecting to one address of a host.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of idle connections for each kind of traffic.
const MAX_IDLE: usize = 64;

/// Address of a server's sockets, and options for connecting to them.
#[derive(Debug)]
pub(super) struct Reach {
    pub(super) address: Address,
    /// Maximum time for connecting to one address of a host.
    pub(super) timeout: Duration,
    /// Certificates of `tls:` addresses.
    pub(super) options: SessionOptions,
}

impl Reach {
    pub(super) fn new(address: Address) -> Self {
        Self { address, timeout: CONNECT_TIMEOUT, options: SessionOptions::new() }
    }
}

/// The requests that a connection carries.
///
/// A server may serve the requests of a connection one after the other, and no message reports the
/// end of a oneway call: a call behind one would wait for its handler. A connection that has
/// carried a oneway call carries only such calls from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Traffic {
    Calls,
    Oneways,
}

/// Connections that wait for their next request.
#[derive(Debug)]
struct Idle<C> {
    for_calls: Vec<C>,
    for_oneways: Vec<C>,
}

impl<C> Idle<C> {
    fn of(&mut self, traffic: Traffic) -> &mut Vec<C> {
        match traffic {
            Traffic::Calls => &mut self.for_calls,
            Traffic::Oneways => &mut self.for_oneways,
        }
    }
}

impl<C> Default for Idle<C> {
    fn default() -> Self {
        Self { for_calls: Vec::new(), for_oneways: Vec::new() }
    }
}

#[derive(Debug)]
pub(super) struct Pool<C> {
    framing: ThriftFraming,
    sequence: AtomicI32,
    idle: Arc<Mutex<Idle<C>>>,
    /// Returns true if a connection must not be kept: its server waits for its end.
    is_over: fn(&C) -> bool,
}

impl<C> Pool<C> {
    pub(super) fn new(framing: ThriftFraming, is_over: fn(&C) -> bool) -> Self {
        Self { framing, sequence: AtomicI32::new(1), idle: Arc::default(), is_over }
    }

    /// Returns a function that closes the idle connections that are over; it returns false once the
    /// pool is gone.
    #[cfg(feature = "shmipc")]
    pub(super) fn forgets(&self) -> impl Fn() -> bool + Send + use<C>
    where
        C: Send + 'static,
    {
        let (idle, is_over) = (Arc::downgrade(&self.idle), self.is_over);
        move || {
            let Some(idle) = idle.upgrade() else { return false };
            for traffic in [Traffic::Calls, Traffic::Oneways] {
                let over: Vec<C> =
                    lock(&idle).of(traffic).extract_if(.., |it| is_over(it)).collect();
                // Without the lock: closing a connection may take a while.
                drop(over);
            }
            true
        }
    }

    /// Returns the bytes of the next request, and its number.
    pub(super) fn request<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(Vec<u8>, i32), Error> {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed);
        Ok((request(self.framing.into(), sequence, method, arguments, options)?, sequence))
    }

    /// Takes an idle connection that is kept for this traffic and usable; closes unusable ones.
    pub(super) fn idle(&self, traffic: Traffic, is_usable: impl Fn(&mut C) -> bool) -> Option<C> {
        loop {
            let mut connection = lock(&self.idle).of(traffic).pop()?;
            if is_usable(&mut connection) {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection for the next request of this traffic.
    pub(super) fn keep(&self, traffic: Traffic, connection: C) {
        let mut idle = lock(&self.idle);
        let idle = idle.of(traffic);
        // Checked under the lock: if it is over later, the thread that ends it checks the pool
        // then.
        if idle.len() < MAX_IDLE && !(self.is_over)(&connection) {
            idle.push(connection);
        }
    }
}

fn lock<C>(idle: &Mutex<Idle<C>>) -> MutexGuard<'_, Idle<C>> {
    idle.lock().expect("no panic under the lock")
}
