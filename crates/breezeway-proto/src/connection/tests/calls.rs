//! Calls and one-way messages: schedules that show one rule each, and random ones beside a model.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::Head;
use crate::violation::CallViolation;

fn request_of(pair: &mut Pair) -> Request {
    pair.server_receives();
    pair.server.take_request().expect("a request came").0
}

#[test]
fn calls_are_answered_in_any_order_to_their_waiters() {
    let mut pair = Pair::new();
    let calls: Vec<_> = (0..3).map(|content| pair.client.call(content).unwrap()).collect();
    for (waiter, &call) in calls.iter().enumerate() {
        *pair.client.connection.calls.waiter(call).unwrap() = Some(waiter as u32);
    }
    assert_eq!(pair.server_receives(), [Event::Arrived, Event::Arrived, Event::Arrived]);
    for (content, &call) in (0..).zip(&calls) {
        let (request, came) = pair.server.take_request().unwrap();
        assert_eq!((request.stream, request.method, came), (call, METHOD, content));
    }
    for (call, content) in [(2, 22), (0, 20), (1, 21)] {
        pair.server.reply(calls[call], content, None);
        assert_eq!(pair.client_receives(), [Event::Answered(Some(call as u32))]);
        let answer = pair.client.connection.calls.take(calls[call]).unwrap().unwrap();
        assert_eq!(answer.content, content);
    }
    assert_eq!(pair.server.connection.served.len(), 0);
}

#[test]
fn failed_call_has_code_and_reason() {
    let mut pair = Pair::new();
    let call = pair.client.call(1).unwrap();
    request_of(&mut pair);
    pair.server.reply(call, 99, Some(ErrorCode::Overloaded));
    pair.client_receives();
    let answer = pair.client.connection.calls.take(call).unwrap();
    assert_eq!(answer, Err((ErrorCode::Overloaded, "99".to_owned())));
}

#[test]
fn calls_in_flight_include_those_given_up() {
    let mut pair = Pair::new();
    let calls: Vec<_> = (0..4).map(|content| pair.client.call(content).unwrap()).collect();
    assert_eq!(pair.client.call(4), None);
    assert_eq!(pair.client.connection.calls.give_up(calls[0]), Some(None));
    assert_eq!(pair.client.call(4), None, "its reply is to come");
    pair.server_receives();
    pair.server.reply(calls[0], 9, None);
    assert_eq!(pair.client_receives(), [Event::Answered(None)]);
    assert!(pair.client.call(4).is_some());
}

#[test]
fn number_in_use_is_skipped() {
    let mut pair = Pair::new();
    let call = pair.client.call(0).unwrap();
    let stream = pair.client.connection.next_number();
    pair.client.open(NO_BODY, 0).unwrap();
    // The numbers wrap around.
    for used in [call, stream] {
        pair.client.connection.renumber(used);
        assert_eq!(pair.client.connection.next_number(), stream + 2);
    }
    pair.server.connection.renumber(u32::MAX - 1);
    pair.server.open(NO_BODY, 0).unwrap();
    assert_eq!(pair.server.connection.next_number(), 2, "0 is the session's own");
    pair.server.connection.renumber(u32::MAX - 1);
    assert_eq!(pair.server.connection.next_number(), 2, "nor is it next to one in use");
}

#[test]
fn cancel_reports_the_waiter_and_late_cancel_none() {
    let mut pair = Pair::new();
    let call = pair.client.call(0).unwrap();
    request_of(&mut pair);
    pair.server.connection.served.get_mut(call).unwrap().waiter = Some(7);
    pair.client.connection.calls.give_up(call);
    pair.client.publish_bare(Kind::Cancel, call, 0);
    assert_eq!(pair.server_receives(), [Event::Cancelled(Some(7))]);
    assert!(pair.server.connection.served.get_mut(call).unwrap().cancelled);
    pair.server.reply(call, 1, None);
    pair.client.publish_bare(Kind::Cancel, call, 0);
    assert_eq!(pair.server_receives(), [Event::Cancelled(None)]);
    assert_eq!(pair.client_receives(), [Event::Answered(None)]);
}

#[test]
fn one_way_window_reopens_when_messages_are_taken() {
    let mut pair = Pair::new();
    pair.client.streams().limit_one_way(WINDOW);
    pair.server.streams().limit_one_way(WINDOW);
    for content in 0..4 {
        assert!(pair.client.post(1, content));
    }
    assert!(!pair.client.post(1, 4));
    pair.server_receives();
    for content in 0..2 {
        let (request, came) = pair.server.take_request().unwrap();
        assert!(request.one_way);
        assert_eq!(came, content);
    }
    pair.server.settle();
    assert_eq!(pair.client_receives(), [Event::Stream(StreamEvent::OneWayRoom)]);
    assert!(pair.client.post(1, 4));
}

#[test]
fn untaken_one_way_messages_flood_their_session() {
    let mut pair = Pair::new();
    for content in 0..9 {
        assert!(pair.client.post(100, content));
    }
    pair.server_receives();
    assert!(!pair.server.connection.is_flooded(), "900 of 1,000 bytes");
    pair.client.post(100, 9);
    pair.server_receives();
    assert!(pair.server.connection.is_flooded());
    pair.server.take_request().unwrap();
    assert!(!pair.server.connection.is_flooded());
    for content in 0..MAX_ONE_WAY as u32 - 9 {
        assert!(!pair.server.connection.is_flooded());
        pair.client.post(0, content);
        pair.server_receives();
    }
    assert!(pair.server.connection.is_flooded(), "messages count too");
}

#[test]
fn arrivals_carry_their_senders_deadline() {
    let mut pair = Pair::new();
    for (time, flags) in [(3, REQUEST), (2, Flags::OPEN.with(Flags::STREAM)), (0, REQUEST)] {
        pair.client.publish_message(2 * time + 1, flags, message(1), 0);
        pair.client.sent.back_mut().unwrap().head.time = time as u16;
    }
    pair.server_receives();
    let deadlines: Vec<_> = std::iter::from_fn(|| pair.server.connection.take_arrival())
        .map(|arrival| match arrival {
            Arrival::Call(_, _, deadline) | Arrival::Stream { deadline, .. } => deadline,
        })
        .collect();
    assert!(deadlines[1] < deadlines[0] && deadlines[0] < deadlines[2]);
    assert_eq!(deadlines[2], Time::NEVER);
}

#[test]
fn second_go_away_is_a_violation() {
    let mut pair = Pair::new();
    assert!(!pair.client.connection.ending.is_going_away());
    pair.server.publish_bare(Kind::GoAway, 0, 0);
    assert_eq!(pair.client_receives(), [Event::GoingAway]);
    assert!(pair.client.connection.ending.is_going_away());
    pair.server.publish_bare(Kind::GoAway, 0, 0);
    assert_eq!(violation_of_server(&mut pair), CallViolation::Unexpected(Kind::GoAway));
}

#[test]
fn finished_arrivals_beyond_the_limit_are_dropped() {
    let mut pair = Pair::new();
    for _ in 0..10 {
        let stream = pair.client.open(NO_BODY, 0).unwrap();
        pair.client.streams().abandon(stream);
        pair.client.settle();
        pair.server_receives();
        pair.server.settle();
        pair.client_receives();
    }
    assert_eq!(pair.server.connection.arrivals.len(), 3, "as many as may be open at one time");
}

// ---- violations ----

/// Returns the violation that the client finds in the server's next entry.
fn violation_of_server(pair: &mut Pair) -> CallViolation {
    let wire = pair.server.sent.pop_front().unwrap();
    match pair.client.receive(wire) {
        Err(Violation::Call(violation)) => violation,
        other => panic!("{other:?}"),
    }
}

/// Returns the violation that the server finds in the client's next entry.
fn violation_of_client(pair: &mut Pair) -> Violation {
    let wire = pair.client.sent.pop_front().unwrap();
    pair.server.receive(wire).unwrap_err()
}

#[test]
fn entries_that_only_the_other_side_sends_are_violations() {
    for (kind, at_server, at_client) in [
        (Kind::Cancel, true, false),
        (Kind::GoAway, false, true),
        (Kind::SegmentAdd, false, false),
        (Kind::SegmentRetire, false, false),
    ] {
        let mut pair = Pair::new();
        pair.server.publish_bare(kind, 1, 0);
        if at_client {
            pair.client_receives();
        } else {
            assert_eq!(violation_of_server(&mut pair), CallViolation::Unexpected(kind));
        }
        pair.client.publish_bare(kind, 1, 0);
        if at_server {
            pair.server_receives();
        } else {
            let violation = violation_of_client(&mut pair);
            let Violation::Call(CallViolation::Unexpected(found)) = violation else {
                panic!("{violation:?}");
            };
            assert_eq!(found, kind);
        }
    }
}

#[test]
fn a_call_on_a_number_in_use_is_a_violation() {
    let mut pair = Pair::new();
    let call = pair.client.call(0).unwrap();
    pair.client.open(NO_BODY, 0).unwrap();
    pair.server_receives();
    pair.server.connection.served.get_mut(call).unwrap().waiter = Some(7);
    for number in [call, call + 2] {
        pair.client.publish_message(number, REQUEST, message(5), 1);
        let violation = violation_of_client(&mut pair);
        let Violation::Stream(StreamViolation::Number(found)) = violation else {
            panic!("{violation:?}");
        };
        assert_eq!(found, number);
    }
    assert_eq!(pair.server.connection.served.waiters().collect::<Vec<_>>(), [7]);
}

#[test]
fn calls_beyond_limit_are_a_violation_despite_backlog() {
    for unsent in [0, 3] {
        let mut pair = Pair::new();
        for _ in 0..unsent {
            let head = Head::of_reply(1);
            let backlog = &mut pair.server.connection.backlog;
            backlog.push(head, ((), 0), Lack::Slot, Time::NEVER, Time::NEVER);
        }
        let allowed = MAX_IN_FLIGHT - unsent;
        for call in 0..=allowed {
            pair.client.publish_message(2 * call as u32 + 1, REQUEST, message(5), 1);
        }
        for _ in 0..allowed {
            let Wire { head, body } = pair.client.sent.pop_front().unwrap();
            pair.server.connection.receive(head, body, Time::NEVER).unwrap();
        }
        let Wire { head, body } = pair.client.sent.pop_front().unwrap();
        let violation = pair.server.connection.receive(head, body, Time::NEVER).unwrap_err();
        assert!(
            matches!(violation, Violation::Call(CallViolation::TooManyCalls(MAX_IN_FLIGHT))),
            "{violation:?}"
        );
    }
}

#[test]
fn a_reply_to_nothing_is_a_violation() {
    let mut pair = Pair::new();
    let call = pair.client.call(0).unwrap();
    assert!(pair.client.post(1, 0));
    request_of(&mut pair);
    pair.server.reply(call, 0, None);
    pair.client_receives();
    for number in [call, call + 2, call + 4, 0] {
        pair.server.reply(number, 0, None);
        let wire = pair.server.sent.pop_front().unwrap();
        let violation = pair.client.receive(wire).unwrap_err();
        // The numbers: answered before, one-way, never used, and the session's own.
        let Violation::Stream(StreamViolation::NotOpen(found)) = violation else {
            panic!("{violation:?}");
        };
        assert_eq!(found, number);
    }
}

// ---- beside a model ----

/// Step of one side.
#[derive(Clone, Debug)]
enum Step {
    Call,
    Post(usize),
    GiveUp(usize),
    TakeAnswer(usize),
    /// Continues the client's numbers from their state so many calls ago.
    Renumber(u32),
    ServerTakes,
    ServerReplies(usize, bool),
    Receive(usize),
    Settle,
}

fn step() -> impl Strategy<Value = Step> {
    let which = || 0..8usize;
    prop_oneof![
        6 => Just(Step::Call),
        3 => (0..60usize).prop_map(Step::Post),
        1 => which().prop_map(Step::GiveUp),
        4 => which().prop_map(Step::TakeAnswer),
        1 => (0..8u32).prop_map(Step::Renumber),
        5 => Just(Step::ServerTakes),
        5 => (which(), prop::bool::weighted(0.2)).prop_map(|(which, fails)| {
            Step::ServerReplies(which, fails)
        }),
        12 => (0..2usize).prop_map(Step::Receive),
        3 => Just(Step::Settle),
    ]
}

/// Call whose reply was not received, or not taken.
#[derive(Clone, Copy, Debug)]
struct Known {
    is_given_up: bool,
    /// Content of the server's reply, and true if the call failed.
    reply: Option<(u32, bool)>,
    /// True if the client has received the reply.
    is_received: bool,
}

struct Game {
    pair: Pair,
    /// Calls by number. A call that was given up is in flight until its reply is received.
    calls: HashMap<u32, Known>,
    /// Calls that the server has taken and not replied to.
    serving: Vec<u32>,
    /// Requests that the server has not taken, in order: content, and true for one-way messages.
    requests: VecDeque<(u32, bool)>,
    content: u32,
}

impl Game {
    fn new() -> Self {
        let mut pair = Pair::new();
        pair.client.streams().limit_one_way(WINDOW);
        pair.server.streams().limit_one_way(WINDOW);
        let (calls, serving, requests) = Default::default();
        Self { pair, calls, serving, requests, content: 0 }
    }

    /// Returns a call that a caller waits for.
    fn wanted(&self, which: usize) -> Option<u32> {
        let mut wanted: Vec<_> = self.calls.keys().copied().collect();
        wanted.retain(|number| !self.calls[number].is_given_up);
        wanted.sort_unstable();
        wanted.get(which % wanted.len().max(1)).copied()
    }

    fn play(&mut self, step: Step) {
        self.content += 1;
        let content = self.content;
        let client = &mut self.pair.client;
        match step {
            Step::Call => {
                let in_flight = self.calls.values().filter(|call| !call.is_received).count();
                let number = client.call(content);
                assert_eq!(number.is_some(), in_flight < MAX_IN_FLIGHT);
                let Some(number) = number else { return };
                *client.connection.calls.waiter(number).unwrap() = Some(content);
                let known = Known { is_given_up: false, reply: None, is_received: false };
                assert!(self.calls.insert(number, known).is_none(), "{number} is in use");
                self.requests.push_back((content, false));
            }
            Step::Post(len) => {
                if client.post(len, content) {
                    self.requests.push_back((content, true));
                }
            }
            Step::GiveUp(which) => {
                let Some(number) = self.wanted(which) else { return };
                let client = &mut self.pair.client;
                let waited = client.connection.calls.give_up(number);
                let call = self.calls.get_mut(&number).unwrap();
                assert_eq!(waited.is_some(), !call.is_received);
                if call.is_received {
                    self.calls.remove(&number);
                } else {
                    call.is_given_up = true;
                    client.publish_bare(Kind::Cancel, number, 0);
                }
            }
            Step::TakeAnswer(which) => {
                if let Some(number) = self.wanted(which) {
                    self.take_answer(number);
                }
            }
            Step::Renumber(calls) => {
                let next = client.connection.next_number();
                client.connection.renumber(next.saturating_sub(2 * calls).max(1));
            }
            Step::ServerTakes => self.serve(),
            Step::ServerReplies(which, failed) => {
                if !self.serving.is_empty() {
                    let number = self.serving.swap_remove(which % self.serving.len());
                    self.reply(number, failed);
                }
            }
            Step::Receive(side) => {
                self.receive(side);
            }
            Step::Settle => self.pair.server.settle(),
        }
    }

    fn take_answer(&mut self, number: u32) {
        let answer = self.pair.client.connection.calls.take(number);
        let call = self.calls[&number];
        assert_eq!(answer.is_some(), call.is_received);
        let Some(answer) = answer else { return };
        self.calls.remove(&number);
        let (content, failed) = call.reply.expect("somebody has replied");
        match answer {
            Ok(received) => assert_eq!((received.content, false), (content, failed)),
            Err((code, reason)) => {
                assert_eq!(code, ErrorCode::Failed);
                assert_eq!((reason, true), (content.to_string(), failed));
            }
        }
    }

    fn serve(&mut self) {
        let Some((request, came)) = self.pair.server.take_request() else { return };
        assert_eq!(self.requests.pop_front(), Some((came, request.one_way)));
        if !request.one_way {
            self.serving.push(request.stream);
        }
    }

    fn reply(&mut self, number: u32, failed: bool) {
        let content = self.content;
        self.pair.server.reply(number, content, failed.then_some(ErrorCode::Failed));
        self.calls.get_mut(&number).unwrap().reply = Some((content, failed));
    }

    /// Receives one entry. Returns true if there was one.
    fn receive(&mut self, side: usize) -> bool {
        let Pair { client, server } = &mut self.pair;
        let [to, from] = if side == 0 { [client, server] } else { [server, client] };
        let Some(wire) = from.sent.pop_front() else { return false };
        let number = wire.head.stream;
        let event = to.receive(wire).expect("an honest peer breaks no rule");
        if let Event::Answered(waiter) = event {
            let call = self.calls.get_mut(&number).unwrap();
            assert_eq!(waiter.is_some(), !call.is_given_up, "each who waits is woken once");
            call.is_received = true;
            if call.is_given_up {
                self.calls.remove(&number);
            }
        }
        true
    }

    /// Takes and answers all requests, and checks that nothing is lost or left.
    fn end(&mut self) {
        loop {
            self.pair.server.settle();
            let came = self.receive(0) | self.receive(1);
            let taken = self.serving.len() + self.requests.len();
            self.serve();
            while let Some(number) = self.serving.pop() {
                self.reply(number, false);
            }
            if !came && taken == 0 {
                break;
            }
        }
        while let Some(number) = self.wanted(0) {
            assert!(self.calls[&number].is_received);
            self.take_answer(number);
        }
        assert!(self.calls.is_empty(), "{:?}", self.calls);
        let Pair { client, server } = &mut self.pair;
        assert!(server.connection.served.len() == 0 && server.connection.arrivals.is_empty());
        for number in (1..=client.connection.next_number() + 2 * 200).step_by(2) {
            assert!(!client.connection.calls.by_number.contains_key(&number), "{number} is kept");
        }
        for content in 0..MAX_IN_FLIGHT as u32 {
            assert!(client.call(content).is_some());
        }
    }
}

proptest! {
    /// Requests are taken in the order of sending, each once. Each call receives its own reply, and
    /// a call that was given up receives none.
    #[test]
    fn every_call_gets_its_own_reply(steps in prop::collection::vec(step(), 0..200)) {
        let mut game = Game::new();
        steps.into_iter().for_each(|step| game.play(step));
        game.end();
    }
}
