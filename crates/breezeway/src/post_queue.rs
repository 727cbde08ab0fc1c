//! A queue of one-way messages for a sender that never waits and drops the oldest ones.

use std::collections::VecDeque;

use crate::error::CallError;
use crate::exclusive::ExclusiveSession;
use crate::session::Session;

/// Sender of one-way messages that never waits.
pub trait TryPost {
    /// Sends a one-way message if there is room for it now; returns false if not, and then nothing
    /// was sent. Never waits.
    fn try_post(&mut self, method: u32, message: &[u8]) -> Result<bool, CallError>;
}

impl TryPost for ExclusiveSession {
    fn try_post(&mut self, method: u32, message: &[u8]) -> Result<bool, CallError> {
        ExclusiveSession::try_post(self, method, message)
    }
}

impl TryPost for Session {
    fn try_post(&mut self, method: u32, message: &[u8]) -> Result<bool, CallError> {
        Session::try_post(self, method, message)
    }
}

/// Queue of one-way messages that did not fit: it belongs to the sender, and the oldest messages
/// are dropped for the newest. For measurements, positions and other messages that lose value with
/// age.
///
/// Published messages leave the queue, and are never dropped. Messages keep their order; dropped
/// ones between them are missing and counted. The queue belongs to the caller, and works with any
/// [`ExclusiveSession`] or [`Session`]; it sends only in [`Self::post`] and [`Self::send`].
///
/// ```
/// use breezeway::{Session, PostQueue, SessionOptions};
///
/// let (mut session, server) = Session::pair(&SessionOptions::new())?;
/// let serving = std::thread::spawn(move || server.serve(|measurement| drop(measurement)));
/// let mut queue = PostQueue::new(100, 1 << 20);
/// for value in 0..1000u32 {
///     queue.post(&mut session, 0, &value.to_le_bytes())?;
/// }
/// println!("{} are to be sent, {} were dropped", queue.len(), queue.dropped());
/// # drop(session);
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
    /// Creates an empty queue for at most this many messages, and bytes of messages.
    pub fn new(most_messages: usize, most_bytes: usize) -> Self {
        Self { most_messages, most_bytes, messages: VecDeque::new(), bytes: 0, dropped: 0 }
    }

    /// Returns the number of queued messages.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Returns true if no message is queued.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the number of messages dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Sends the queued messages, and then `message`; messages without room wait in the queue. If
    /// the queue is then too large, the oldest are dropped: returns their number, which includes
    /// `message` itself if it is longer than the queue's bytes, or the queue is for no messages.
    /// Never waits.
    ///
    /// An error that concerns one message, such as a message larger than the cap, drops and counts
    /// that message, whether it was queued or is `message`. An error that ends the session drops no
    /// queued message, and does not queue `message`.
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

    /// Sends the queued messages, as far as there is room; returns true if none is left. Never
    /// waits.
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

    /// Queues a message, and drops the oldest for it; returns the number dropped.
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
        // The memory of a dropped message is used again, unless it is much too large.
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
