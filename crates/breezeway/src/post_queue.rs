//! One-way messages of which the newest matter: a sender that never waits, and drops the oldest.

use std::collections::VecDeque;

use crate::channel::Channel;
use crate::error::CallError;
use crate::session::Session;

/// Who sends one-way messages, if there is room for them.
pub trait TryPost {
    /// Sends a one-way message if there is room for it now; false if not, and then nothing was
    /// sent. Never waits.
    fn try_post(&mut self, method: u32, message: &[u8]) -> Result<bool, CallError>;
}

impl TryPost for Session {
    fn try_post(&mut self, method: u32, message: &[u8]) -> Result<bool, CallError> {
        Session::try_post(self, method, message)
    }
}

impl TryPost for Channel {
    fn try_post(&mut self, method: u32, message: &[u8]) -> Result<bool, CallError> {
        Channel::try_post(self, method, message)
    }
}

/// One-way messages for which there was no room: a queue of the sender's own, from which the oldest
/// are dropped for the newest. For measurements, positions and other messages that are worth less
/// the older they get.
///
/// What was published is out of the queue, and never dropped. Messages keep their order, and may
/// lack some of those between them, which are counted. The queue is the caller's, and goes with any
/// [`Session`] or [`Channel`]; it sends when it is asked to, by [`Self::post`] and [`Self::send`].
///
/// ```
/// use breezeway::{Channel, PostQueue, SessionOptions};
///
/// let (mut channel, server) = Channel::pair(&SessionOptions::new())?;
/// let serving = std::thread::spawn(move || server.serve(|measurement| drop(measurement)));
/// let mut queue = PostQueue::new(100, 1 << 20);
/// for value in 0..1000u32 {
///     queue.post(&mut channel, 0, &value.to_le_bytes())?;
/// }
/// println!("{} are to be sent, {} were dropped", queue.len(), queue.dropped());
/// # drop(channel);
/// # // A ring that is full at the end has no room for the farewell, which looks like a death.
/// # let _ = serving.join().unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PostQueue {
    most_messages: usize,
    most_bytes: usize,
    messages: VecDeque<(u32, Vec<u8>)>,
    bytes: usize,
    dropped: u64,
}

impl PostQueue {
    /// An empty queue for at most so many messages, and bytes of messages.
    pub fn new(most_messages: usize, most_bytes: usize) -> Self {
        Self { most_messages, most_bytes, messages: VecDeque::new(), bytes: 0, dropped: 0 }
    }

    /// Messages that are to be sent.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether nothing is to be sent.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Messages that were dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Sends what waits, and then `message`; what there is no room for waits here. If that is too
    /// much, the oldest are dropped: gives how many, of which `message` itself is one if it is
    /// longer than the queue's bytes, or the queue is for no messages. Never waits.
    ///
    /// An error that concerns a message, as one that is larger than the cap, drops and counts it,
    /// whether it waited here or is `message`. One that ends the session drops nothing that waits,
    /// and does not take `message` up.
    pub fn post(
        &mut self,
        to: &mut impl TryPost,
        method: u32,
        message: &[u8],
    ) -> Result<usize, CallError> {
        self.send(to)?;
        if self.is_empty() && self.try_one(to, method, message)? {
            return Ok(0);
        }
        Ok(self.keep(method, message))
    }

    /// Sends what waits, as far as there is room; whether nothing is left. Never waits.
    pub fn send(&mut self, to: &mut impl TryPost) -> Result<bool, CallError> {
        while let Some((method, message)) = self.messages.pop_front() {
            self.bytes -= message.len();
            let sent = self.try_one(to, method, &message);
            let goes_on = sent.as_ref().map_or_else(CallError::session_goes_on, |sent| *sent);
            if !goes_on {
                self.bytes += message.len();
                self.messages.push_front((method, message));
            }
            if !sent? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Counts a message that cannot be sent.
    fn try_one(
        &mut self,
        to: &mut impl TryPost,
        method: u32,
        message: &[u8],
    ) -> Result<bool, CallError> {
        let sent = to.try_post(method, message);
        self.dropped += u64::from(sent.as_ref().is_err_and(CallError::session_goes_on));
        sent
    }

    /// Keeps a message, and drops the oldest for it; gives how many.
    fn keep(&mut self, method: u32, message: &[u8]) -> usize {
        let before = self.dropped;
        if message.len() > self.most_bytes || self.most_messages == 0 {
            self.dropped += 1;
            return 1;
        }
        let mut space = Vec::new();
        while self.len() == self.most_messages || self.bytes + message.len() > self.most_bytes {
            let Some((_, oldest)) = self.messages.pop_front() else { break };
            self.bytes -= oldest.len();
            self.dropped += 1;
            space = oldest;
        }
        // What the dropped one held is used again, unless it is much too large.
        if space.capacity() / 4 > message.len() {
            space = Vec::new();
        }
        space.clear();
        space.extend_from_slice(message);
        self.bytes += message.len();
        self.messages.push_back((method, space));
        usize::try_from(self.dropped - before).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests;
