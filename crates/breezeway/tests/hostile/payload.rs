//! Payload, and entries, that change while they are read: torn bytes may come out, but nothing
//! else.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use breezeway::unstable::broken_rule;
use breezeway::{
    Call, CallError, ExclusiveServerSession, ExclusiveSession, SessionError, Violation,
};
use breezeway_adversary::native::layout::{control, entry, kind};
use breezeway_adversary::native::{Descriptor, Entry, Peer, Terms};
use breezeway_adversary::{Shared, while_flipping};
use breezeway_shm::Violation as MemoryViolation;

use super::service::{ECHO, INSIDE, INSPECT, inspect_inside};
use super::stage::{Stage, called, options, served};
use super::watchdog::{GENEROUS, within};

/// Byte that fills the segment around a payload.
const OUTSIDE: u8 = 0xcc;
const SIZE: usize = 256 * 1024;

/// Places of payloads: at both ends of the segment, at odd offsets, the whole. No memory lies
/// beyond the last page.
const PLACES: [(usize, usize); 9] = [
    (0, 1),
    (SIZE - 1, 1),
    (SIZE - 105, 105),
    (4095, 2),
    (4097, 63),
    (SIZE - 5_001, 5_001),
    (1, 4_095),
    (777, 70_001),
    (SIZE - 100_000, 100_000),
];

/// Keeps changing the bytes of a payload between the two values, a piece at a time, and twice in a
/// row to tear words.
fn rewrite(shared: &Shared, (offset, len): (usize, usize), round: u64) {
    let piece = len.div_ceil(16);
    let start = offset + (round as usize % 16) * piece;
    let end = (start + piece).min(offset + len);
    if start < end {
        shared.fill(start..end, INSIDE[(round / 16) as usize % 2]);
    }
}

fn prepare(shared: &Shared, (offset, len): (usize, usize)) -> Descriptor {
    shared.fill(0..SIZE, OUTSIDE);
    shared.fill(offset..offset + len, INSIDE[0]);
    Descriptor { segment: 0, lend: 0, offset: offset as u64, len: len as u64 }
}

#[test]
fn changing_request_yields_only_its_own_bytes() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let mut peer = Peer::connect(stage.path(), Terms::default());
        let shared = peer.add_segment(SIZE);
        let mut torn = 0;
        let mut stream = 1;
        for place in PLACES {
            let descriptor = prepare(&shared, place);
            while_flipping(&[&|round| rewrite(&shared, place, round)], || {
                for _ in 0..2 {
                    peer.publish(&Entry::request(stream, INSPECT, &[]).lending(descriptor));
                    let reply = peer.next_message().expect("no rule was broken");
                    assert_eq!(
                        (reply.stream(), reply.flags()),
                        (stream, breezeway_adversary::native::layout::flag::FIN)
                    );
                    torn += u64::from_le_bytes(reply.body().try_into().unwrap());
                    stream += 2;
                }
                // The server's own copy, past its caches where it is large.
                peer.publish(&Entry::request(stream, ECHO, &[]).lending(descriptor));
                let reply = peer.next_message().expect("no rule was broken");
                let bytes = peer.bytes(&reply);
                assert_eq!(bytes.len(), place.1);
                assert!(bytes.iter().all(|byte| INSIDE.contains(byte)));
                if let Some(descriptor) = reply.descriptor() {
                    peer.release(descriptor.lend);
                }
                stream += 2;
            });
            stage.bystander.goes_on();
        }
        assert!(torn > 0, "the attack did not even tear a copy");
        stage.close();
    });
}

#[test]
fn changing_reply_yields_only_its_own_bytes() {
    within(GENEROUS, || {
        let torn = called(
            options(),
            Terms::default(),
            |peer| {
                let shared = peer.add_segment(SIZE);
                for place in PLACES {
                    let descriptor = prepare(&shared, place);
                    let request = peer.next_message().unwrap();
                    while_flipping(&[&|round| rewrite(&shared, place, round)], || {
                        peer.publish(&Entry::reply(request.stream(), &[]).lending(descriptor));
                        // Until the client has read: its next request comes after that.
                        let next = peer.next_message().unwrap();
                        peer.publish(&Entry::reply(next.stream(), b"next"));
                    });
                }
            },
            |session| {
                let mut torn = 0;
                for (_, len) in PLACES {
                    let reply = session.call(ECHO, b"ping").unwrap();
                    assert_eq!(reply.bytes().len(), len);
                    torn += inspect_inside(reply.bytes());
                    drop(reply);
                    assert_eq!(session.call(ECHO, b"next").unwrap().to_vec(), b"next");
                }
                torn
            },
        );
        assert!(torn > 0, "the attack did not even tear a copy");
    });
}

#[test]
fn retired_segment_stays_until_its_message_is_done() {
    within(GENEROUS, || {
        let (hostile, honest) = std::os::unix::net::UnixStream::pair().unwrap();
        let (reading, has_begun) = channel();
        let (proceed, go_on) = channel::<()>();
        let go_on = std::sync::Mutex::new(go_on);
        let reading = std::sync::Mutex::new(reading);
        let serving = thread::spawn(move || {
            let session = ExclusiveServerSession::from_socket(honest.into(), &options()).unwrap();
            session.serve(&move |call: Call<'_>| {
                let half = call.request().len() / 2;
                let first = call.request().slice(..half).to_vec();
                reading.lock().unwrap().send(())?;
                go_on.lock().unwrap().recv()?;
                let second = call.request().slice(half..).to_vec();
                assert!(first.iter().chain(&second).all(|&byte| byte == INSIDE[0]));
                call.reply(b"read")
            })
        });
        let mut peer = Peer::client(hostile.into(), Terms::default());
        let shared = peer.add_segment(SIZE);
        let descriptor = prepare(&shared, (0, SIZE));
        peer.publish(&Entry::request(1, ECHO, &[]).lending(descriptor));
        has_begun.recv().unwrap();
        peer.publish(&Entry::segment_retire(0));
        // This side drops the segment of the message.
        peer.payload.clear();
        drop(shared);
        proceed.send(()).unwrap();
        assert_eq!(peer.next_message().unwrap().body(), b"read");
        peer.publish(&Entry::request(3, ECHO, &[]).lending(descriptor));
        peer.wait_for_end();
        let outcome = serving.join().unwrap();
        let Err(SessionError::Violation(Violation::Memory(violation))) = outcome else {
            panic!("{outcome:?}")
        };
        assert!(
            matches!(broken_rule(&violation), MemoryViolation::UnknownSegment(0)),
            "{violation:?}"
        );
    });
}

/// Keeps changing the inline length of every entry in the ring.
fn flip_lengths(own: &Shared, capacity: u32, lengths: &[u16], round: u64) {
    let len = lengths[(round / u64::from(capacity)) as usize % lengths.len()].to_le_bytes();
    let slot = control::RING_AT + entry::SIZE * (round % u64::from(capacity)) as usize;
    own.store_byte(slot + 10, len[0]);
    own.store_byte(slot + 11, len[1]);
}

/// Some of them are too long, whole or torn.
const WRONG: [u16; 8] = [8, 105, 40, 0xffff, 41, 104, 0, 8];
/// All of them are in order, so that a session lasts.
const RIGHT: [u16; 6] = [8, 41, 40, 104, 0, 104];

/// Returns a body that identifies its entry.
fn numbered(position: u64) -> [u8; entry::BODY_MAX] {
    [position as u8; entry::BODY_MAX]
}

/// Calls while the lengths of its requests change; every reply is a beginning of the request as it
/// was at one moment.
fn call_while_lengths_change(peer: &mut Peer, lengths: &[u16], calls: u64) {
    let own = Arc::clone(&peer.ring.shared);
    let capacity = peer.terms.ring_capacity;
    while_flipping(&[&|round| flip_lengths(&own, capacity, lengths, round)], || {
        while peer.ring.tail < calls {
            let body = numbered(peer.ring.tail);
            peer.publish(&Entry::request(1, ECHO, &body));
            let Some(reply) = peer.next_message() else { return };
            assert_eq!(reply.kind(), kind::MESSAGE);
            // A second look at the length would give bytes that were not copied with this entry.
            assert!(body.starts_with(reply.body()), "{:?}", reply.body());
        }
    });
    // The lengths are still now: the end in order is one.
    peer.publish(&Entry::session(kind::SHUTDOWN, 0, &[]));
}

#[test]
fn changing_inline_length_is_read_once_by_server() {
    within(GENEROUS, || {
        let stage = Stage::set();
        for _ in 0..10 {
            let attack = |peer: &mut Peer| call_while_lengths_change(peer, &WRONG, 2_000);
            match served(options(), Terms::default(), attack) {
                Ok(()) => {}
                Err(SessionError::Violation(Violation::Memory(violation)))
                    if matches!(
                        broken_rule(&violation),
                        MemoryViolation::InlineLength { len, .. } if *len > entry::BODY_MAX
                    ) => {}
                other => panic!("{other:?}"),
            }
            let mut peer = Peer::connect(stage.path(), Terms::default());
            attack(&mut peer);
            stage.bystander.goes_on();
        }
        stage.close();
        let attack = |peer: &mut Peer| call_while_lengths_change(peer, &RIGHT, 10_000);
        let outcome = served(options(), Terms::default(), attack);
        assert!(outcome.is_ok(), "{outcome:?}");
    });
}

/// Answers while the lengths of its replies change.
fn answer_while_lengths_change(peer: &mut Peer, lengths: &[u16]) {
    let own = Arc::clone(&peer.ring.shared);
    let capacity = peer.terms.ring_capacity;
    while_flipping(&[&|round| flip_lengths(&own, capacity, lengths, round)], || {
        while let Some(request) = peer.next_message() {
            peer.publish(&Entry::reply(request.stream(), &numbered(peer.ring.tail)));
        }
    });
}

fn call_and_look(session: &mut ExclusiveSession, calls: u64) -> Result<(), CallError> {
    for position in 0..calls {
        let reply = session.call(ECHO, b"ping")?;
        let slice = reply.bytes().as_slice().expect("a private copy");
        assert!(numbered(position).starts_with(slice), "{slice:?}");
        assert_eq!(reply.to_vec(), slice);
    }
    Ok(())
}

#[test]
fn changing_inline_length_is_read_once_by_client() {
    within(GENEROUS, || {
        for _ in 0..10 {
            let attack = |peer: &mut Peer| answer_while_lengths_change(peer, &WRONG);
            let usage = |session: &mut ExclusiveSession| call_and_look(session, 1_000);
            match called(options(), Terms::default(), attack, usage) {
                Ok(()) => {}
                Err(CallError::Violation(Violation::Memory(violation)))
                    if matches!(broken_rule(&violation), MemoryViolation::InlineLength { .. }) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        let attack = |peer: &mut Peer| answer_while_lengths_change(peer, &RIGHT);
        let usage = |session: &mut ExclusiveSession| call_and_look(session, 10_000);
        called(options(), Terms::default(), attack, usage).expect("no length was wrong");
    });
}
