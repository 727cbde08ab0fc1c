//! Parts of the models: the socket, an end, a session, and messages.

use std::sync::Arc;

use loom::sync::{Condvar, Mutex};

use super::checking::TORN_ENTRY;
use crate::ring::entry::{Entry, Head};
use crate::ring::layout::MESSAGE;
use crate::ring::layout::{ENTRY_SIZE, INLINE_FIRST_LINE, NO_WAKE};
use crate::ring::mutants::{self, DATA_WAKE_AT, Mutant, RING_AT, SPACE_WAKE_AT};
use crate::ring::sync::{AtomicU64, FenceSite};
use crate::ring::words::{ForeignWords, OwnWords};
use crate::ring::{Duplex, PublishFailure, Want};

/// A direction of the session socket.
pub(super) struct Socket {
    /// Bytes that fit; ringing a full socket does nothing (`EAGAIN`).
    pub(super) room: u32,
    pub(super) received: Mutex<Received>,
    pub(super) arrival: Condvar,
}

#[derive(Default)]
pub(super) struct Received {
    pub(super) bytes: u32,
    /// True if a byte arrived since an edge-triggered epoll last reported one.
    pub(super) edge: bool,
}

impl Socket {
    /// Creates a socket with this many unread bytes.
    pub(super) fn with_bytes(bytes: u32, room: u32) -> Arc<Self> {
        let received = Mutex::new(Received { bytes, edge: bytes > 0 });
        Arc::new(Self { room, received, arrival: Condvar::new() })
    }

    pub(super) fn ring(&self) {
        let mut received = self.received.lock().unwrap();
        if received.bytes < self.room {
            received.bytes += 1;
            received.edge = true;
            self.arrival.notify_one();
        }
    }

    /// `recvmsg(MSG_DONTWAIT)` until there is nothing.
    pub(super) fn drain(&self) {
        self.received.lock().unwrap().bytes = 0;
    }

    /// `recvmsg`: waits for a byte and reads what is there.
    pub(super) fn sleep(&self) {
        let mut received = self.received.lock().unwrap();
        while received.bytes == 0 {
            received = self.arrival.wait(received).unwrap();
        }
        received.bytes = 0;
    }

    /// `epoll_wait` with `EPOLLET`: waits for an arrival after the last one it reported, and reads
    /// nothing.
    pub(super) fn sleep_until_edge(&self) {
        let mut received = self.received.lock().unwrap();
        while !received.edge || received.bytes == 0 {
            received = self.arrival.wait(received).unwrap();
        }
        received.edge = false;
    }
}

/// One end of a session: the shipped [`Duplex`], and around it the steps of `Endpoint` in its
/// order.
pub(super) struct End {
    pub(super) duplex: Duplex,
    pub(super) hears: Arc<Socket>,
    pub(super) rings: Arc<Socket>,
    /// True if the socket is read before each intent.
    pub(super) reads_always: bool,
    /// Set by an event, until the socket is read.
    pub(super) unread: bool,
    pub(super) entry: Entry,
}

impl End {
    pub(super) fn publish(&mut self, number: u32, body: &[u8]) -> bool {
        match self.duplex.producer.publish(head(number), 0, body) {
            Ok(()) => true,
            Err(PublishFailure::Full) => false,
            Err(PublishFailure::Violation(violation)) => panic!("{violation}"),
        }
    }

    pub(super) fn flush(&mut self) {
        if self.duplex.flush() {
            self.rings.ring();
        }
    }

    /// Copies the next entry without consuming it.
    pub(super) fn peek(&mut self) -> bool {
        self.duplex.consumer.peek(&mut self.entry).unwrap_or_else(|violation| panic!("{violation}"))
    }

    pub(super) fn take(&mut self) -> bool {
        let taken = self.peek();
        if taken && self.duplex.consumer.advance() {
            self.flush();
        }
        taken
    }

    /// Releases a payload as `Endpoint::finish` does.
    pub(super) fn release(&mut self, lend: u16) {
        self.duplex.release(lend);
        if self.duplex.releases.is_awaited() {
            self.flush();
        }
    }

    /// Collects payloads released by their bits, and returns their number.
    pub(super) fn collect(&mut self) -> usize {
        let mut count = 0;
        self.duplex.lent.collect(|_| count += 1);
        count
    }

    /// Waits until `count` lent payloads have come back by their bits.
    pub(super) fn obtain(&mut self, count: usize) {
        let mut back = self.collect();
        while back < count {
            let consumed = self.duplex.producer.known_consumed();
            self.wait(Want::Memory { consumed, back: self.duplex.lent.back() });
            back += self.collect();
        }
    }

    pub(super) fn has(&mut self, want: Want) -> bool {
        self.duplex.has(want).unwrap_or_else(|violation| panic!("{violation}"))
    }

    pub(super) fn prepare_sleep(&mut self, want: Want) -> bool {
        self.prepare_sleep_while(want, || ())
    }

    /// Prepares to sleep; after the announcement, the peer runs `meanwhile`.
    pub(super) fn prepare_sleep_while(&mut self, want: Want, meanwhile: impl FnOnce()) -> bool {
        if mutants::lacks(Mutant::SharedFence) {
            self.duplex.consumer.publish_progress();
            if self.duplex.consumer.doorbell_due() {
                self.rings.ring();
            }
        }
        let reads = std::mem::take(&mut self.unread) || self.reads_always;
        if reads && !mutants::lacks(Mutant::ReadBeforeIntent) {
            self.hears.drain();
        }
        if self.duplex.announce(want) {
            self.rings.ring();
        }
        meanwhile();
        if !mutants::lacks(Mutant::Recheck) && self.has(want) {
            return false;
        }
        if reads && mutants::lacks(Mutant::ReadBeforeIntent) {
            self.hears.drain();
        }
        true
    }

    /// Sleeps in an edge-triggered epoll until the socket is readable.
    pub(super) fn sleep_until_event(&mut self) {
        self.hears.sleep_until_edge();
        self.unread = !mutants::lacks(Mutant::ReadAfterEvent);
    }

    /// Publishes what the peer may sleep for before this receiver spins on a drained ring, since it
    /// may spin for ever.
    pub(super) fn prepare_spin(&mut self) {
        if !mutants::removed(FenceSite::ProgressBeforeWaiting) {
            self.flush();
        }
    }

    /// `Waiter::sleep`.
    pub(super) fn wait(&mut self, want: Want) {
        while !self.has(want) {
            if self.prepare_sleep(want) {
                self.hears.sleep();
            }
        }
    }

    /// Waits in a `Sleeper`, which leaves the bytes unread until the next intent.
    pub(super) fn wait_for_edge(&mut self, want: Want) {
        while !self.has(want) {
            if self.prepare_sleep(want) {
                self.sleep_until_event();
            }
        }
    }

    /// Waits until one of two conditions holds. The byte that the first intent has caused may be
    /// read before the second is announced, so the first is checked again.
    pub(super) fn wait_for_either(&mut self, first: Want, second: Want) {
        while !self.has(first) && !self.has(second) {
            let nothing_came = self.prepare_sleep(first)
                && self.prepare_sleep(second)
                && (mutants::lacks(Mutant::RecheckOfFirst) || !self.has(first));
            if nothing_came {
                self.hears.sleep();
            }
        }
    }

    /// Publishes message `number` and wakes the peer, after waiting for space if need be.
    pub(super) fn send(&mut self, number: u32) {
        while !self.publish(number, &body(number)) {
            self.wait(Want::Consumed(self.duplex.producer.known_consumed()));
        }
        self.flush();
    }

    /// Takes message `number`, after waiting for it if need be, and consumes it.
    pub(super) fn receive(&mut self, number: u32) {
        self.wait(Want::Data);
        assert!(self.take());
        check(&self.entry, number);
    }
}

/// Parameters of a session.
#[derive(Clone, Copy)]
pub(super) struct Setting {
    /// Entries in either ring.
    pub(super) capacity: u32,
    /// Slots that the test fills, in the ring of the first end and in that of the second; the
    /// others are left out of the model's memory.
    pub(super) slots: [usize; 2],
    /// Bytes that lie unread on both sockets.
    pub(super) stale_bytes: u32,
    /// Bytes that a socket holds.
    pub(super) room: u32,
    /// True if the socket is read before each intent.
    pub(super) reads_always: bool,
}

/// Returns a session with one direction of `slots` slots, all used; the other direction is unused.
pub(super) const fn one_way(capacity: u32, slots: usize) -> Setting {
    Setting { capacity, slots: [slots, 1], stale_bytes: 0, room: 4, reads_always: false }
}

pub(super) fn control_segment(slots: usize) -> Arc<Vec<AtomicU64>> {
    let intents = [DATA_WAKE_AT / 8, SPACE_WAKE_AT / 8];
    let words = (RING_AT + slots * ENTRY_SIZE) / 8;
    let start = |word| if intents.contains(&word) { NO_WAKE } else { 0 };
    Arc::new((0..words).map(|word| AtomicU64::new(start(word))).collect())
}

/// Creates both ends of a session.
pub(super) fn session(setting: Setting) -> (End, End) {
    let segments = setting.slots.map(control_segment);
    let sockets = [(); 2].map(|()| Socket::with_bytes(setting.stale_bytes, setting.room));
    let end = |here: usize, there: usize| {
        let own = OwnWords::new(Arc::clone(&segments[here]));
        let peer = ForeignWords::new(Arc::clone(&segments[there]));
        End {
            duplex: Duplex::new(&own, &peer, [setting.capacity; 2], 64),
            hears: Arc::clone(&sockets[here]),
            rings: Arc::clone(&sockets[there]),
            reads_always: setting.reads_always,
            unread: false,
            entry: Entry::default(),
        }
    };
    (end(0, 1), end(1, 0))
}

pub(super) fn head(number: u32) -> Head {
    Head { kind: MESSAGE, flags: 0, stream: number + 1, tag: number + 100, time: 0 }
}

/// Returns eight bytes, which leave the second line alone.
pub(super) fn body(number: u32) -> [u8; 8] {
    [number as u8 + 1; 8]
}

/// Returns a body that reaches into the second line.
pub(super) fn long_body(number: u32) -> [u8; INLINE_FIRST_LINE + 8] {
    [number as u8 + 1; INLINE_FIRST_LINE + 8]
}

pub(super) fn check(entry: &Entry, number: u32) {
    let expected = head(number);
    let whole = entry.kind_number() == expected.kind
        && (entry.stream(), entry.tag()) == (expected.stream, expected.tag)
        && (entry.inline() == body(number) || entry.inline() == long_body(number));
    assert!(whole, "{TORN_ENTRY}: expected number {number}, found {entry:x?}");
}
