//! Violations of the rules of streams.

use super::*;

fn violation(pair: &mut Pair, wire: Wire) -> StreamViolation {
    match pair.server.receive(wire) {
        Err(Violation::Stream(violation)) => violation,
        other => panic!("{other:?}"),
    }
}

fn sent(number: u32, opening: bool, carried: Carried) -> Wire {
    let mut sender = Pair::new().client;
    let flags = if opening { Flags::OPEN.with(Flags::STREAM) } else { Flags::NONE };
    sender.publish_message(number, flags, carried, 0);
    sender.sent.remove(0).unwrap()
}

fn reset(number: u32, code: ErrorCode) -> Wire {
    let mut sender = Pair::new().client;
    sender.publish_bare(Kind::Reset, number, code.number());
    sender.sent.remove(0).unwrap()
}

fn window(number: u32, consumed: Window) -> Wire {
    let mut sender = Pair::new().client;
    let body = Sent::Bytes(consumed.bytes.to_le_bytes());
    sender.publish(Kind::Window, number, consumed.messages, Flags::NONE, body);
    sender.sent.remove(0).unwrap()
}

#[test]
fn streams_are_opened_on_the_peers_free_numbers_only() {
    let mut pair = Pair::new();
    pair.open();
    for number in [0, 2, 1, u32::MAX - 1] {
        let found = violation(&mut pair, sent(number, true, NO_BODY));
        assert_eq!(found, StreamViolation::Number(number));
    }
}

#[test]
fn more_streams_than_allowed_are_a_violation() {
    let mut pair = Pair::new();
    for number in [1, 3, 5] {
        pair.server.receive(sent(number, true, NO_BODY)).unwrap();
    }
    let found = violation(&mut pair, sent(7, true, NO_BODY));
    assert_eq!(found, StreamViolation::TooMany(3));
}

#[test]
fn reset_stream_counts_while_messages_are_untaken() {
    let code = ErrorCode::Cancelled;
    let mut pair = Pair::new();
    let mut kept = Vec::new();
    for number in [1, 3, 5] {
        pair.server.receive(sent(number, true, last(5))).unwrap();
        kept.push(pair.server.accept().unwrap());
        pair.server.receive(reset(number, code)).unwrap();
        pair.server.settle();
    }
    assert!(pair.server.sent.is_empty(), "{:?}", pair.server.sent);
    for (number, expected) in [(1, StreamViolation::Number(1)), (7, StreamViolation::TooMany(3))] {
        assert_eq!(violation(&mut pair, sent(number, true, last(5))), expected);
    }
    // Taking, resetting and abandoning each make room.
    pair.server.take(kept[0]);
    pair.server.streams().reset(kept[1], ErrorCode::Overloaded);
    pair.server.streams().abandon(kept[2]);
    pair.server.settle();
    assert_eq!(pair.server.sent.len(), 3);
    assert_eq!(pair.server.streams().open_count(), 0);
    for key in &kept[..2] {
        pair.server.streams().abandon(*key);
    }
    assert_eq!(pair.server.streams().kept(), 0);
}

#[test]
fn messages_on_streams_that_are_not_open_are_a_violation() {
    let mut pair = Pair::new();
    for number in [0, 1, 2, 99] {
        let found = violation(&mut pair, sent(number, false, message(1)));
        assert_eq!(found, StreamViolation::NotOpen(number));
    }
    for wire in [window(0, Window::default()), reset(0, ErrorCode::Cancelled)] {
        assert_eq!(violation(&mut pair, wire), StreamViolation::NotOpen(0));
    }
}

#[test]
fn nothing_follows_the_last_message_or_a_reset() {
    let mut pair = Pair::new();
    let (here, _) = pair.open();
    pair.client.send(here, FIN, 0).unwrap();
    pair.server_receives();
    let found = violation(&mut pair, sent(1, false, message(1)));
    assert_eq!(found, StreamViolation::AfterEnd(1));
    let reset = reset(1, ErrorCode::Cancelled);
    pair.server.receive(reset.clone()).unwrap();
    assert_eq!(violation(&mut pair, reset), StreamViolation::AfterEnd(1));
}

#[test]
fn a_message_beyond_the_window_is_a_violation() {
    for lens in [&[0, 0, 0, 0, 0][..], &[99, 1, 0], &[usize::MAX, 0]] {
        let mut pair = Pair::new();
        pair.open();
        let (past, within) = lens.split_last().unwrap();
        for &len in within {
            pair.server.receive(sent(1, false, message(len))).unwrap();
        }
        let found = violation(&mut pair, sent(1, false, message(*past)));
        assert_eq!(found, StreamViolation::WindowExceeded);
    }
}

#[test]
fn a_window_that_was_not_taken_is_a_violation() {
    let mut pair = Pair::new();
    pair.open();
    let consumed = Window { messages: 1, bytes: 0 };
    let found = violation(&mut pair, window(1, consumed));
    assert_eq!(found, StreamViolation::WindowOverflow(consumed));
}

#[test]
fn entries_without_a_message_belong_at_the_ends_of_a_direction() {
    let mut pair = Pair::new();
    pair.open();
    assert_eq!(
        violation(&mut pair, sent(1, false, NO_BODY)),
        StreamViolation::Flags(Flags::EMPTY.bits())
    );
}
