//! A session, on whatever carrier, compared step by step with a queue: any mixture of calls,
//! messages, batches and space given back.

use std::cell::Cell;
use std::collections::VecDeque;

use breezeway::{CallError, CallId, ErrorCode, ExclusiveSession, SessionOptions};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::content::message;
use crate::support::server::{ECHO, FAIL, GIVE, SINK, ask_for, policy_name, sinkable, tally};
use crate::support::{EVERY_POLICY, Server, Settings};

const RING: u32 = 32;
const CAP: u64 = 16 << 20;

#[derive(Clone, Debug)]
enum Step {
    /// Calls that wait for their reply, while none is in flight.
    Call {
        len: usize,
    },
    /// Requests with later replies, of another length than the request.
    Send {
        len: usize,
    },
    /// Requests that fail, with later replies.
    SendFailure {
        len: usize,
    },
    Receive,
    Post {
        len: usize,
    },
    PostReserved {
        len: usize,
    },
    /// Space that is filled in part and given back.
    Abandon {
        len: usize,
    },
    /// Messages and requests that go out together.
    Batch {
        lens: Vec<usize>,
        flush: bool,
    },
    TooLarge,
}

fn len() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0usize..200, 2 => 0usize..20_000, 1 => 60_000usize..70_000, 1 => 0usize..300_000]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => len().prop_map(|len| Step::Call { len }),
        4 => len().prop_map(|len| Step::Send { len }),
        1 => (1usize..1000).prop_map(|len| Step::SendFailure { len }),
        4 => Just(Step::Receive),
        2 => len().prop_map(|len| Step::Post { len }),
        1 => len().prop_map(|len| Step::PostReserved { len }),
        1 => len().prop_map(|len| Step::Abandon { len }),
        2 => (prop::collection::vec(len(), 0..12), any::<bool>())
            .prop_map(|(lens, flush)| Step::Batch { lens, flush }),
        1 => Just(Step::TooLarge),
    ]
}

/// The expected reply.
enum Expected {
    Echo { number: u64, len: usize },
    Failure { words: String },
}

/// Model of a session.
struct Model {
    in_flight: VecDeque<(CallId, Expected)>,
    limit: usize,
    /// The number of the next message.
    next: u64,
    sender: u64,
    posted: u64,
}

impl Model {
    fn next_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn next_message(&mut self, len: usize) -> Vec<u8> {
        let bytes = sinkable(self.sender, self.posted, len);
        self.posted += 1;
        bytes
    }

    fn is_full(&self) -> bool {
        self.in_flight.len() == self.limit
    }

    /// Judges the outcome of a request that was sent.
    fn sent(&mut self, outcome: Result<CallId, CallError>, expected: Expected) {
        match outcome {
            Ok(call) => {
                assert!(!self.is_full(), "one more than the limit");
                self.in_flight.push_back((call, expected));
            }
            Err(CallError::TooManyInFlight(limit)) => {
                assert!(self.is_full());
                assert_eq!(limit, self.limit);
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    fn receive(&mut self, session: &mut ExclusiveSession) {
        match (session.receive(), self.in_flight.pop_front()) {
            (Ok(reply), Some((call, Expected::Echo { number, len }))) => {
                assert_eq!(reply.call(), call);
                assert!(reply.to_vec() == message(number, len), "{len} bytes differ");
            }
            (
                Err(CallError::Failed { code: ErrorCode::Failed, reason, .. }),
                Some((_, Expected::Failure { words })),
            ) => assert_eq!(reason, words),
            (Err(CallError::NothingInFlight), None) => {}
            (outcome, _) => panic!("{outcome:?}"),
        }
    }

    fn act(&mut self, session: &mut ExclusiveSession, step: &Step) {
        match *step {
            Step::Call { len } => {
                let number = self.next_number();
                match session.call(ECHO, message(number, len)) {
                    Ok(reply) => {
                        assert!(self.in_flight.is_empty());
                        assert!(reply.to_vec() == message(number, len), "{len} bytes differ");
                    }
                    Err(CallError::RepliesPending(pending)) => {
                        assert_eq!(pending, self.in_flight.len());
                    }
                    Err(other) => panic!("{other:?}"),
                }
            }
            Step::Send { len } => {
                let number = self.next_number();
                let outcome = match number % 2 {
                    0 => session.send(ECHO, message(number, len)),
                    _ => session.send(GIVE, &ask_for(number, len)),
                };
                self.sent(outcome, Expected::Echo { number, len });
            }
            Step::SendFailure { len } => {
                let words = "x".repeat(len);
                let outcome = session.send(FAIL, words.as_bytes());
                self.sent(outcome, Expected::Failure { words });
            }
            Step::Receive => self.receive(session),
            Step::Post { len } => {
                let bytes = self.next_message(len);
                session.post(SINK, &bytes).unwrap();
            }
            Step::PostReserved { len } => {
                let bytes = self.next_message(len);
                let mut space = session.reserve(bytes.len()).unwrap();
                space.bytes_mut().copy_from_slice(&bytes);
                space.post(SINK).unwrap();
            }
            Step::Abandon { len } => {
                let mut space = session.reserve(len).unwrap();
                space.bytes_mut()[..len / 2].fill(0xee);
            }
            Step::Batch { ref lens, flush } => {
                let mut batch = session.batch();
                for (index, &len) in lens.iter().enumerate() {
                    if index % 3 == 0 {
                        let number = self.next_number();
                        let outcome = batch.send(ECHO, message(number, len));
                        self.sent(outcome, Expected::Echo { number, len });
                    } else {
                        let bytes = self.next_message(len);
                        batch.post(SINK, &bytes).unwrap();
                    }
                }
                if flush { batch.flush().unwrap() } else { drop(batch) }
            }
            Step::TooLarge => {
                let cap = session.cap();
                assert!(matches!(session.reserve(cap + 1).err(), Some(CallError::TooLarge { .. })));
            }
        }
        assert_eq!(session.in_flight(), self.in_flight.len());
        assert!(!session.is_ended());
    }
}

#[test]
fn a_session_behaves_like_a_queue() {
    const CASES: u32 = 24;
    for policy in EVERY_POLICY {
        let settings = Settings::new().with("wait", policy_name(policy)).with("cap", CAP);
        let server = Server::start(settings);
        // Each case is a sender of its own, whose messages the server counts from 0.
        let senders = Cell::new(0);
        let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
        let steps = prop::collection::vec(step(), 1..60);
        let run = TestRunner::new(config).run(&steps, |steps| {
            let options = SessionOptions::new().wait(policy).ring_capacity(RING).cap(CAP);
            let mut session = server.connect(&options);
            let sender = senders.replace(senders.get() + 1);
            let [before, ..] = tally(&mut session);
            let limit = session.max_in_flight();
            assert_eq!(limit, RING as usize / 2);
            let mut model = Model { in_flight: VecDeque::new(), limit, next: 0, sender, posted: 0 };
            for step in &steps {
                model.act(&mut session, step);
            }
            while !model.in_flight.is_empty() {
                model.receive(&mut session);
            }
            assert_eq!(tally(&mut session), [before + model.posted, 0, 0]);
            Ok(())
        });
        run.unwrap_or_else(|error| panic!("{policy:?}: {error}"));
    }
}
