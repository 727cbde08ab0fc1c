//! Two sides of a session joined by two queues of entries, on schedules that a test scripts or
//! proptest finds, beside a model of what each reader must see.

mod model;
mod scripted;

use std::collections::VecDeque;

use super::streams::TooManyStreams;
use super::*;
use crate::protocol::ErrorCode;

/// What travels from one side to the other.
#[derive(Clone, Debug)]
enum Wire {
    Message { number: u32, opening: bool, carried: Carried, content: u32 },
    Window { number: u32, consumed: Window },
    Reset { number: u32, code: ErrorCode },
}

const NO_BODY: Carried = Carried { message: None, metadata: false, last: false };

fn message(len: usize) -> Carried {
    Carried { message: Some(len), ..NO_BODY }
}

fn last(len: usize) -> Carried {
    Carried { last: true, ..message(len) }
}

const FIN: Carried = Carried { last: true, ..NO_BODY };

/// One side, with what it has sent and the other has not received.
struct End {
    streams: Streams<u32>,
    next_number: u32,
    sent: VecDeque<Wire>,
}

impl End {
    fn open(&mut self, carried: Carried, content: u32) -> Result<StreamKey, TooManyStreams> {
        self.streams.may_open()?;
        let number = self.next_number;
        self.next_number += 2;
        self.sent.push_back(Wire::Message { number, opening: true, carried, content });
        Ok(self.streams.opened(number, carried))
    }

    fn send(&mut self, key: StreamKey, carried: Carried, content: u32) -> Result<(), Refusal> {
        self.streams.may_send(key, carried)?;
        let number = self.streams.number(key);
        self.sent.push_back(Wire::Message { number, opening: false, carried, content });
        self.streams.sent(key, carried);
        Ok(())
    }

    /// Sends everything that is owed.
    fn settle(&mut self) {
        while self.settle_one() {}
    }

    fn settle_one(&mut self) -> bool {
        let Some(control) = self.streams.next_control() else { return false };
        self.sent.push_back(match control {
            Control::Window { number, consumed } => Wire::Window { number, consumed },
            Control::Reset { number, code } => Wire::Reset { number, code },
        });
        self.streams.control_sent();
        true
    }

    fn receive(&mut self, wire: Wire) -> Result<Event, StreamViolation> {
        match wire {
            Wire::Message { number, opening, carried, content } => {
                let opening = opening.then_some(Opening { number, method: 7 });
                self.streams.receive(number, opening, 0, carried, || content)
            }
            Wire::Window { number, consumed } => self.streams.receive_window(number, consumed),
            Wire::Reset { number, code } => self.streams.receive_reset(number, code),
        }
    }
}

/// Both sides.
struct Pair {
    client: End,
    server: End,
}

const WINDOW: Window = Window { messages: 4, bytes: 100 };
const TERMS: StreamTerms = StreamTerms { window: WINDOW, max_streams: 3 };

impl Pair {
    fn new() -> Self {
        Self::with(TERMS, TERMS)
    }

    fn with(client: StreamTerms, server: StreamTerms) -> Self {
        let end = |odd, own, peers| End {
            streams: Streams::new(odd, own, peers),
            next_number: if odd { 1 } else { 2 },
            sent: VecDeque::new(),
        };
        Self { client: end(true, client, server), server: end(false, server, client) }
    }

    /// The server receives everything.
    fn server_receives(&mut self) -> Vec<Event> {
        let wires: Vec<_> = self.client.sent.drain(..).collect();
        wires.into_iter().map(|wire| self.server.receive(wire).unwrap()).collect()
    }

    /// The client receives everything.
    fn client_receives(&mut self) -> Vec<Event> {
        let wires: Vec<_> = self.server.sent.drain(..).collect();
        wires.into_iter().map(|wire| self.client.receive(wire).unwrap()).collect()
    }

    /// The client opens a stream and the server has it.
    fn open(&mut self) -> (StreamKey, StreamKey) {
        let here = self.client.open(NO_BODY, 0).unwrap();
        let events = self.server_receives();
        let [Event::Opened { key, method: 7 }] = events[..] else { panic!("{events:?}") };
        (here, key)
    }
}
