//! The queue beside a simple model, and on sessions.

use std::sync::Mutex;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Instant;

use breezeway_adversary::socket::PATIENCE;
use proptest::prelude::*;

use super::*;
use crate::call::Call;
use crate::options::SessionOptions;

/// A sender with room for a fixed number of messages.
#[derive(Default)]
struct Limited {
    room: usize,
    sent: Vec<Vec<u8>>,
    has_ended: bool,
}

/// Longer than the sender accepts.
const TOO_LARGE: usize = 50;

impl TryPost for Limited {
    fn try_post(&mut self, _: u32, message: &[u8]) -> Result<bool, CallError> {
        if self.has_ended {
            return Err(CallError::PeerDied);
        }
        if self.room == 0 {
            return Ok(false);
        }
        if message.len() >= TOO_LARGE {
            return Err(CallError::TooLarge { len: message.len(), cap: TOO_LARGE - 1 });
        }
        self.room -= 1;
        self.sent.push(message.to_vec());
        Ok(true)
    }
}

/// A list of all queued messages, dropped from the front until the limits hold.
struct Model {
    waiting: Vec<Vec<u8>>,
    sent: Vec<Vec<u8>>,
    dropped: u64,
}

impl Model {
    /// Sends until a message finds no room, or is too large; returns true if none was too large.
    fn send(&mut self, room: &mut usize) -> bool {
        while *room > 0 && !self.waiting.is_empty() {
            let message = self.waiting.remove(0);
            if message.len() >= TOO_LARGE {
                self.dropped += 1;
                return false;
            }
            self.sent.push(message);
            *room -= 1;
        }
        true
    }

    fn limit(&mut self, messages: usize, bytes: usize) {
        let is_too_much = |waiting: &Vec<Vec<u8>>| {
            waiting.len() > messages || waiting.iter().map(Vec::len).sum::<usize>() > bytes
        };
        while is_too_much(&self.waiting) {
            self.waiting.remove(0);
            self.dropped += 1;
        }
    }
}

proptest! {
    #[test]
    fn queue_matches_a_simple_model(
        most_messages in 0..6usize,
        most_bytes in 0..100usize,
        steps in prop::collection::vec((0..4usize, 0..60usize), 0..60),
    ) {
        let mut queue = PostQueue::new(most_messages, most_bytes);
        let mut sender = Limited::default();
        let mut model = Model { waiting: Vec::new(), sent: Vec::new(), dropped: 0 };
        for (number, (room, len)) in steps.into_iter().enumerate() {
            sender.room = room;
            let mut room = room;
            let message = vec![number as u8; len];
            let outcome = queue.post(&mut sender, 0, &message);
            if !model.send(&mut room) {
                prop_assert!(outcome.is_err());
            } else if room > 0 && len >= TOO_LARGE {
                model.dropped += 1;
                prop_assert!(outcome.is_err());
            } else {
                let before = model.dropped;
                if len > most_bytes && room == 0 {
                    // The others stay: dropping them would make no room for it.
                    model.dropped += 1;
                } else {
                    model.waiting.push(message);
                    model.send(&mut room);
                    model.limit(most_messages, most_bytes);
                }
                prop_assert_eq!(outcome.unwrap() as u64, model.dropped - before);
            }
            prop_assert_eq!(&sender.sent, &model.sent);
            prop_assert_eq!((queue.len(), queue.dropped()), (model.waiting.len(), model.dropped));
        }
        // The queue has the messages of the model, in its order.
        sender.room = usize::MAX;
        while !matches!(queue.send(&mut sender), Ok(true)) {}
        let mut room = usize::MAX;
        while !model.send(&mut room) {}
        prop_assert_eq!(sender.sent, model.sent);
    }
}

#[test]
fn a_session_that_has_ended_drops_nothing_and_takes_nothing_up() {
    let (mut queue, mut sender) = (PostQueue::new(4, 100), Limited::default());
    for number in 0..3 {
        assert_eq!(queue.post(&mut sender, 0, &[number]).unwrap(), 0);
    }
    sender.has_ended = true;
    assert!(queue.post(&mut sender, 0, &[3]).is_err());
    assert!(queue.send(&mut sender).is_err());
    assert_eq!((queue.len(), queue.dropped()), (3, 0));
    // The messages travel by another session.
    let mut other = Limited { room: 9, ..Limited::default() };
    assert!(queue.send(&mut other).unwrap());
    assert_eq!(other.sent, [[0], [1], [2]]);
}

/// Posts to a server that takes nothing, until a hundred messages were dropped; returns the number
/// posted.
fn flood(queue: &mut PostQueue, to: &mut impl TryPost) -> usize {
    let start = Instant::now();
    let mut posted = 0u32;
    while queue.dropped() < 100 {
        queue.post(to, posted, b"x").unwrap();
        posted += 1;
        assert!(start.elapsed() < PATIENCE, "there is always room");
    }
    assert_eq!(queue.len(), 10);
    posted as usize
}

/// Sends the queued messages while the server takes messages: all arrive in their order, except a
/// hundred in one place, in front of the last ten.
fn newest_arrive(mut to: impl TryPost, serve: impl FnOnce(Sender<u32>)) {
    let mut queue = PostQueue::new(10, 1 << 20);
    let posted = flood(&mut queue, &mut to);
    let (took, takes) = mpsc::channel();
    serve(took);
    let mut taken: Vec<u32> = Vec::new();
    let start = Instant::now();
    while taken.len() < posted - 100 {
        queue.send(&mut to).unwrap();
        taken.extend(takes.try_iter());
        assert!(start.elapsed() < PATIENCE, "{} wait, {} came", queue.len(), taken.len());
    }
    assert!(queue.is_empty());
    let gap = posted as u32 - 110;
    let expected: Vec<_> = (0..gap).chain(gap + 100..posted as u32).collect();
    assert_eq!(taken, expected);
}

#[test]
fn a_channel_sends_the_newest_once_the_server_takes_messages_up() {
    let (channel, server) = Session::pair(&SessionOptions::new()).unwrap();
    newest_arrive(channel, |took| {
        // The thread ends with the channel.
        thread::spawn(move || server.serve(|call| took.send(call.method()).unwrap_or(())));
    });
}

#[test]
fn a_session_sends_the_newest_once_the_server_takes_messages_up() {
    let (session, server) = ExclusiveSession::pair(&SessionOptions::new()).unwrap();
    newest_arrive(session, |took| {
        let took = Mutex::new(took);
        thread::spawn(move || {
            server.serve(&move |call: Call<'_>| {
                took.lock().unwrap().send(call.method())?;
                call.reply(&[])
            })
        });
    });
}
