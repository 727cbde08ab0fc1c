//! Random schedules beside a model. Each reader receives a prefix of the sent messages, in order.
//! It receives all of them unless it reset the stream itself, or the sender reset it before its
//! last message. No honest schedule is a violation, and nothing is kept at the end.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

/// Step of one side.
#[derive(Clone, Debug)]
enum Step {
    Open(Carried),
    Send(usize, Carried),
    Take(usize),
    Reset(usize),
    Abandon(usize),
    /// Sends one pending entry.
    Settle,
    /// Receives one entry.
    Receive,
}

fn carried() -> impl Strategy<Value = Carried> {
    let message = prop_oneof![2 => Just(None), 8 => (0..120usize).prop_map(Some)];
    let metadata = prop::bool::weighted(0.2);
    let last = prop::bool::weighted(0.2);
    (message, metadata, last).prop_map(|(message, metadata, last)| Carried {
        message,
        metadata,
        last,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let which = 0..8usize;
    prop_oneof![
        2 => carried().prop_map(Step::Open),
        8 => (which.clone(), carried()).prop_map(|(which, carried)| Step::Send(which, carried)),
        6 => which.clone().prop_map(Step::Take),
        1 => which.clone().prop_map(Step::Reset),
        1 => which.prop_map(Step::Abandon),
        3 => Just(Step::Settle),
        10 => Just(Step::Receive),
    ]
}

/// Content that one direction of a stream has carried.
#[derive(Default)]
struct Direction {
    sent: Vec<u32>,
    taken: usize,
    finished: bool,
    /// True if its reader has reset the stream, or its sender has without a last message.
    dropped: bool,
}

struct Game {
    pair: Pair,
    /// Handles of each side: the stream's number, which identifies it in the model, and its key.
    handles: [Vec<(u32, StreamKey)>; 2],
    /// Directions by number and sender.
    directions: HashMap<(u32, usize), Direction>,
    resets: Vec<u32>,
    /// Streams by number that a side has read to the end.
    read: Vec<(u32, usize)>,
    content: u32,
}

impl Game {
    fn new() -> Self {
        let directions = HashMap::new();
        let handles = Default::default();
        let (resets, read) = Default::default();
        Self { pair: Pair::new(), handles, directions, resets, read, content: 0 }
    }

    fn end(&mut self, side: usize) -> &mut End {
        if side == 0 { &mut self.pair.client } else { &mut self.pair.server }
    }

    fn handle(&self, side: usize, which: usize) -> Option<(u32, StreamKey)> {
        let handles = &self.handles[side];
        handles.get(which % handles.len().max(1)).copied()
    }

    fn direction(&mut self, number: u32, sender: usize) -> &mut Direction {
        self.directions.entry((number, sender)).or_default()
    }

    fn note_sent(&mut self, number: u32, side: usize, carried: Carried) {
        let content = self.content;
        let direction = self.direction(number, side);
        if carried.message.is_some() || carried.metadata {
            direction.sent.push(content);
        }
        direction.finished |= carried.last;
    }

    fn note_reset(&mut self, number: u32, side: usize) {
        self.resets.push(number);
        let own = self.direction(number, side);
        own.dropped |= !own.finished;
        self.direction(number, 1 - side).dropped = true;
    }

    /// Notes that a side abandons a stream. A side that the peer asked for the stream and that has
    /// read it to its end finishes it; else the stream is reset.
    fn note_abandoned(&mut self, number: u32, side: usize) {
        let opener = usize::from(number.is_multiple_of(2));
        let is_read = side != opener && self.read.contains(&(number, side));
        if is_read && !self.resets.contains(&number) {
            self.direction(number, side).finished = true;
        } else {
            self.note_reset(number, side);
        }
    }

    fn play(&mut self, side: usize, step: Step) {
        self.content += 1;
        let content = self.content;
        match step {
            Step::Open(carried) => {
                let number = self.end(side).connection.next_number();
                if let Ok(key) = self.end(side).open(carried, content) {
                    self.handles[side].push((number, key));
                    self.note_sent(number, side, carried);
                }
            }
            Step::Send(which, carried) => {
                let Some((number, key)) = self.handle(side, which) else { return };
                // Only the first and the last entry may lack a message.
                let first = self.end(side).streams().is_first(key);
                let empty = carried.message.is_none() && !carried.last && !first;
                if !empty && self.end(side).send(key, carried, content).is_ok() {
                    self.note_sent(number, side, carried);
                }
            }
            Step::Take(which) => {
                if let Some((number, key)) = self.handle(side, which) {
                    self.take(side, number, key);
                }
            }
            Step::Reset(which) => {
                let Some((number, key)) = self.handle(side, which) else { return };
                self.end(side).streams().reset(key, ErrorCode::Application(1));
                self.note_reset(number, side);
            }
            Step::Abandon(which) => {
                let count = self.handles[side].len();
                if count > 0 {
                    let (number, key) = self.handles[side].swap_remove(which % count);
                    self.end(side).streams().abandon(key);
                    self.note_abandoned(number, side);
                }
            }
            Step::Settle => {
                self.end(side).settle_one();
            }
            Step::Receive => {
                self.receive(side);
            }
        }
    }

    /// Takes one message. Returns true if there was one.
    fn take(&mut self, side: usize, number: u32, key: StreamKey) -> bool {
        let taken = self.end(side).take(key);
        let direction = self.direction(number, 1 - side);
        match taken {
            RecvState::Content(content) => {
                assert_eq!(direction.sent[direction.taken], content);
                direction.taken += 1;
                return true;
            }
            RecvState::Nothing => {}
            RecvState::Reset(_) => assert!(direction.dropped, "nobody has dropped stream {number}"),
            RecvState::End => {
                assert!(direction.finished);
                assert_eq!(direction.taken, direction.sent.len(), "nothing is lost");
                self.read.push((number, side));
            }
        }
        false
    }

    /// Receives one entry. Returns true if there was one.
    fn receive(&mut self, side: usize) -> bool {
        let Some(wire) = self.end(1 - side).sent.pop_front() else { return false };
        let number = wire.head.stream;
        let event = self.end(side).receive(wire).expect("an honest peer breaks no rule");
        if let Event::Arrived = event {
            let key = self.end(side).accept().expect("it arrived");
            self.handles[side].push((number, key));
        }
        true
    }

    /// Runs both sides until nothing is in flight.
    fn come_to_rest(&mut self) {
        let mut busy = true;
        while std::mem::take(&mut busy) {
            for side in 0..2 {
                busy |= self.end(side).settle_one();
                busy |= self.receive(side);
                for (number, key) in self.handles[side].clone() {
                    busy |= self.take(side, number, key);
                }
            }
        }
    }

    fn check_rest(&mut self) {
        self.come_to_rest();
        for side in 0..2 {
            for (number, key) in self.handles[side].clone() {
                let direction = self.direction(number, 1 - side);
                if !direction.dropped {
                    assert_eq!(direction.taken, direction.sent.len());
                }
                if !self.resets.contains(&number) {
                    // All messages were consumed, so a side that has not finished may send.
                    let refused = self.end(side).streams().may_send(key, message(1)).err();
                    assert!(matches!(refused, None | Some(Refusal::Finished)), "{refused:?}");
                }
            }
        }
    }

    /// Abandons all streams on both sides, in two rounds, because openings may still be in flight.
    fn check_end(&mut self) {
        for _ in 0..2 {
            for side in 0..2 {
                for (number, key) in std::mem::take(&mut self.handles[side]) {
                    self.resets.push(number);
                    self.end(side).streams().abandon(key);
                }
            }
            self.come_to_rest();
        }
        for side in 0..2 {
            assert_eq!(self.end(side).streams().kept(), 0);
            assert_eq!(self.end(side).streams().open_count(), 0);
        }
    }
}

proptest! {
    #[test]
    fn every_reader_receives_the_sent_messages(
        steps in prop::collection::vec((0..2usize, step()), 0..200),
    ) {
        let mut game = Game::new();
        for (side, step) in steps {
            game.play(side, step);
        }
        game.check_rest();
        game.check_end();
    }
}
