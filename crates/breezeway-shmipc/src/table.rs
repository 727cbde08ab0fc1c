//! The streams of a session.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::task::Waker;

use crate::stream_state::StreamState;

/// Number of closed streams that are remembered. The peer may still send for a stream that this
/// side has closed; without this, such data would open a stream of that number again.
const REMEMBERED: usize = 4096;
/// First number that a client uses, as in upstream.
const FIRST: u32 = 2;

/// Side of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Connected, created the regions, and opens streams.
    Client,
    /// Accepted, and sees streams by their first data.
    Server,
}

/// Owner of received data.
pub(crate) enum Found {
    /// A known stream, or a new one.
    Stream(Arc<StreamState>),
    /// None: the stream was closed here.
    Nobody,
    /// A new stream, but the limit is reached.
    TooMany,
}

/// Open streams, those to be accepted, and numbers recently closed.
pub(crate) struct Table {
    role: Role,
    limit: usize,
    streams: HashMap<u32, Arc<StreamState>>,
    accept: VecDeque<Arc<StreamState>>,
    accept_waiting: VecDeque<Waker>,
    closed: HashSet<u32>,
    closed_order: VecDeque<u32>,
    next: u32,
}

impl Table {
    /// Creates a table without streams, for at most `limit`.
    pub(crate) fn new(role: Role, limit: usize) -> Self {
        Self {
            role,
            limit,
            streams: HashMap::new(),
            accept: VecDeque::new(),
            accept_waiting: VecDeque::new(),
            closed: HashSet::new(),
            closed_order: VecDeque::new(),
            next: FIRST,
        }
    }

    /// Opens a new stream of a client; `None` if the limit is reached.
    pub(crate) fn open(&mut self) -> Option<Arc<StreamState>> {
        if self.streams.len() >= self.limit {
            return None;
        }
        while self.streams.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let stream = Arc::new(StreamState::new(self.next));
        self.next = self.next.wrapping_add(1);
        self.streams.insert(stream.id, Arc::clone(&stream));
        Some(stream)
    }

    /// Returns a known stream.
    pub(crate) fn get(&self, id: u32) -> Option<&Arc<StreamState>> {
        self.streams.get(&id)
    }

    /// Finds the stream that data for `id` belongs to. A server's stream begins with its first
    /// data.
    pub(crate) fn find(&mut self, id: u32) -> Found {
        if let Some(stream) = self.streams.get(&id) {
            return Found::Stream(Arc::clone(stream));
        }
        if self.role == Role::Client || self.closed.contains(&id) {
            return Found::Nobody;
        }
        if self.streams.len() >= self.limit {
            return Found::TooMany;
        }
        let stream = Arc::new(StreamState::new(id));
        self.streams.insert(id, Arc::clone(&stream));
        self.accept.push_back(Arc::clone(&stream));
        if let Some(waker) = self.accept_waiting.pop_front() {
            waker.wake();
        }
        Found::Stream(stream)
    }

    /// Forgets a stream; its number stays known for a while.
    pub(crate) fn forget(&mut self, id: u32) {
        self.streams.remove(&id);
        if self.role == Role::Server && self.closed.insert(id) {
            self.closed_order.push_back(id);
            if self.closed_order.len() > REMEMBERED
                && let Some(oldest) = self.closed_order.pop_front()
            {
                self.closed.remove(&oldest);
            }
        }
    }

    /// Returns the next unaccepted stream; without one, `waker` is kept.
    pub(crate) fn accept(&mut self, waker: Option<&Waker>) -> Option<Arc<StreamState>> {
        let next = self.accept.pop_front();
        if next.is_none()
            && let Some(waker) = waker
            && !self.accept_waiting.iter().any(|known| known.will_wake(waker))
        {
            self.accept_waiting.push_back(waker.clone());
        }
        next
    }

    /// Wakes all waiters of the session, because it is over.
    pub(crate) fn wake_all(&mut self) {
        for stream in self.streams.values() {
            stream.notify();
        }
        for waker in self.accept_waiting.drain(..) {
            waker.wake();
        }
    }

    /// Returns the number of open streams.
    pub(crate) fn len(&self) -> usize {
        self.streams.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_streams_are_numbered_from_two() {
        let mut table = Table::new(Role::Client, 3);
        let ids: Vec<_> = std::iter::from_fn(|| table.open()).map(|stream| stream.id).collect();
        assert_eq!(ids, [2, 3, 4]);
        table.forget(3);
        assert_eq!(table.open().unwrap().id, 5);
    }

    #[test]
    fn numbers_go_round_and_step_over_streams_still_open() {
        let mut table = Table::new(Role::Client, 10);
        table.open();
        table.next = u32::MAX;
        let ids: Vec<_> = (0..5).map(|_| table.open().unwrap().id).collect();
        assert_eq!(ids, [u32::MAX, 0, 1, 3, 4]);
    }

    #[test]
    fn late_data_does_not_open_a_closed_stream_again() {
        let mut table = Table::new(Role::Server, 10);
        assert!(matches!(table.find(7), Found::Stream(_)));
        table.forget(7);
        assert!(matches!(table.find(7), Found::Nobody));
        assert!(matches!(table.find(8), Found::Stream(_)));
    }

    #[test]
    fn client_finds_no_stream_it_did_not_open() {
        assert!(matches!(Table::new(Role::Client, 10).find(7), Found::Nobody));
    }

    #[test]
    fn a_server_opens_no_more_streams_than_allowed() {
        let mut table = Table::new(Role::Server, 2);
        for id in [5, 6] {
            assert!(matches!(table.find(id), Found::Stream(_)));
        }
        assert!(matches!(table.find(7), Found::TooMany));
    }

    #[test]
    fn closed_numbers_are_remembered_up_to_the_limit() {
        let mut table = Table::new(Role::Server, 10);
        for id in 0..=REMEMBERED as u32 {
            table.forget(id);
        }
        assert_eq!((table.closed.len(), table.closed_order.len()), (REMEMBERED, REMEMBERED));
        assert!(matches!(table.find(0), Found::Stream(_)));
        assert!(matches!(table.find(1), Found::Nobody));
    }
}
