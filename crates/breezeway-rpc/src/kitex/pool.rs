//! Connections to a server that wait for the next call, and how its requests are numbered.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard};
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
    idle: Mutex<Vec<C>>,
}

impl<C> Pool<C> {
    pub(super) fn new(framing: ThriftFraming) -> Self {
        Self { framing, sequence: AtomicI32::new(1), idle: Mutex::default() }
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
            let mut connection = self.lock().pop()?;
            if is_usable(&mut connection) {
                return Some(connection);
            }
        }
    }

    pub(super) fn keep(&self, connection: C) {
        let mut idle = self.lock();
        if idle.len() < MAX_IDLE {
            idle.push(connection);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<C>> {
        self.idle.lock().expect("nobody panics with the lock")
    }
}
