//! Schedules that show one rule each.

use super::*;

#[test]
fn messages_arrive_in_order_and_then_the_end() {
    let mut pair = Pair::new();
    let (here, there) = pair.open();
    for content in 1..4 {
        pair.client.send(here, message(5), content).unwrap();
    }
    pair.client.send(here, FIN, 0).unwrap();
    assert_eq!(pair.server_receives().len(), 4);
    for content in 1..4 {
        assert_eq!(pair.server.take(there), RecvState::Content(content));
    }
    assert_eq!(pair.server.take(there), RecvState::End);
    assert_eq!(pair.client.send(here, message(1), 9), Err(Refusal::Finished));
}

#[test]
fn half_of_a_stream_stays_open_when_the_other_has_ended() {
    let mut pair = Pair::new();
    let (here, there) = pair.open();
    pair.client.send(here, last(1), 1).unwrap();
    pair.server_receives();
    for content in 0..20 {
        pair.server.send(there, message(30), content).unwrap();
        pair.client_receives();
        assert_eq!(pair.client.take(here), RecvState::Content(content));
        pair.client.settle();
        pair.server_receives();
    }
    pair.server.send(there, FIN, 0).unwrap();
    pair.client_receives();
    assert_eq!(pair.client.take(here), RecvState::End);
    assert_eq!(pair.client.streams().open_count(), 0);
}

#[test]
fn sender_waits_for_window_and_gets_room_event() {
    let mut pair = Pair::new();
    let (here, there) = pair.open();
    for content in 0..4 {
        pair.client.send(here, message(1), content).unwrap();
    }
    assert_eq!(pair.client.send(here, message(1), 4), Err(Refusal::Window));
    pair.server_receives();
    for content in 0..2 {
        assert!(pair.server.streams().next_transmit().is_none());
        assert_eq!(pair.server.take(there), RecvState::Content(content));
    }
    pair.server.settle();
    assert_eq!(pair.client_receives(), [Event::Stream(StreamEvent::Room(here))]);
    pair.client.send(here, message(1), 4).unwrap();
}

#[test]
fn an_end_needs_no_window() {
    let mut pair = Pair::new();
    let (here, _) = pair.open();
    for content in 0..4 {
        pair.client.send(here, message(1), content).unwrap();
    }
    pair.client.send(here, FIN, 0).unwrap();
    assert_eq!(pair.server_receives().len(), 5);
}

#[test]
fn a_message_larger_than_the_window_passes() {
    let mut pair = Pair::new();
    let (here, there) = pair.open();
    for content in 0..10 {
        pair.client.send(here, message(10_000), content).unwrap();
        assert_eq!(pair.client.send(here, message(1), 9), Err(Refusal::Window));
        pair.server_receives();
        assert_eq!(pair.server.take(there), RecvState::Content(content));
        pair.server.settle();
        assert_eq!(pair.client_receives(), [Event::Stream(StreamEvent::Room(here))]);
    }
}

#[test]
fn one_full_stream_stops_no_other() {
    let mut pair = Pair::new();
    let (full, _) = pair.open();
    let (other, there) = pair.open();
    while pair.client.send(full, message(50), 0).is_ok() {}
    for content in 0..10 {
        pair.client.send(other, message(50), content).unwrap();
        pair.server_receives();
        assert_eq!(pair.server.take(there), RecvState::Content(content));
        pair.server.settle();
        pair.client_receives();
    }
}

#[test]
fn either_side_opens_streams_and_no_more_than_allowed() {
    let mut pair = Pair::new();
    for _ in 0..3 {
        pair.client.open(NO_BODY, 0).unwrap();
        pair.server.open(NO_BODY, 0).unwrap();
    }
    assert_eq!(pair.client.open(NO_BODY, 0), Err(TooManyStreams(3)));
    assert_eq!(pair.server.open(NO_BODY, 0), Err(TooManyStreams(3)));
    assert_eq!(pair.server_receives().len(), 3);
    assert_eq!(pair.client_receives().len(), 3);
}

#[test]
fn a_reset_reaches_the_other_side_and_frees_the_stream_on_both() {
    let mut pair = Pair::new();
    let (here, there) = pair.open();
    pair.client.send(here, message(5), 1).unwrap();
    pair.client.streams().reset(here, ErrorCode::Application(3));
    pair.client.settle();
    let code = ErrorCode::Application(3);
    assert_eq!(
        pair.server_receives(),
        [Event::Stream(StreamEvent::Received(there)), Event::Stream(StreamEvent::Reset(there))]
    );
    assert_eq!(pair.server.take(there), RecvState::Reset(code));
    assert_eq!(pair.server.send(there, message(1), 2), Err(Refusal::Reset(code)));
    pair.server.settle();
    pair.server.streams().abandon(there);
    assert_eq!(pair.client_receives(), [Event::Stream(StreamEvent::Nothing)]);
    assert_eq!(pair.client.take(here), RecvState::Reset(code));
    pair.client.streams().abandon(here);
    assert_eq!([pair.client.streams().kept(), pair.server.streams().kept()], [0, 0]);
}

#[test]
fn messages_in_flight_to_reset_stream_are_dropped() {
    let mut pair = Pair::new();
    let (here, there) = pair.open();
    pair.server.send(there, message(5), 1).unwrap();
    pair.server.send(there, FIN, 0).unwrap();
    pair.client.streams().abandon(here);
    pair.client.settle();
    assert_eq!(
        pair.client_receives(),
        [Event::Stream(StreamEvent::Nothing), Event::Stream(StreamEvent::Nothing)]
    );
    assert_eq!(pair.server_receives(), [Event::Stream(StreamEvent::Reset(there))]);
    pair.server.streams().abandon(there);
    assert_eq!([pair.client.streams().kept(), pair.server.streams().kept()], [0, 0]);
}

#[test]
fn reset_behind_last_message_keeps_earlier_ones() {
    let mut pair = Pair::new();
    let (here, there) = pair.open();
    let code = ErrorCode::Cancelled;
    for content in 1..=3 {
        pair.client.send(here, message(5), content).unwrap();
    }
    pair.client.send(here, FIN, 0).unwrap();
    pair.server_receives();
    assert_eq!(pair.server.take(there), RecvState::Content(1));
    pair.client.streams().abandon(here);
    pair.client.settle();
    assert_eq!(pair.server_receives(), [Event::Stream(StreamEvent::Reset(there))]);
    assert_eq!(pair.server.send(there, message(1), 9), Err(Refusal::Reset(code)));
    assert_eq!(pair.server.streams().reset_code(there), Some(code));
    assert_eq!(pair.server.take(there), RecvState::Content(2));
    pair.server.settle();
    assert_eq!(pair.client_receives(), [], "the answer waits for the last message to be taken");
    assert_eq!(pair.server.take(there), RecvState::Content(3));
    pair.server.settle();
    assert_eq!(pair.client_receives(), [Event::Stream(StreamEvent::Nothing)]);
    // The end is read even after the answer has ended the stream.
    assert_eq!(pair.server.take(there), RecvState::End);
    pair.server.streams().abandon(there);
    assert_eq!([pair.client.streams().kept(), pair.server.streams().kept()], [0, 0]);
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
fn own_reset_drops_received_messages() {
    let code = ErrorCode::Cancelled;
    for resets_first in [true, false] {
        let mut pair = Pair::new();
        let (here, there) = pair.open();
        pair.client.send(here, last(5), 1).unwrap();
        if resets_first {
            pair.server.streams().reset(there, code);
        }
        pair.client.streams().abandon(here);
        pair.client.settle();
        pair.server_receives();
        pair.server.streams().reset(there, code);
        assert_eq!(pair.server.take(there), RecvState::Reset(code), "{resets_first}");
    }
}

#[test]
fn resets_that_cross_end_the_stream_once() {
    let mut pair = Pair::new();
    let (here, there) = pair.open();
    pair.client.streams().reset(here, ErrorCode::Cancelled);
    pair.server.streams().reset(there, ErrorCode::Overloaded);
    pair.client.settle();
    pair.server.settle();
    pair.server_receives();
    pair.client_receives();
    pair.client.settle();
    pair.server.settle();
    assert!(pair.client.sent.is_empty() && pair.server.sent.is_empty());
    assert_eq!([pair.client.streams().open_count(), pair.server.streams().open_count()], [0, 0]);
}

#[test]
fn a_reset_that_crosses_the_last_message_is_no_violation() {
    let mut pair = Pair::new();
    let (here, there) = pair.open();
    pair.client.send(here, FIN, 0).unwrap();
    pair.server_receives();
    pair.server.send(there, FIN, 0).unwrap();
    pair.server.streams().abandon(there);
    // The client has not received the end, and resets the stream.
    pair.client.streams().reset(here, ErrorCode::Cancelled);
    pair.client.settle();
    assert_eq!(pair.server_receives(), [Event::Stream(StreamEvent::Nothing)]);
    pair.client_receives();
    pair.client.streams().abandon(here);
    assert_eq!(pair.client.streams().kept(), 0);
}

#[test]
fn a_window_that_crosses_the_last_message_is_no_violation() {
    let mut pair = Pair::new();
    let (here, there) = pair.open();
    for content in 0..4 {
        pair.client.send(here, message(1), content).unwrap();
    }
    pair.server_receives();
    pair.server.take(there);
    pair.server.take(there);
    pair.server.send(there, FIN, 0).unwrap();
    pair.client.send(here, FIN, 0).unwrap();
    pair.client_receives();
    pair.server.settle();
    pair.client_receives();
    pair.server_receives();
}

#[test]
fn a_stream_that_was_let_go_gives_no_window_back() {
    let mut pair = Pair::new();
    let (here, there) = pair.open();
    for content in 0..4 {
        pair.client.send(here, message(1), content).unwrap();
    }
    pair.server_receives();
    pair.server.take(there);
    pair.server.take(there);
    // The window entry is pending, and the ring is full.
    assert!(matches!(pair.server.streams().next_transmit(), Some(Transmit::Window { .. })));
    pair.server.streams().abandon(there);
    assert!(matches!(pair.server.streams().next_transmit(), Some(Transmit::Reset { .. })));
    pair.server.settle();
    let event = Event::Stream(StreamEvent::Reset(here));
    assert_eq!(pair.client_receives(), [event]);
}

#[test]
fn abandoned_stream_with_pending_reset_is_not_counted() {
    let mut pair = Pair::new();
    let (here, there) = pair.open();
    pair.server.send(there, FIN, 0).unwrap();
    pair.server.streams().abandon(there);
    // The reset is pending, and the ring is full. Then the client ends its side.
    pair.client_receives();
    pair.client.send(here, FIN, 0).unwrap();
    for _ in 0..3 {
        pair.client.open(NO_BODY, 0).unwrap();
    }
    assert_eq!(pair.server_receives().len(), 4);
    assert_eq!(pair.server.streams().next_transmit(), None);
}

#[test]
fn metadata_goes_with_the_first_and_the_last_entry() {
    let mut pair = Pair::new();
    let opening = Carried { metadata: true, ..NO_BODY };
    let here = pair.client.open(opening, 1).unwrap();
    pair.client.send(here, message(1), 2).unwrap();
    assert_eq!(pair.client.send(here, opening, 3), Err(Refusal::Metadata));
    pair.client.send(here, Carried { metadata: true, ..FIN }, 4).unwrap();
    pair.server_receives();
    let there = pair.server.accept().unwrap();
    for content in [1, 2, 4] {
        assert_eq!(pair.server.take(there), RecvState::Content(content));
    }
    assert_eq!(pair.server.take(there), RecvState::End);
    pair.server.send(there, opening, 5).unwrap();
    pair.client_receives();
    assert_eq!(pair.client.take(here), RecvState::Content(5));
}

#[test]
fn stream_read_to_its_end_is_finished_by_its_drop() {
    let mut pair = Pair::new();
    let (here, there) = pair.open();
    pair.client.send(here, last(1), 1).unwrap();
    pair.server_receives();
    assert_eq!(pair.server.take(there), RecvState::Content(1));
    assert_eq!(pair.server.take(there), RecvState::End);
    pair.server.streams().abandon(there);
    pair.server.settle();
    assert_eq!(pair.client_receives(), [Event::Stream(StreamEvent::Received(here))]);
    assert_eq!(pair.client.take(here), RecvState::End);
    assert_eq!((pair.server.streams().kept(), pair.client.streams().open_count()), (0, 0));
}

#[test]
fn stream_not_read_to_its_end_is_reset_by_its_drop() {
    for ended in [false, true] {
        let mut pair = Pair::new();
        let (here, there) = pair.open();
        pair.client.send(here, Carried { last: ended, ..message(1) }, 1).unwrap();
        pair.server_receives();
        assert_eq!(pair.server.take(there), RecvState::Content(1));
        pair.server.streams().abandon(there);
        pair.server.settle();
        assert_eq!(pair.client_receives(), [Event::Stream(StreamEvent::Reset(here))]);
        assert_eq!(pair.client.take(here), RecvState::Reset(ErrorCode::Cancelled));
    }
}

#[test]
fn stream_read_by_its_opener_is_reset_by_its_drop() {
    let mut pair = Pair::new();
    let (here, there) = pair.open();
    pair.server.send(there, FIN, 0).unwrap();
    pair.client_receives();
    assert_eq!(pair.client.take(here), RecvState::End);
    pair.client.streams().abandon(here);
    pair.client.settle();
    pair.server_receives();
    assert_eq!(pair.server.take(there), RecvState::Reset(ErrorCode::Cancelled));
}

#[test]
fn reset_behind_a_drop_takes_the_place_of_fin() {
    let mut pair = Pair::new();
    let (here, there) = pair.open();
    pair.client.send(here, FIN, 0).unwrap();
    pair.server_receives();
    assert_eq!(pair.server.take(there), RecvState::End);
    pair.server.streams().abandon(there);
    pair.client.streams().reset(here, ErrorCode::Application(1));
    pair.client.settle();
    pair.server_receives();
    pair.server.settle();
    let head = pair.server.sent.front().unwrap().head;
    assert_eq!((head.kind, head.tag), (Kind::Reset as u8, ErrorCode::Application(1).number()));
    pair.client_receives();
    assert_eq!((pair.server.streams().kept(), pair.client.streams().open_count()), (0, 0));
}

#[test]
fn shutdown_ends_streams_and_keeps_served_calls() {
    let mut pair = Pair::new();
    let (_, there) = pair.open();
    let number = pair.client.call(1).unwrap();
    pair.client.publish_bare(Kind::Shutdown, 0, 0);
    assert_eq!(pair.server_receives(), [Event::Arrived, Event::Shutdown]);
    let connection = &mut pair.server.connection;
    assert!(connection.ending.has_peer_closed() && connection.served.has(number));
    connection.streams.abandon(there);
    assert_eq!((connection.streams.next_transmit(), connection.streams.live_count()), (None, 0));
    assert!(pair.server.take_request().is_some());
}

// ---- violations ----

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

/// Returns a pair whose one-way messages have the window of a stream.
fn with_one_way_window() -> Pair {
    let mut pair = Pair::new();
    pair.client.streams().limit_one_way(WINDOW);
    pair.server.streams().limit_one_way(WINDOW);
    pair
}

#[test]
fn one_way_window_is_granted_again_by_halves() {
    let mut pair = with_one_way_window();
    for _ in 0..4 {
        assert!(pair.client.streams().may_send_one_way());
        pair.client.streams().one_way_sent(1);
        pair.server.streams().receive_one_way(1).unwrap();
    }
    assert!(!pair.client.streams().may_send_one_way());
    pair.server.streams().one_way_ended(1);
    pair.server.settle();
    assert_eq!(pair.client_receives(), []);
    pair.server.streams().one_way_ended(1);
    pair.server.settle();
    assert_eq!(pair.client_receives(), [Event::Stream(StreamEvent::OneWayRoom)]);
    assert!(pair.client.streams().may_send_one_way());
    // The window entries of a stream are sent beside it, each once.
    let (client, server) = pair.open();
    for _ in 0..2 {
        pair.client.send(client, message(1), 0).unwrap();
        pair.client.streams().one_way_sent(1);
        pair.server.streams().receive_one_way(1).unwrap();
    }
    pair.server_receives();
    for _ in 0..2 {
        pair.server.take(server);
        pair.server.streams().one_way_ended(1);
    }
    pair.server.settle();
    assert_eq!(pair.server.sent.len(), 2);
    pair.client_receives();
    assert!(pair.client.streams().may_send_one_way());
}

#[test]
fn one_way_messages_beyond_their_window_are_a_violation() {
    let mut pair = with_one_way_window();
    pair.server.streams().receive_one_way(1_000).unwrap();
    assert_eq!(pair.server.streams().receive_one_way(0), Err(StreamViolation::WindowExceeded));
    let given = Window { messages: 1, bytes: 0 };
    assert_eq!(
        pair.client.streams().receive_window(0, given),
        Err(StreamViolation::WindowOverflow(given)),
        "nothing was sent"
    );
    let mut without = Pair::new();
    for _ in 0..1_000 {
        assert!(without.client.streams().may_send_one_way());
        without.client.streams().one_way_sent(1_000);
        without.server.streams().receive_one_way(1_000).unwrap();
    }
    assert_eq!(
        without.client.streams().receive_window(0, given),
        Err(StreamViolation::NotOpen(0)),
        "the number has no window"
    );
}
