//! Streams that a hostile client opens at a server: whatever it does on them ends its own session
//! or nothing, and neither the worker nor other sessions wait for it.

use breezeway::{ErrorCode, ServerOptions, StreamViolation, Violation, Window};
use breezeway_adversary::native::layout::{flag, kind};
use breezeway_adversary::native::{Descriptor, Entry, Peer, Terms};
use breezeway_adversary::{journal, stopwatch::eventually};
use breezeway_shm::Violation as MemoryViolation;

use super::service::ECHO_STREAM;
use super::stage::{Stage, options};
use super::watchdog::{GENEROUS, within};

const OPEN: u8 = flag::OPEN | flag::STREAM;
/// Streams of this method are not read.
const UNREAD: u32 = 1;

fn message(flags: u8, stream: u32, body: &[u8]) -> Entry {
    Entry { flags, ..Entry::reply(stream, body) }
}

/// Opens a stream without a message.
fn open(stream: u32, method: u32) -> Entry {
    Entry { tag: method, ..message(OPEN | flag::EMPTY, stream, &[]) }
}

/// A server with two streams for each session, and windows of three messages.
fn stage(threads: usize) -> Stage {
    let session = options().max_streams(2).stream_window(3, 1 << 20).max_metadata(16);
    Stage::with(ServerOptions::new().session(session).stream_threads(threads))
}

fn client(stage: &Stage) -> Peer {
    Peer::connect_with_streams(stage.path(), Terms::default(), 64)
}

/// Drops the client, waits until its worker has seen that, and returns the worker's log line.
fn dies(stage: &Stage, peer: Peer) -> String {
    let from = journal::length();
    drop(peer);
    stage.end_of_session(from)
}

/// The entries end the session for this reason.
#[track_caller]
fn breaks(stage: &Stage, expected: StreamViolation, entries: &[Entry]) {
    let from = journal::length();
    let mut peer = client(stage);
    entries.iter().for_each(|entry| peer.publish(entry));
    let reason = stage.end_of_session(from);
    let expected = Violation::from(expected).to_string();
    assert!(reason.contains(&expected), "{reason:?}, but expected {expected:?}");
    peer.wait_for_end();
    stage.bystander.goes_on();
}

#[test]
fn segments_sum_up_to_a_quarter_above_the_cap() {
    within(GENEROUS, || {
        let stage = stage(16);
        let capped = Terms { payload_cap: 16384, ..Terms::default() };
        let mut peer = Peer::connect_with_streams(stage.path(), capped, 64);
        for number in 0..5 {
            peer.add_segment(4096);
            peer.wait_consumed(number + 1);
        }
        let from = journal::length();
        peer.add_segment(4096);
        let reason = stage.end_of_session(from);
        let expected = MemoryViolation::SegmentSum { size: 4096, cap: 20480 }.to_string();
        assert!(reason.contains(&expected), "{reason}");
        stage.bystander.goes_on();
    });
}

#[test]
fn lent_message_above_the_cap_ends_the_session() {
    const CAP: u64 = 16384;
    within(GENEROUS, || {
        let stage = stage(16);
        let capped = Terms { payload_cap: CAP, ..Terms::default() };
        for (len, is_refused) in [(CAP, false), (CAP + 1, true)] {
            let mut peer = Peer::connect_with_streams(stage.path(), capped, 64);
            // The memory beside the cap makes room for a longer one.
            peer.add_segment(20480);
            let from = journal::length();
            let descriptor = Descriptor { segment: 0, lend: 0, offset: 0, len };
            peer.publish(&Entry::request(1, 0, &[]).lending(descriptor));
            if is_refused {
                let expected = MemoryViolation::TooLong { len, cap: CAP }.to_string();
                let reason = stage.end_of_session(from);
                assert!(reason.contains(&expected), "{reason}");
            } else {
                assert_eq!(peer.next_message().unwrap().flags() & flag::ERROR, 0);
                assert!(dies(&stage, peer).contains("the peer died"));
            }
        }
        stage.bystander.goes_on();
    });
}

#[test]
fn stream_violation_ends_only_its_session() {
    within(GENEROUS, || {
        let stage = stage(16);
        let byte = message(0, 1, b"x");
        let threes = [open(1, UNREAD), open(3, UNREAD), open(5, UNREAD)];
        breaks(&stage, StreamViolation::TooMany(2), &threes);
        breaks(&stage, StreamViolation::Number(2), &[open(2, UNREAD)]);
        breaks(&stage, StreamViolation::Number(1), &[open(1, UNREAD), open(1, UNREAD)]);
        let past = [open(1, UNREAD), byte.clone(), byte.clone(), byte.clone(), byte.clone()];
        breaks(&stage, StreamViolation::WindowExceeded, &past);
        let given = Entry { stream: 1, ..Entry::session(kind::WINDOW, 9, &0u64.to_le_bytes()) };
        let overflow = StreamViolation::WindowOverflow(Window { messages: 9, bytes: 0 });
        breaks(&stage, overflow, &[open(1, UNREAD), given]);
        breaks(&stage, StreamViolation::NotOpen(7), &[message(0, 7, b"x")]);
        stage.close();
    });
}

#[test]
fn a_client_without_streams_is_offered_none() {
    within(GENEROUS, || {
        let stage = stage(16);
        let from = journal::length();
        let mut peer = Peer::connect(stage.path(), Terms::default());
        peer.publish(&open(1, ECHO_STREAM));
        let reason = stage.end_of_session(from);
        assert!(reason.contains("is not a request"), "{reason}");
        stage.close();
    });
}

#[test]
fn client_death_mid_stream_frees_its_thread() {
    within(GENEROUS, || {
        // One thread: it must come back each time.
        let stage = stage(1);
        for round in 0..20u8 {
            let mut served = None;
            eventually("the stream's thread is free", || {
                let mut peer = client(&stage);
                peer.publish(&open(1, ECHO_STREAM));
                peer.publish(&message(0, 1, &[round]));
                if peer.next_entry().expect("an answer").kind() == kind::MESSAGE {
                    served = Some(peer);
                } else {
                    dies(&stage, peer);
                }
                served.is_some()
            });
            let mut peer = served.expect("it is served");
            if round % 2 == 0 {
                // Its handler is at work, or about to be.
                peer.publish(&message(0, 1, b"the last words"));
            }
            assert_eq!(dies(&stage, peer), "the peer died");
        }
        stage.close();
    });
}

#[test]
fn streams_beyond_threads_are_refused_and_calls_served() {
    within(GENEROUS, || {
        let stage = stage(3);
        let [mut greedy, mut late] = [client(&stage), client(&stage)];
        for stream in [1, 3] {
            greedy.publish(&open(stream, UNREAD));
        }
        assert_eq!(greedy.call(5, 0, b"still here"), b"still here");
        // Two of three are taken, so the last is another client's: not another session's of this.
        late.publish(&open(1, ECHO_STREAM));
        let refused = late.next_entry().expect("an answer");
        assert_eq!((refused.kind(), refused.stream()), (kind::RESET, 1));
        assert_eq!(refused.tag(), 8, "{:?}", ErrorCode::Overloaded);
        late.consume();
        let answer = |stream| Entry { stream, ..Entry::session(kind::RESET, 5, &[]) };
        late.publish(&answer(1));
        assert_eq!(late.call(5, 0, b"still here"), b"still here");
        stage.bystander.goes_on();
        assert_eq!(dies(&stage, greedy), "the peer died");
        // Its handlers end, and their threads are free for other clients.
        let mut stream = 5;
        eventually("the threads are free", || {
            stream += 2;
            late.publish(&open(stream, ECHO_STREAM));
            late.publish(&message(0, stream, b"mine"));
            let is_served = late.next_entry().expect("an answer").kind() == kind::MESSAGE;
            late.consume();
            if !is_served {
                late.publish(&answer(stream));
            }
            is_served
        });
        drop(late);
        stage.close();
    });
}

#[test]
fn unread_stream_stops_only_itself() {
    within(GENEROUS, || {
        let stage = stage(16);
        // It gives nothing back of a window of one message: the second echo waits for ever.
        let mut stuck = Peer::connect_with_streams(stage.path(), Terms::default(), 1);
        stuck.publish(&open(1, ECHO_STREAM));
        for _ in 0..3 {
            stuck.publish(&message(0, 1, b"x"));
        }
        stage.bystander.goes_on();
        let mut other = client(&stage);
        assert_eq!(other.call(1, 0, b"served"), b"served");
        drop(stuck);
        stage.close();
    });
}
