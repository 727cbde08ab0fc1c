//! Requests of the peer that were received and not taken.

use std::collections::VecDeque;

use super::streams::StreamKey;
use crate::time::Time;
use crate::validate::Request;

/// Request of the peer.
#[derive(Debug)]
pub enum Arrival<M> {
    /// A call, or a one-way message.
    Call(Request, M, Time),
    /// A stream that the peer has opened.
    Stream {
        /// The stream.
        key: StreamKey,
        /// The method that it was opened for.
        method: u32,
        /// Time until which the peer waits for it.
        deadline: Time,
    },
}

/// Requests in the order of their arrival.
pub struct Arrivals<M> {
    queue: VecDeque<Arrival<M>>,
    /// Number of one-way messages that are queued or served; the next field holds their bytes.
    pub(super) one_way: usize,
    pub(super) one_way_bytes: usize,
    /// Number of streams in the queue.
    pub(super) streams: usize,
}

impl<M> Arrivals<M> {
    pub(super) fn new() -> Self {
        Self { queue: VecDeque::new(), one_way: 0, one_way_bytes: 0, streams: 0 }
    }

    /// Returns the number of arrivals.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn push_call(&mut self, request: Request, content: M, deadline: Time) {
        self.queue.push_back(Arrival::Call(request, content, deadline));
    }

    /// Counts a one-way message of `len` bytes that is about to be pushed as a call.
    pub(super) fn count_one_way(&mut self, len: usize) {
        self.one_way += 1;
        self.one_way_bytes += len;
    }

    pub(super) fn push_stream(&mut self, key: StreamKey, method: u32, deadline: Time) {
        self.streams += 1;
        self.queue.push_back(Arrival::Stream { key, method, deadline });
    }

    /// Takes the oldest arrival. A one-way message counts until [`Self::one_way_ended`].
    pub(super) fn pop(&mut self) -> Option<Arrival<M>> {
        let arrival = self.queue.pop_front()?;
        self.streams -= usize::from(matches!(arrival, Arrival::Stream { .. }));
        Some(arrival)
    }

    pub(super) fn one_way_ended(&mut self, len: usize) {
        // The messages in service at a `clear` are not counted any more.
        self.one_way = self.one_way.saturating_sub(1);
        self.one_way_bytes = self.one_way_bytes.saturating_sub(len);
    }

    /// Removes the oldest stream for which `is_over` returns true.
    pub(super) fn remove_stream(
        &mut self,
        is_over: impl Fn(StreamKey) -> bool,
    ) -> Option<StreamKey> {
        let over = |arrival: &Arrival<M>| match arrival {
            Arrival::Stream { key, .. } => is_over(*key),
            Arrival::Call(..) => false,
        };
        let at = self.queue.iter().position(over)?;
        match self.queue.remove(at) {
            Some(Arrival::Stream { key, .. }) => {
                self.streams -= 1;
                Some(key)
            }
            _ => None,
        }
    }

    /// Drops all arrivals: none will be taken.
    pub fn clear(&mut self) {
        self.queue.clear();
        (self.one_way, self.one_way_bytes, self.streams) = (0, 0, 0);
    }
}
