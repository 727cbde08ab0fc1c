//! One honest endpoint whose messages are kept, against a peer that retires, adds and lends
//! arbitrarily.

use std::os::unix::net::UnixStream;

use breezeway_adversary::native::layout::{control, kind};
use breezeway_adversary::native::{Descriptor, Entry, Ring, Terms};
use breezeway_adversary::{Shared, socket};
use breezeway_shm::{
    ControlSegment, Endpoint, ForeignControl, Limits, Message, SocketError, Violation, Want,
};

const PAGE: usize = 4096;
const CAP: usize = 4 * PAGE;

/// An honest end, and the other by hand.
struct Stage {
    honest: Endpoint,
    ring: Ring,
    socket: UnixStream,
    segments: u32,
}

impl Stage {
    fn set() -> Self {
        Self::with_cap(CAP)
    }

    fn with_cap(cap: usize) -> Self {
        let (honest, socket) = UnixStream::pair().unwrap();
        let terms = Terms { ring_capacity: 64, lend_count: 64, payload_cap: cap as u64 };
        let ring = Ring::new(&terms);
        let (own, _fd) = ControlSegment::create(64, 64).unwrap();
        let peer = ForeignControl::accept(ring.shared.another_fd(), 64, 64).unwrap();
        let honest = Endpoint::new(honest.into(), own, peer, Limits::new(cap as u64));
        Self { honest, ring, socket, segments: 0 }
    }

    /// Adds a segment filled with this value.
    fn add(&mut self, size: usize, value: u8) -> Shared {
        let shared = Shared::fit(size);
        shared.fill(0..size, value);
        socket::send(&self.socket, &[1], &[std::os::fd::AsFd::as_fd(&shared.fd)]).unwrap();
        self.ring.publish(&Entry::segment_add(self.segments, size as u64));
        self.segments += 1;
        shared
    }

    fn lend(&mut self, segment: u32, lend: u32, len: usize) {
        let whole = Descriptor { segment, lend, offset: 0, len: len as u64 };
        self.ring.publish(&Entry::request(1, 0, &[]).lending(whole));
    }

    fn retire(&mut self, segment: u32) {
        self.ring.publish(&Entry::session(kind::SEGMENT_RETIRE, segment, &[]));
    }

    /// Takes the next message and keeps it.
    fn keep(&mut self) -> Message {
        while !self.honest.take().unwrap() {
            assert!(self.honest.has(Want::Data).unwrap(), "a message is there");
        }
        self.honest.detach()
    }

    /// Takes entries until there is none, or one breaks a rule.
    fn take_all(&mut self) -> Result<(), SocketError> {
        while self.honest.has(Want::Data)? {
            if self.honest.take()? {
                self.honest.finish()?;
            }
        }
        Ok(())
    }
}

#[test]
fn retirement_under_a_lease_ends_session_not_message() {
    for kept in [1, 3] {
        let mut stage = Stage::set();
        let shared = stage.add(PAGE, 7);
        let messages: Vec<_> = (0..kept)
            .map(|lend| {
                stage.lend(0, lend, PAGE);
                stage.keep()
            })
            .collect();
        stage.retire(0);
        let outcome = stage.take_all();
        assert!(
            matches!(outcome, Err(SocketError::Violation(Violation::RetiredWhileLent(0)))),
            "{outcome:?}"
        );
        // Even if the peer is gone with all its memory.
        drop((stage, shared));
        for message in messages {
            assert!(message.to_vec() == [7; PAGE]);
        }
    }
}

#[test]
fn segment_is_retired_after_its_last_message_ended() {
    let mut stage = Stage::set();
    for round in 0..200u32 {
        let _shared = stage.add(CAP, round as u8);
        stage.lend(round, round % 64, 200);
        stage.lend(round, (round + 1) % 64, CAP);
        let (first, second) = (stage.keep(), stage.keep());
        assert!(first.to_vec() == [round as u8; 200] && second.to_vec() == [round as u8; CAP]);
        std::thread::spawn(|| drop(second)).join().unwrap();
        drop(first);
        stage.retire(round);
        stage.take_all().unwrap();
        assert_eq!(stage.honest.payload_memory().peers, 0, "no lease keeps it mapped");
    }
}

#[test]
fn segment_of_current_message_is_not_dropped() {
    let mut stage = Stage::set();
    let _shared = stage.add(PAGE, 9);
    stage.lend(0, 0, PAGE);
    stage.retire(0);
    while !stage.honest.take().unwrap() {}
    // The entry behind it is not handled before that.
    assert!(stage.honest.take().unwrap() && stage.honest.body().to_vec() == [9; PAGE]);
    let message = stage.honest.detach();
    let outcome = stage.take_all();
    assert!(
        matches!(outcome, Err(SocketError::Violation(Violation::RetiredWhileLent(0)))),
        "{outcome:?}"
    );
    assert!(message.to_vec() == [9; PAGE]);
}

#[test]
fn doubly_lent_number_is_released_twice() {
    let mut stage = Stage::set();
    let _shared = stage.add(PAGE, 3);
    stage.lend(0, 5, PAGE);
    stage.lend(0, 5, 100 + PAGE / 2);
    let (first, second) = (stage.keep(), stage.keep());
    drop(first);
    assert!(second.to_vec() == [3; 100 + PAGE / 2]);
    drop(second);
    stage.retire(0);
    stage.take_all().unwrap();
}

#[test]
fn arbitrary_release_intent_does_not_block_leases() {
    let mut stage = Stage::set();
    let _shared = stage.add(PAGE, 1);
    // More than a socket holds.
    for round in 0..2_000u64 {
        stage.lend(0, round as u32 % 64, 200);
        stage.ring.shared.store(control::RELEASE_WAKE_AT, round.wrapping_mul(u64::MAX / 7));
        let message = stage.keep();
        std::thread::spawn(|| drop(message)).join().unwrap();
        stage.honest.flush().unwrap();
    }
    stage.retire(0);
    stage.take_all().unwrap();
}

/// 64 MiB: mapping it at once takes milliseconds.
#[test]
fn a_large_segment_is_mapped_a_piece_at_a_time() {
    const LARGE: usize = 64 << 20;
    let mut stage = Stage::with_cap(LARGE);
    stage.add(LARGE, 7);
    stage.lend(0, 0, LARGE);
    let mut turns = 0;
    while !stage.honest.take().unwrap() {
        assert!(stage.honest.has(Want::Data).unwrap(), "the next entry is still to be taken");
        turns += 1;
    }
    assert!(turns >= LARGE >> 20, "{turns} turns");
    assert_eq!(stage.honest.body().u64_le_at(LARGE - 8), Some(0x0707_0707_0707_0707));
}

#[test]
fn segment_of_changed_size_while_mapped_ends_session() {
    const LARGE: usize = 4 << 20;
    let mut stage = Stage::with_cap(2 * LARGE);
    stage.add(LARGE, 7);
    assert!(!stage.honest.take().unwrap());
    stage.ring.write(0, &Entry::segment_add(0, 2 * LARGE as u64));
    stage.ring.commit(0, 1);
    let error = stage.honest.take().unwrap_err().to_string();
    assert!(error.contains("4194304") && error.contains("8388608"), "{error}");
}

#[test]
fn message_in_segment_being_mapped_ends_session() {
    const LARGE: usize = 4 << 20;
    let mut stage = Stage::with_cap(LARGE);
    stage.add(LARGE, 7);
    assert!(!stage.honest.take().unwrap());
    let whole = Descriptor { segment: 0, lend: 0, offset: 0, len: LARGE as u64 };
    stage.ring.write(0, &Entry::request(1, 0, &[]).lending(whole));
    stage.ring.commit(0, 1);
    let outcome = stage.honest.take();
    assert!(
        matches!(outcome, Err(SocketError::Violation(Violation::UnknownSegment(0)))),
        "{outcome:?}"
    );
}
