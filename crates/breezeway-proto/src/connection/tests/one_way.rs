//! The window of one-way messages.

use super::*;

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
