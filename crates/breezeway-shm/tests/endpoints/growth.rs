//! Growth and shrinking of payload memory with the traffic, and the errors when there is none.

use std::time::{Duration, Instant};

use crate::support::{FIN, OPEN, Pair, Terms, take};
use breezeway_os::{MemoryAccount, MemoryLedger, MemoryLimits};
use breezeway_shm::layout::MESSAGE;
use breezeway_shm::{Body, Endpoint, FirstSegment, Head, Limits, SendError, Shortage, Want};

const PAGE: usize = 4096;
const MEBIBYTE: usize = 1 << 20;

fn pair(first_segment: u64, cap: usize) -> Pair {
    let terms = Terms { ring_capacity: 256, cap: cap as u64, ..Terms::default() };
    let limits = Limits { first_segment, ..Limits::new(cap as u64) };
    Pair::with_limits(terms, limits)
}

fn head() -> Head {
    Head { kind: MESSAGE, flags: OPEN | FIN, stream: 1, tag: 0, time: 0 }
}

/// Sends `len` bytes with a distinct first and last byte.
fn lend(endpoint: &mut Endpoint, mark: u8, len: usize) -> Result<(), SendError> {
    let mut space = endpoint.reserve(len)?;
    let bytes = endpoint.fill(&mut space).into_bytes();
    bytes.fill(0);
    if let [first, .., last] = bytes {
        (*first, *last) = (mark, mark);
    }
    endpoint.send(head(), Body::Space(&mut space)).expect("the ring has room");
    endpoint.flush().unwrap();
    Ok(())
}

/// Takes the next message and compares it.
fn receive(endpoint: &mut Endpoint, mark: u8, len: usize) {
    assert!(take(endpoint).unwrap());
    let bytes = endpoint.body().to_vec();
    assert_eq!(bytes.len(), len);
    if len > 1 {
        assert_eq!((bytes[0], bytes[len - 1]), (mark, mark));
    }
    endpoint.finish().unwrap();
    endpoint.flush().unwrap();
}

fn shortage(result: Result<(), SendError>) -> Shortage {
    match result {
        Err(SendError::NoMemory { shortage, .. }) => shortage,
        other => panic!("{other:?}"),
    }
}

#[test]
fn lengths_around_segment_sizes_arrive_in_any_order() {
    for first in [1, PAGE, 2 * PAGE, 16 * PAGE, 2 * MEBIBYTE] {
        let mut lens = vec![0, 1, 104, 105, MEBIBYTE - 1, MEBIBYTE];
        for size in [PAGE, 2 * PAGE, first, 2 * first, 4 * first, MEBIBYTE / 2] {
            lens.extend([size - 1, size, size + 1, size.saturating_sub(128), size + 128]);
        }
        lens.retain(|&len| len <= MEBIBYTE);
        for &alone in &lens {
            let mut pair = pair(first as u64, MEBIBYTE);
            lend(&mut pair.one, 7, alone).unwrap();
            receive(&mut pair.other, 7, alone);
        }
        let mut pair = pair(first as u64, MEBIBYTE);
        for (index, &len) in lens.iter().chain(lens.iter().rev()).enumerate() {
            lend(&mut pair.one, index as u8, len).unwrap_or_else(|error| panic!("{error}"));
            receive(&mut pair.other, index as u8, len);
            assert!(pair.one.payload_memory().own <= MEBIBYTE as u64);
        }
        let refused = pair.one.reserve(MEBIBYTE + 1).unwrap_err();
        assert!(refused.to_string().contains("raise the cap on both sides"), "{refused}");
    }
}

#[test]
fn segment_is_created_with_the_first_payload() {
    let mut pair = pair(64 * 1024, MEBIBYTE);
    lend(&mut pair.one, 0, 104).unwrap();
    assert_eq!(pair.one.payload_memory().own, 0);
    for _ in 0..1000 {
        lend(&mut pair.one, 1, 30_000).unwrap();
        while take(&mut pair.other).unwrap() {
            pair.other.finish().unwrap();
        }
        pair.other.flush().unwrap();
    }
    let memory = pair.one.payload_memory();
    assert_eq!((memory.own, memory.own_added), (64 * 1024, 1));
    let memory = pair.other.payload_memory();
    assert_eq!((memory.peers, memory.peers_added, memory.own), (64 * 1024, 1, 0));
}

#[test]
fn unreleased_payload_stops_at_cap_with_named_limit() {
    let mut pair = pair(PAGE as u64, MEBIBYTE);
    let mut lent = 0;
    while lend(&mut pair.one, lent, 10_000).is_ok() {
        lent += 1;
        // It takes and keeps.
        assert!(pair.other.has(Want::Data).unwrap());
    }
    assert!(usize::from(lent) > MEBIBYTE / 10_112 - 10, "{lent}");
    for _ in 0..100 {
        let refused = lend(&mut pair.one, 0, 10_000);
        let text = refused.as_ref().unwrap_err().to_string();
        assert!(text.contains("raise the cap on both sides"), "{text}");
        let Shortage::Cap { taken, cap } = shortage(refused) else { panic!("{text}") };
        assert_eq!((taken, cap), (usize::from(lent) * 10_112, MEBIBYTE));
        assert!(pair.one.reserve(104).is_ok(), "what needs no memory goes on");
    }
    assert!(pair.one.payload_memory().own <= MEBIBYTE as u64);
    for mark in 0..lent {
        receive(&mut pair.other, mark, 10_000);
    }
    lend(&mut pair.one, 1, MEBIBYTE).unwrap();
    receive(&mut pair.other, 1, MEBIBYTE);
}

#[test]
fn lend_numbers_that_are_exhausted_are_named_as_the_reason() {
    let terms = Terms { ring_capacity: 256, lend_count: 64, cap: MEBIBYTE as u64 };
    let mut pair = Pair::new(terms);
    for mark in 0..64 {
        lend(&mut pair.one, mark, 105).unwrap();
    }
    let refused = lend(&mut pair.one, 0, 105);
    let text = refused.as_ref().unwrap_err().to_string();
    assert!(text.contains("64 payloads") && text.contains("receive replies first"), "{text}");
    assert_eq!(shortage(refused), Shortage::Numbers(64));
    receive(&mut pair.other, 0, 105);
    lend(&mut pair.one, 64, 105).unwrap();
}

#[test]
fn unannounceable_segment_fails_naming_ring_capacity() {
    let terms = Terms { ring_capacity: 8, cap: 64 * MEBIBYTE as u64, ..Terms::default() };
    let mut pair = Pair::new(terms);
    // Two segments are announced and not met by the peer.
    lend(&mut pair.one, 0, 300_000).unwrap();
    lend(&mut pair.one, 1, MEBIBYTE).unwrap();
    let refused = lend(&mut pair.one, 2, 4 * MEBIBYTE);
    let text = refused.as_ref().unwrap_err().to_string();
    assert!(text.contains("ring_capacity"), "{text}");
    assert_eq!(shortage(refused), Shortage::Progress);
    receive(&mut pair.other, 0, 300_000);
    receive(&mut pair.other, 1, MEBIBYTE);
    lend(&mut pair.one, 2, 4 * MEBIBYTE).unwrap();
    receive(&mut pair.other, 2, 4 * MEBIBYTE);
}

#[test]
fn segment_entries_leave_slots_to_messages() {
    // As many large messages as a quarter of the ring has segments for, and each of them needs one.
    for capacity in [8, 16, 64] {
        let terms = Terms { ring_capacity: capacity, ..Terms::default() };
        let mut pair =
            Pair::with_limits(terms, Limits { first_segment: 1, ..Limits::new(1 << 26) });
        let mut sent = 0;
        for round in 0..capacity / 2 {
            match lend(&mut pair.one, round as u8, PAGE << round.min(12)) {
                Ok(()) => sent += 1,
                Err(error) => assert!(matches!(error, SendError::NoMemory { .. }), "{error}"),
            }
        }
        assert!(pair.one.payload_memory().own_added <= capacity / 4);
        for _ in sent..capacity / 2 {
            pair.one
                .send(head(), Body::Bytes(b"a failure needs no memory"))
                .expect("there is a slot");
        }
    }
}

/// Sends small messages until `done`.
fn small_traffic(pair: &mut Pair, what: &str, mut done: impl FnMut(&Pair) -> bool) {
    let start = Instant::now();
    while !done(pair) {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{what}: {:?}",
            pair.one.payload_memory()
        );
        lend(&mut pair.one, 3, 10).unwrap();
        receive(&mut pair.other, 3, 10);
    }
}

#[test]
fn unneeded_segments_are_returned_by_both_sides() {
    const FIRST: u64 = 64 * 1024;
    let terms = Terms { ring_capacity: 256, cap: 16 << 20, ..Terms::default() };
    let limits = Limits {
        first_segment: FIRST,
        shrink_after: Duration::from_millis(1),
        ..Limits::new(terms.cap)
    };
    let mut pair = Pair::with_limits(terms, limits);
    lend(&mut pair.one, 0, 1000).unwrap();
    receive(&mut pair.other, 0, 1000);
    for round in 0..50 {
        // None is answered, so the releases are published by their bits.
        for mark in 0..10 {
            lend(&mut pair.one, mark, MEBIBYTE).unwrap();
        }
        assert!(pair.one.payload_memory().own > 10 << 20);
        for mark in 0..10 {
            receive(&mut pair.other, mark, MEBIBYTE);
        }
        small_traffic(&mut pair, "all but the first segment goes", |pair| {
            pair.one.payload_memory().own == FIRST
        });
        while take(&mut pair.other).unwrap() {}
        assert_eq!(pair.other.payload_memory().peers, FIRST, "round {round}");
    }
    assert!(pair.one.payload_memory().own_added > 100);
}

/// Between two windows, which end an hour apart here, only a reservation collects releases.
#[test]
fn reservation_reuses_releases_between_windows() {
    const FIRST: usize = 64 * 1024;
    const GONE_AROUND_IN: usize = 2 * MEBIBYTE;
    for large_first in [false, true] {
        let limits = Limits { shrink_after: Duration::from_secs(3600), ..Limits::new(16 << 20) };
        let mut pair = Pair::with_limits(Terms { cap: 16 << 20, ..Terms::default() }, limits);
        for &len in if large_first { &[MEBIBYTE][..] } else { &[1000, MEBIBYTE] } {
            lend(&mut pair.one, 1, len).unwrap();
            receive(&mut pair.other, 1, len);
        }
        for (len, most) in [(1000, FIRST), (10_000, FIRST), (40_000, FIRST + GONE_AROUND_IN)] {
            for round in 0..200 {
                // None is answered, so the releases are published by their bits.
                lend(&mut pair.one, 2, len).unwrap();
                receive(&mut pair.other, 2, len);
                // Soon all that is taken fits into the small segment, or would fit into one, or
                // into that and the memory that larger ones rotate through.
                let taken = pair.one.in_flight(|_| false);
                assert!(round < 100 || taken <= most, "{taken} bytes after {round} of {len}");
            }
        }
    }
}

#[test]
fn a_session_that_rests_keeps_its_memory_until_it_is_used() {
    let limits = Limits { shrink_after: Duration::from_millis(1), ..Limits::new(16 << 20) };
    let mut pair = Pair::with_limits(Terms { cap: 16 << 20, ..Terms::default() }, limits);
    for mark in 0..3 {
        lend(&mut pair.one, mark, MEBIBYTE).unwrap();
    }
    for mark in 0..3 {
        receive(&mut pair.other, mark, MEBIBYTE);
    }
    let grown = pair.one.payload_memory();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(pair.one.payload_memory(), grown);
    // However long it rested, that was one window, so the spare is there for what comes next.
    for mark in 0..2 {
        lend(&mut pair.one, mark, MEBIBYTE).unwrap();
    }
    assert_eq!(pair.one.payload_memory().own_added, grown.own_added);
}

#[test]
fn segment_begun_in_pieces_goes_on_beside_other_growth() {
    const LEN: usize = 6 * MEBIBYTE;
    let mut pair = pair(64 * 1024, 64 * MEBIBYTE);
    let (mut begun, mut pieces) = (None, 1);
    while pair.one.reserve_in_pieces(LEN, &mut begun).unwrap().is_none() {
        pieces += 1;
        // More than any segment there is.
        let own = pair.one.payload_memory().own;
        let more = own as usize + 1000;
        lend(&mut pair.one, 1, more).unwrap();
        receive(&mut pair.other, 1, more);
        assert!(pair.one.payload_memory().own > own);
        // Of a MiB at least, so one that is begun again and again is never done.
        assert!(pieces <= LEN / MEBIBYTE, "{pieces} pieces");
    }
    assert!(begun.is_none() && pieces > 1);
}

#[test]
fn segment_begun_in_pieces_is_dropped_where_space_is_found() {
    const LEN: usize = 6 * MEBIBYTE;
    let ledger = MemoryLedger::new(MemoryLimits { total: Some(1 << 30), of_user: None });
    let mut pair = pair(64 * 1024, 64 * MEBIBYTE);
    pair.one.set_memory_account(ledger.account(None));
    lend(&mut pair.one, 1, LEN).unwrap();
    let mut begun = None;
    assert!(pair.one.reserve_in_pieces(LEN, &mut begun).unwrap().is_none());
    let own = pair.one.payload_memory().own;
    assert!(ledger.held() >= own + LEN as u64);
    receive(&mut pair.other, 1, LEN);
    assert!(pair.one.reserve_in_pieces(LEN, &mut begun).unwrap().is_some());
    assert!(begun.is_none());
    // Another thread may unmap it.
    let began = Instant::now();
    while ledger.held() > own {
        assert!(began.elapsed() < Duration::from_secs(60), "{} bytes are held", ledger.held());
        std::thread::yield_now();
    }
    assert_eq!(pair.one.payload_memory().own, own);
}

#[test]
fn prepared_first_segment_is_announced_before_a_message() {
    let account = MemoryAccount::default();
    let mut pair = pair(PAGE as u64, 16 * MEBIBYTE);
    let ready = FirstSegment::create(3 * PAGE as u64, 16 << 20, &account).unwrap();
    pair.one.add_first_segment(ready).unwrap();
    assert_eq!(pair.one.payload_memory().own, 3 * PAGE as u64);
    assert!(!take(&mut pair.other).unwrap(), "there is no message");
    assert_eq!(pair.other.payload_memory().peers, 3 * PAGE as u64);
    for mark in 1..4 {
        lend(&mut pair.one, mark, 3 * PAGE).unwrap();
        receive(&mut pair.other, mark, 3 * PAGE);
    }
    assert_eq!(pair.one.payload_memory().own_added, 1, "and what fits needs no other");
    lend(&mut pair.one, 9, 3 * PAGE + 1).unwrap();
    receive(&mut pair.other, 9, 3 * PAGE + 1);
    assert_eq!(pair.one.payload_memory().own_added, 2);
}

#[test]
fn first_segment_size_is_rounded_within_the_cap() {
    let account = MemoryAccount::default();
    for (asked, cap, range) in [
        (1, 16 * MEBIBYTE, PAGE..=PAGE),
        (PAGE + 1, 16 * MEBIBYTE, 2 * PAGE..=2 * PAGE),
        (MEBIBYTE, 16 * MEBIBYTE, MEBIBYTE..=2 * MEBIBYTE),
        (3 * MEBIBYTE, 3 * MEBIBYTE, 3 * MEBIBYTE..=3 * MEBIBYTE),
        (64 * MEBIBYTE, 3 * PAGE, 3 * PAGE..=3 * PAGE),
    ] {
        let mut pair = pair(PAGE as u64, cap);
        let ready = FirstSegment::create(asked as u64, cap as u64, &account).unwrap();
        pair.one.add_first_segment(ready).unwrap();
        let own = pair.one.payload_memory().own;
        assert!(range.contains(&(own as usize)), "{asked} of {cap}: {own}");
    }
}

#[test]
fn a_first_segment_that_is_none_or_too_large_is_dropped() {
    let account = MemoryAccount::default();
    let ready = |pages| FirstSegment::create(pages * PAGE as u64, 1 << 20, &account).unwrap();
    // The peer's hello may allow less than this side thought.
    let mut pair = pair(PAGE as u64, 2 * PAGE);
    pair.one.add_first_segment(ready(3)).unwrap();
    assert_eq!(pair.one.payload_memory().own_added, 0);
    lend(&mut pair.one, 1, PAGE).unwrap();
    receive(&mut pair.other, 1, PAGE);
    pair.one.add_first_segment(ready(1)).unwrap();
    assert_eq!(pair.one.payload_memory().own_added, 1, "a message came first");
}

#[test]
fn a_first_segment_counts_on_its_account() {
    let limits = MemoryLimits { total: Some(8 * PAGE as u64), of_user: None };
    let ledger = MemoryLedger::new(limits);
    let create = || FirstSegment::create(8 * PAGE as u64, 1 << 20, &ledger.account(None));
    let ready = create().unwrap();
    assert_eq!(ledger.held(), 8 * PAGE as u64);
    assert!(create().unwrap_err().is_shortage());
    drop(ready);
    assert_eq!(ledger.held(), 0);
}
