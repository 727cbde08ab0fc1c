//! Order, windows and openings of streams: schedules that show one rule each.

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
