//! Resets of streams, and streams that their application drops.

use super::*;

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
