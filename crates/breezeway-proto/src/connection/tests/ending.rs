//! Ends of sessions: each stage, and the steps from one to the next.

use super::*;
use crate::Head;

const DEADLINE: Time = Time::from_ticks(1000);
const BEFORE: Time = Time::from_ticks(999);

fn ending() -> Ending<&'static str> {
    Ending::new(true, LINGER)
}

/// Returns endings in each stage that has a reason: last replies, closing before and behind the
/// shutdown, and over.
fn stages() -> [(&'static str, Ending<&'static str>); 4] {
    let [mut replies, mut closing, mut sent, mut over] = [(); 4].map(|()| ending());
    assert!(replies.begin_last_replies("first"));
    assert!(closing.close("first", DEADLINE, 0));
    assert!(sent.close("first", DEADLINE, 0));
    sent.transmitted();
    assert!(over.end("first", false));
    [("replies", replies), ("closing", closing), ("sent", sent), ("over", over)]
}

/// Returns a server with a call that was not taken.
fn server_with_call() -> (Pair, u32) {
    let mut pair = Pair::new();
    let call = pair.client.call(0).unwrap();
    pair.server_receives();
    (pair, call)
}

/// Returns a server that serves a call.
fn server_of_call() -> (Pair, u32) {
    let (mut pair, call) = server_with_call();
    pair.server.take_request().expect("a request came");
    (pair, call)
}

/// Keeps a reply that waits for a slot.
fn keep_reply(server: &mut End, call: u32) {
    server.connection.served.end(call);
    let head = Head::of_reply(call);
    server.connection.backlog.push(head, ((), 5), Lack::Slot, Time::NEVER, BEFORE);
}

fn send_replies(server: &mut End) {
    let backlog = &mut server.connection.backlog;
    backlog.begin_pass();
    while backlog.next_transmit().is_some() {
        backlog.attempted(Attempt::Sent, BEFORE);
    }
}

#[test]
fn each_stage_allows_its_transmits() {
    let open = ending();
    assert!(open.may_begin() && open.may_send() && !open.is_ended() && !open.has_begun());
    assert_eq!((open.reason(), open.next_transmit()), (None, None));
    let shutdown = Some(Kind::Shutdown);
    let expected = [
        (false, true, None, None),
        (true, true, shutdown, Some(DEADLINE)),
        (true, false, None, Some(DEADLINE)),
        (true, false, None, None),
    ];
    for ((stage, ending), (is_ended, may_send, transmit, closes_until)) in
        stages().into_iter().zip(expected)
    {
        assert!(ending.has_begun() && !ending.may_begin(), "{stage}");
        assert_eq!(ending.reason(), Some(&"first"), "{stage}");
        assert_eq!(ending.is_ended(), is_ended, "{stage}");
        assert_eq!(ending.serves_last_replies(), !is_ended, "{stage}");
        assert_eq!(ending.may_send(), may_send, "{stage}");
        assert_eq!(ending.next_transmit(), transmit, "{stage}");
        assert_eq!(ending.poll_timeout(), Time::NEVER, "{stage}");
        assert_eq!(ending.closes_until(), closes_until, "{stage}");
    }
}

#[test]
fn only_last_replies_go_on_to_another_end() {
    type End = fn(&mut Ending<&'static str>) -> bool;
    let ends: [(End, &str); 4] = [
        (|ending| ending.end("second", false), "first"),
        (|ending| ending.end("second", true), "second"),
        (|ending| ending.close("second", DEADLINE, 0), "first"),
        (|ending| ending.begin_last_replies("second"), "first"),
    ];
    for (number, (end, reason)) in ends.into_iter().enumerate() {
        for (stage, mut ending) in stages() {
            let goes_on = stage == "replies" && number < 3;
            assert_eq!(end(&mut ending), goes_on, "{stage} {number}");
            let reason = if goes_on { reason } else { "first" };
            assert_eq!(ending.reason(), Some(&reason), "{stage} {number}");
            assert_eq!(ending.is_ended(), stage != "replies" || goes_on, "{stage} {number}");
        }
    }
}

#[test]
fn second_close_shortens_the_closing_and_nothing_else() {
    for (stage, mut ending) in stages() {
        let before = (ending.next_transmit(), ending.closes_until().is_some());
        ending.close("second", Time::NEVER, 0);
        ending.close("second", BEFORE, 0);
        assert_eq!(ending.closes_until(), (stage != "over").then_some(BEFORE), "{stage}");
        if stage != "replies" {
            let after = (ending.next_transmit(), ending.closes_until().is_some());
            assert_eq!(after, before, "{stage}");
        }
    }
}

#[test]
fn closing_that_is_over_sends_nothing() {
    for (stage, mut ending) in stages() {
        ending.end_closing();
        let serves = stage == "replies";
        assert_eq!((ending.is_ended(), ending.may_send()), (!serves, serves), "{stage}");
        assert!(ending.next_transmit().is_none() && ending.closes_until().is_none(), "{stage}");
    }
}

#[test]
fn peers_shutdown_is_not_answered_by_another() {
    let mut ending = ending();
    ending.peer_closed();
    assert!(ending.begin_last_replies("closed") && ending.close("here", DEADLINE, 0));
    assert_eq!(ending.next_transmit(), None);
    assert!(ending.may_send(), "requests that were not begun are refused");
}

#[test]
fn go_away_is_sent_once_to_a_client_that_takes_it() {
    let mut plain = Ending::<()>::new(false, LINGER);
    plain.go_away();
    assert!(plain.drain(DEADLINE));
    assert_eq!(plain.next_transmit(), None);
    let mut ending = ending();
    assert_eq!(ending.next_transmit(), None, "it was not asked for");
    for _ in 0..2 {
        ending.go_away();
        assert_eq!(ending.next_transmit(), Some(Kind::GoAway));
    }
    ending.transmitted();
    ending.go_away();
    assert!(ending.drain(DEADLINE));
    assert_eq!(ending.next_transmit(), None, "it was sent");
}

#[test]
fn go_away_without_room_is_not_sent_behind_the_end() {
    type End = fn(&mut Ending<&'static str>) -> bool;
    let ends: [(End, Option<Kind>); 3] = [
        (|ending| ending.end("over", false), None),
        (|ending| ending.begin_last_replies("over"), None),
        (|ending| ending.close("over", DEADLINE, 0), Some(Kind::Shutdown)),
    ];
    for (end, transmit) in ends {
        let mut ending = ending();
        ending.go_away();
        assert!(end(&mut ending));
        assert_eq!(ending.next_transmit(), transmit);
        ending.transmitted();
        assert_eq!(ending.next_transmit(), None);
    }
}

#[test]
fn peers_go_away_ends_nothing() {
    let mut ending = ending();
    ending.peer_goes_away();
    assert!(ending.is_going_away() && !ending.may_begin() && !ending.has_begun());
    assert!(ending.end("over", false) && ending.is_going_away());
}

#[test]
fn drain_is_shortened_and_neither_lengthened_nor_begun_again() {
    let mut ending = ending();
    for deadline in [DEADLINE, Time::NEVER, BEFORE, DEADLINE] {
        assert!(ending.drain(deadline));
    }
    assert_eq!(ending.poll_timeout(), BEFORE);
    ending.cut_drain();
    assert!(!ending.drain(DEADLINE) && ending.has_drained());
    assert_eq!(ending.poll_timeout(), Time::NEVER);
}

#[test]
fn drain_goes_on_while_anything_is_left() {
    type Leave = fn(&mut Pair);
    let left: [(&str, Leave); 8] = [
        ("nothing", |_| ()),
        ("an arrival", |pair| {
            pair.client.call(0);
            pair.server_receives();
        }),
        ("a call", |pair| *pair = server_of_call().0),
        ("a one-way message", |pair| {
            pair.client.post(1, 0);
            pair.server_receives();
            assert!(pair.server.connection.take_arrival().is_some());
        }),
        ("a stream", |pair| {
            pair.open();
        }),
        ("a reply", |pair| keep_reply(&mut pair.server, 1)),
        ("entries", |_| ()),
        ("go-away", |_| ()),
    ];
    for (name, leave) in left {
        for has_unwritten in [false, true] {
            let mut pair = Pair::new();
            leave(&mut pair);
            let server = &mut pair.server.connection;
            assert!(!server.step_drain(false, DEADLINE), "it does not drain");
            assert!(server.ending.drain(DEADLINE));
            if name != "go-away" {
                server.ending.transmitted();
            }
            server.turn_taken(usize::from(name == "entries"), name != "entries");
            let is_done = name == "nothing" && !has_unwritten;
            assert_eq!(server.step_drain(has_unwritten, BEFORE), is_done, "{name}");
            assert_eq!(server.step_drain(has_unwritten, DEADLINE), !is_done, "{name}: late");
            assert!(!server.step_drain(false, DEADLINE), "{name}: again");
        }
    }
}

/// Lets a server drain, in a turn that finds nothing.
fn drain(server: &mut End) {
    assert!(server.connection.ending.drain(DEADLINE));
    server.connection.ending.transmitted();
    server.connection.turn_taken(0, true);
}

#[test]
fn closing_takes_as_many_last_entries_as_a_ring_holds() {
    const RING: usize = 64;
    for (turns, drains, expected) in [
        (&[RING - 1][..], true, true),
        (&[RING - 1], false, false),
        (&[RING - 1, 1], true, false),
        (&[1, 0], true, false),
    ] {
        let mut server = Pair::new().server.connection;
        if drains {
            server.ending.cut_drain();
        }
        assert!(!server.ending.takes_last_entries(), "it is open");
        server.ending.close((), BEFORE, RING);
        for &taken in turns {
            server.turn_taken(taken, taken == 0);
        }
        assert_eq!(server.ending.takes_last_entries(), expected, "{turns:?}");
    }
}

#[test]
fn drain_awaits_entries_behind_a_flood() {
    let mut pair = Pair::with(StreamTerms::NONE, StreamTerms::NONE);
    assert!(pair.client.post(1_000, 0));
    pair.server_receives();
    assert!(pair.server.connection.is_flooded());
    drain(&mut pair.server);
    let server = &mut pair.server.connection;
    assert!(server.take_arrival().is_some());
    server.one_way_ended(1_000);
    assert!(!server.step_drain(false, BEFORE), "no turn has looked behind the message");
    server.turn_taken(0, true);
    assert!(server.step_drain(false, BEFORE));
}

#[test]
fn drain_awaits_a_turn_behind_the_last_reply() {
    let (mut pair, call) = server_of_call();
    keep_reply(&mut pair.server, call);
    drain(&mut pair.server);
    send_replies(&mut pair.server);
    let server = &mut pair.server.connection;
    assert!(!server.step_drain(false, BEFORE), "no turn has followed the reply");
    server.turn_taken(0, true);
    assert!(server.step_drain(false, BEFORE));
}

#[test]
fn drain_of_ended_session_serves_earlier_calls() {
    let (mut pair, _) = server_with_call();
    let server = &mut pair.server.connection;
    assert!(server.ending.drain(DEADLINE) && server.ending.end((), false));
    assert!(!server.step_drain(false, BEFORE), "a call is there");
    assert!(server.take_refused().is_none() && server.take_arrival().is_some());
    assert!(server.step_drain(false, BEFORE));
}

#[test]
fn drain_of_closing_session_refuses_earlier_calls() {
    let (mut pair, call) = server_with_call();
    let server = &mut pair.server.connection;
    assert!(server.ending.drain(DEADLINE) && server.ending.close((), DEADLINE, 0));
    assert!(server.step_drain(true, BEFORE));
    assert_eq!(server.take_refused(), Some((call, None)));
}

#[test]
fn requests_behind_the_drain_are_refused_and_counted() {
    let (mut pair, call) = server_with_call();
    assert!(pair.client.post(5, 0));
    let stream = pair.client.open(NO_BODY, 0).unwrap();
    pair.server_receives();
    let server = &mut pair.server.connection;
    assert!(server.take_refused().is_none(), "it does not drain");
    server.ending.drain(DEADLINE);
    assert!(server.take_refused().is_none(), "there is time");
    server.ending.cut_drain();
    assert_eq!(server.take_refused(), Some((call, None)));
    assert!(server.take_refused().is_none() && server.arrivals.is_empty());
    let refused = server.ending.refused();
    assert_eq!((refused.calls, refused.one_way), (1, 1));
    pair.server.settle();
    pair.client_receives();
    assert!(matches!(pair.client.take(stream), RecvState::Reset(ErrorCode::Refused)));
}

#[test]
fn nothing_is_refused_behind_the_own_shutdown() {
    let (mut pair, _) = server_with_call();
    let server = &mut pair.server.connection;
    server.ending.cut_drain();
    server.ending.close((), DEADLINE, 0);
    server.ending.transmitted();
    assert!(server.take_refused().is_none());
}

#[test]
fn stream_entries_are_not_sent_behind_the_end() {
    type End = fn(&mut Ending<()>);
    let ends: [(&str, bool, End); 4] = [
        ("open", true, |_| ()),
        ("closing", true, |ending| assert!(ending.close((), DEADLINE, 0))),
        ("shutdown", false, |ending| {
            ending.close((), DEADLINE, 0);
            ending.transmitted();
        }),
        ("over", false, |ending| assert!(ending.end((), false))),
    ];
    for (name, may_send, end) in ends {
        let mut pair = Pair::new();
        let (_, key) = pair.open();
        let server = &mut pair.server.connection;
        end(&mut server.ending);
        server.streams.reset(key, ErrorCode::Refused);
        assert_eq!(server.next_transmit().is_some(), may_send, "{name}");
    }
}

#[test]
fn drained_session_is_never_flooded() {
    let mut pair = Pair::with(StreamTerms::NONE, StreamTerms::NONE);
    assert!(pair.client.post(1_000, 0));
    pair.server_receives();
    let server = &mut pair.server.connection;
    assert!(server.is_flooded() && !server.takes_entries());
    server.ending.cut_drain();
    assert!(!server.is_flooded() && server.takes_entries());
}

#[test]
fn last_replies_end_with_the_last_or_a_client_that_is_gone() {
    let (mut pair, call) = server_of_call();
    let over = |end: &mut End, sent, unwritten, is_gone| {
        end.connection.step_last_replies(sent, unwritten, is_gone, DEADLINE)
    };
    assert!(!over(&mut pair.server, false, 0, true), "the client has not closed");
    assert!(pair.server.connection.ending.begin_last_replies(()));
    assert!(!over(&mut pair.server, false, 0, false), "a call is served");
    assert!(over(&mut pair.server, false, 0, true), "nobody takes its reply");
    keep_reply(&mut pair.server, call);
    assert!(!over(&mut pair.server, false, 0, true), "a reply waits");
    send_replies(&mut pair.server);
    assert!(!over(&mut pair.server, true, 7, false), "the socket has not taken it");
    assert!(over(&mut pair.server, false, 0, false));
}

#[test]
fn last_replies_wait_for_a_client_only_while_it_takes_some() {
    let at = Time::from_ticks;
    let (mut pair, call) = server_of_call();
    keep_reply(&mut pair.server, call);
    let server = &mut pair.server.connection;
    assert!(server.ending.begin_last_replies(()));
    for (sent, unwritten, now, timeout) in [
        (false, 0, 10, 110),
        (false, 50, 109, 110),
        (true, 50, 109, 209),
        (false, 50, 150, 209),
        (false, 49, 208, 308),
        (false, 60, 307, 308),
    ] {
        assert!(!server.step_last_replies(sent, unwritten, false, at(now)), "{now}");
        assert_eq!(server.poll_timeout(), at(timeout), "{now}");
    }
    assert!(server.step_last_replies(false, 60, false, at(308)));
}

#[test]
fn last_replies_end_at_their_limit_although_the_client_takes_some() {
    let at = Time::from_ticks;
    let (mut pair, call) = server_of_call();
    keep_reply(&mut pair.server, call);
    let server = &mut pair.server.connection;
    assert!(server.ending.begin_last_replies(()));
    server.ending.limit_last_replies(at(250));
    for (now, timeout) in [(10, 110), (100, 200), (200, 250), (249, 250)] {
        assert!(!server.step_last_replies(true, 0, false, at(now)), "{now}");
        assert_eq!(server.poll_timeout(), at(timeout), "{now}");
    }
    assert!(server.step_last_replies(true, 0, false, at(250)));
}

#[test]
fn requests_are_awaited_behind_the_shutdown_while_some_may_come() {
    let (mut pair, _) = server_with_call();
    let server = &mut pair.server.connection;
    assert!(!server.awaits_last_arrivals(), "the client has not closed");
    assert!(server.ending.begin_last_replies(()) && server.awaits_last_arrivals());
    server.take_arrival();
    assert!(!server.awaits_last_arrivals());
    server.ending.drain(DEADLINE);
    assert!(server.awaits_last_arrivals(), "until the drain is over");
    server.ending.end((), false);
    assert!(!server.awaits_last_arrivals());
}
