//! Data that a peer can write into the shared memory (B1.1 9, B1.2, B1.3).

use breezeway_adversary::shmipc::buffers::{FIRST_SLICE, LISTS, SECOND_SLICE, SliceHeader};
use breezeway_adversary::shmipc::region::{get, set};
use breezeway_adversary::shmipc::{Peer, queue};
use breezeway_shmipc::Violation;

use crate::victim::Victim;

/// Checks that after the attack the attacker's session is ended for the rule that it broke, and
/// others are unaffected.
#[track_caller]
fn is_punished(rule: impl FnOnce(&Violation) -> bool, attack: impl FnOnce(&mut Peer)) {
    let mut victim = Victim::new();
    let mut raw = Peer::connect(&victim.path);
    attack(&mut raw);
    raw.wait_for_end();
    let violation = victim.punishment();
    assert!(rule(&violation), "{violation}");
    victim.is_well();
}

/// Sends a first slice with this header.
#[track_caller]
fn header_is_punished(rule: impl FnOnce(&Violation) -> bool, header: SliceHeader) {
    is_punished(rule, |raw| {
        raw.slices.fill(FIRST_SLICE, header, b"");
        raw.put(2, FIRST_SLICE, 0);
    });
}

fn first_slice_is_held(violation: &Violation) -> bool {
    *violation == Violation::SliceHeld(FIRST_SLICE)
}

fn header_lies(violation: &Violation) -> bool {
    matches!(violation, Violation::SliceHeader { offset: FIRST_SLICE, .. })
}

fn size_lies(violation: &Violation) -> bool {
    matches!(violation, Violation::SliceSize { offset: FIRST_SLICE, .. })
}

fn honest() -> SliceHeader {
    SliceHeader::of(b"hello")
}

#[test]
fn a_well_behaved_client_is_served() {
    let victim = Victim::new();
    let mut raw = Peer::connect(&victim.path);
    raw.send(2, b"hello");
    let [stream, offset, status] = raw.take();
    assert_eq!((stream, status, raw.slices.payload(offset)), (2, 0, b"hello".to_vec()));
}

#[test]
fn a_chain_whose_next_points_to_itself() {
    header_is_punished(
        first_slice_is_held,
        SliceHeader { next: FIRST_SLICE, flags: 3, ..honest() },
    );
}

#[test]
fn a_chain_in_a_circle_of_two() {
    is_punished(first_slice_is_held, |raw| {
        raw.slices.fill(
            FIRST_SLICE,
            SliceHeader { next: SECOND_SLICE, flags: 3, ..honest() },
            b"hello",
        );
        raw.slices.fill(
            SECOND_SLICE,
            SliceHeader { next: FIRST_SLICE, flags: 3, ..honest() },
            b"hello",
        );
        raw.put(2, FIRST_SLICE, 0);
    });
}

#[test]
fn a_circle_of_empty_slices() {
    // Empty slices are given back, and if that were done at once each visit could take one that is
    // no longer held: the walk must end nevertheless.
    is_punished(first_slice_is_held, |raw| {
        let empty = SliceHeader { size: 0, flags: 3, ..honest() };
        raw.slices.fill(FIRST_SLICE, SliceHeader { next: SECOND_SLICE, ..empty }, b"");
        raw.slices.fill(SECOND_SLICE, SliceHeader { next: FIRST_SLICE, ..empty }, b"");
        raw.put(2, FIRST_SLICE, 0);
    });
}

#[test]
fn a_capacity_near_two_to_the_32() {
    for capacity in [u32::MAX, u32::MAX - 19, u32::MAX - FIRST_SLICE] {
        header_is_punished(header_lies, SliceHeader { capacity, ..honest() });
    }
}

#[test]
fn a_size_beyond_the_capacity() {
    for size in [1005, 1037, u32::MAX] {
        header_is_punished(size_lies, SliceHeader { size, ..honest() });
    }
    header_is_punished(size_lies, SliceHeader { start: 1000, size: 5, ..honest() });
    header_is_punished(size_lies, SliceHeader { start: u32::MAX, size: 2, ..honest() });
}

#[test]
fn a_forged_capacity_that_would_move_a_slice_to_another_list() {
    header_is_punished(header_lies, SliceHeader { capacity: 4076, ..honest() });
}

#[test]
fn an_offset_that_is_no_slice() {
    for offset in [0, 8, 43, 45, FIRST_SLICE + 4, 523_308, 1 << 20, u32::MAX - 3, u32::MAX] {
        let rule = |violation: &Violation| *violation == Violation::NoSlice(offset);
        is_punished(rule, |raw| raw.put(2, offset, 0));
    }
}

#[test]
fn a_next_that_is_no_slice() {
    for next in [0, 45, u32::MAX] {
        let rule = |violation: &Violation| *violation == Violation::NoSlice(next);
        header_is_punished(rule, SliceHeader { next, flags: 3, ..honest() });
    }
}

#[test]
fn the_same_slice_sent_twice() {
    // The first is held by a stream that is not read, because its data came before the server could
    // read it.
    use breezeway_shmipc::{
        Address, Server, ServerOptions, SessionEnd, StreamError, Trust, Violation,
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sock");
    let server =
        Server::bind(&Address::Unix(path.clone()), ServerOptions::new(Trust::SameUser)).unwrap();
    let mut raw = Peer::connect(&path);
    let session = server.accept().unwrap();
    raw.send(2, b"hello");
    let stream = session.accept().unwrap();
    raw.put(3, FIRST_SLICE, 0);
    let ended = session.accept().err().unwrap();
    let held = Violation::SliceHeld(FIRST_SLICE);
    assert!(
        matches!(&ended, StreamError::Session(SessionEnd::Violation(violation)) if *violation == held),
        "{ended}"
    );
    drop(stream);
}

#[test]
fn a_queue_that_claims_more_elements_than_it_has() {
    for tail in [17, 1 << 31, u32::MAX] {
        let rule = |violation: &Violation| {
            *violation == Violation::QueueDistance { distance: tail, capacity: 16 }
        };
        is_punished(rule, |raw| {
            set(&raw.queue, 12, tail);
            raw.wake();
        });
    }
}

#[test]
fn a_count_of_taken_elements_beyond_those_put() {
    for head in [17, 1 << 31, u32::MAX] {
        let distance = 16_u32.wrapping_sub(head);
        let rule = |violation: &Violation| {
            *violation == Violation::QueueDistance { distance, capacity: 16 }
        };
        is_punished(rule, |raw| {
            // One reply each, which fill the ring: only then is the count read. The first shows
            // that the server has begun.
            for replies in 1..=16 {
                raw.send(2, b"hello");
                raw.wait_for_replies(replies);
                set(&raw.queue, queue::SIZE / 2 + 4, head);
            }
            raw.send(2, b"hello");
        });
    }
}

#[test]
fn a_free_list_whose_head_is_no_slice() {
    for head in [1, 1023, 511 * 1024, u32::MAX] {
        let rule = |violation: &Violation| matches!(violation, Violation::NoSlice(_));
        is_punished(rule, |raw| {
            for (list, ..) in LISTS {
                set(&raw.buffer, list + 8, head);
            }
            // For the reply the server needs a slice, and keeps none yet.
            raw.slices.fill(FIRST_SLICE, SliceHeader::of(&[7; 5]), &[7; 5]);
            raw.put(2, FIRST_SLICE, 0);
        });
    }
}

#[test]
fn a_free_list_whose_tail_is_no_slice() {
    let rule = |violation: &Violation| *violation == Violation::NoSlice(FIRST_SLICE + 1);
    is_punished(rule, |raw| {
        set(&raw.buffer, LISTS[0].0 + 12, 1);
        // One message of more slices than the server keeps for itself.
        let slices: Vec<_> = (0..64).map(|_| raw.slices.take_slice()).collect();
        for pair in slices.windows(2) {
            raw.slices.fill(pair[0], SliceHeader { next: pair[1], flags: 3, ..honest() }, b"hello");
        }
        raw.slices.fill(slices[63], honest(), b"hello");
        raw.put(2, slices[0], 0);
    });
}

#[test]
fn layout_changed_after_validation_is_not_read_again() {
    let mut victim = Victim::new();
    let mut raw = Peer::connect(&victim.path);
    for (list, ..) in LISTS {
        set(&raw.buffer, list + 4, u32::MAX);
        set(&raw.buffer, list + 16, u32::MAX);
    }
    set(&raw.buffer, 0, u32::MAX);
    set(&raw.queue, 0, 0);
    set(&raw.queue, 216, 0);
    raw.send(2, b"hello");
    let [stream, offset, _] = raw.take();
    assert_eq!((stream, raw.slices.payload(offset)), (2, b"hello".to_vec()));
    victim.is_well();
}

#[test]
fn one_peer_can_open_no_more_streams_than_allowed() {
    use breezeway_shmipc::SessionOptions;
    let session = SessionOptions::new().max_streams(2);
    let victim = Victim::with(|options| options.session(session));
    let mut raw = Peer::connect(&victim.path);
    for stream in 2..4 {
        raw.send(stream, b"hello");
        assert_eq!(raw.take()[0], stream);
    }
    raw.send(9, b"hello");
    assert_eq!(raw.take(), [9, 0, 1], "closed, not dropped in silence");
}

#[test]
fn free_list_cut_by_a_death_stalls_no_session() {
    // As if the process had died between taking over the tail and linking the slice before it.
    let mut victim = Victim::new();
    let mut raw = Peer::connect(&victim.path);
    for (list, _, _) in LISTS {
        let first = list + 36 + u64::from(get(&raw.buffer, list + 8));
        set(&raw.buffer, first + 16, 0);
    }
    raw.slices.fill(SECOND_SLICE, honest(), b"hello");
    raw.put(2, SECOND_SLICE, 0);
    // The answer comes over the socket, behind wake-ups.
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"hello") {
        let mut byte = [0];
        std::io::Read::read_exact(&mut raw.socket, &mut byte).unwrap();
        bytes.push(byte[0]);
    }
    victim.is_well();
}

#[test]
fn empty_slices_in_a_chain_are_borne() {
    let mut raw_bytes = Vec::new();
    let victim = Victim::new();
    let mut raw = Peer::connect(&victim.path);
    let third = SECOND_SLICE + 1024;
    raw.slices.fill(
        FIRST_SLICE,
        SliceHeader { size: 0, next: SECOND_SLICE, flags: 3, ..honest() },
        b"",
    );
    raw.slices.fill(SECOND_SLICE, SliceHeader { next: third, flags: 3, ..honest() }, b"hello");
    raw.slices.fill(third, SliceHeader { size: 3, start: 2, ..honest() }, b"--you");
    raw.put(2, FIRST_SLICE, 0);
    while raw_bytes.len() < 8 {
        let [_, offset, _] = raw.take();
        raw_bytes.extend(raw.slices.payload(offset));
    }
    assert_eq!(raw_bytes, b"helloyou");
}
