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
/// The most idle connections that are kept for each kind of traffic.
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

/// The requests that a connection carries.
///
/// A server may serve the requests of a connection one after the other, and nothing reports the
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
            for traffic in [Traffic::Calls, Traffic::Oneways] {
                let over: Vec<C> =
                    lock(&idle).of(traffic).extract_if(.., |it| is_over(it)).collect();
                // Without the lock: closing a connection may take a while.
                drop(over);
            }
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
        // Judged with the lock: if it is over later, whoever ends it looks here then.
        if idle.len() < MAX_IDLE && !(self.is_over)(&connection) {
            idle.push(connection);
        }
    }
}

fn lock<C>(idle: &Mutex<Idle<C>>) -> MutexGuard<'_, Idle<C>> {
    idle.lock().expect("nobody panics with the lock")
}
