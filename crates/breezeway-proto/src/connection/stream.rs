//! One stream: two directions; each ends once.

use std::collections::VecDeque;

use super::window::{Credit, Granted};
use crate::error_code::ErrorCode;
use crate::violation::StreamViolation;
use crate::window::Window;

/// Reason why nothing can be sent on a stream now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The window is used up: the peer has to consume messages first.
    Window,
    /// This side has sent its last message.
    Finished,
    /// Either side has reset the stream.
    Reset(ErrorCode),
    /// Only the first and the last entry carry metadata.
    Metadata,
}

/// State of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Nothing was sent yet.
    New,
    /// More may follow.
    Open,
    /// Finished: the sender has sent its last message.
    Finished,
    /// Reset by the sender.
    Reset(ErrorCode),
    /// Finished, and then reset by the sender, which takes no more messages.
    Refusing(ErrorCode),
}

impl Direction {
    /// Returns true if its sender has sent its last entry.
    #[inline]
    pub(super) fn is_over(self) -> bool {
        !matches!(self, Self::New | Self::Open)
    }

    /// Returns the code of its sender's reset, if there was one.
    #[inline]
    pub(super) fn reset_code(self) -> Option<ErrorCode> {
        match self {
            Self::Reset(code) | Self::Refusing(code) => Some(code),
            _ => None,
        }
    }
}

/// Content of an entry on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Length of the message in bytes, if there is one.
    pub message: Option<usize>,
    /// True if there is a metadata block.
    pub metadata: bool,
    /// True if the entry is the last of its direction.
    pub last: bool,
}

/// Length of a message in bytes, which count against the window, or the absence of a message, in
/// one word.
#[derive(Clone, Copy)]
struct Len(usize);

impl Len {
    #[inline]
    fn of(message: Option<usize>) -> Self {
        Self(message.unwrap_or(usize::MAX))
    }

    #[inline]
    fn get(self) -> Option<usize> {
        (self.0 < usize::MAX).then_some(self.0)
    }
}

/// Content that was received and not taken.
struct Queued<M> {
    content: M,
    len: Len,
}

/// Stream as one side sees it. In the table its state fills two cache lines, and a small message
/// the next two. With many streams each line has to be fetched.
#[repr(C, align(64))]
pub(super) struct Stream<M> {
    /// True if the application does not hold the stream any more.
    abandoned: bool,
    /// True if the stream is in the list of streams with entries to be sent.
    pub(super) is_listed: bool,
    /// True after the reader received the end.
    is_read: bool,
    /// True while an entry with FIN and no message is still to be sent.
    pub(super) fin_due: bool,
    pub(super) number: u32,
    pub(super) outgoing: Direction,
    pub(super) incoming: Direction,
    /// Reset that is still to be sent.
    pub(super) reset_due: Option<ErrorCode>,
    /// Length of the message in `first`.
    first_len: Len,
    pub(super) credit: Credit,
    granted: Granted,
    /// Oldest content that was received and not taken. Mostly it is the only one, and then always
    /// in the same place, where it is made: moving a value that was just written waits for the
    /// writes.
    first: Option<M>,
    /// Content received behind `first`; allocated when it first arrives.
    #[allow(clippy::box_collection, reason = "one word, with which the last line is full")]
    behind: Option<Box<VecDeque<Queued<M>>>>,
}

/// Returns the size of a stream in the table.
pub const fn size_in_table<M>() -> usize {
    size_of::<Option<Stream<M>>>()
}

impl<M> Stream<M> {
    pub(super) fn new(number: u32, own: Window, peers: Window) -> Self {
        Self {
            abandoned: false,
            is_listed: false,
            is_read: false,
            fin_due: false,
            number,
            outgoing: Direction::New,
            incoming: Direction::New,
            reset_due: None,
            first_len: Len::of(None),
            credit: Credit::new(peers),
            granted: Granted::new(own),
            first: None,
            behind: None,
        }
    }

    /// Returns an error if an entry with such content may not be sent now.
    #[inline]
    pub(super) fn may_send(&self, carried: Carried) -> Result<(), Refusal> {
        if let Some(code) = self.incoming.reset_code() {
            return Err(Refusal::Reset(code));
        }
        match (self.outgoing, self.reset_due) {
            (Direction::Reset(code), _) | (_, Some(code)) => Err(Refusal::Reset(code)),
            (Direction::Finished, None) => Err(Refusal::Finished),
            (Direction::Open, None) if carried.metadata && !carried.last => Err(Refusal::Metadata),
            _ if carried.message.is_some() && !self.credit.allows_a_message() => {
                Err(Refusal::Window)
            }
            _ => Ok(()),
        }
    }

    /// Records that an entry that [`Self::may_send`] allowed was published.
    #[inline]
    pub(super) fn sent(&mut self, carried: Carried) {
        if let Some(len) = carried.message {
            self.credit.spend(len);
        }
        self.outgoing = if carried.last { Direction::Finished } else { Direction::Open };
    }

    /// Validates a received entry and keeps its content. Returns true if a reader may wait for it.
    #[inline]
    pub(super) fn receive(
        &mut self,
        flags: u8,
        carried: Carried,
        content: impl FnOnce() -> M,
    ) -> Result<bool, StreamViolation> {
        if self.incoming.is_over() {
            return Err(StreamViolation::AfterEnd(self.number));
        }
        let at_an_end = self.incoming == Direction::New || carried.last;
        if (carried.metadata || carried.message.is_none()) && !at_an_end {
            return Err(StreamViolation::Flags(flags));
        }
        if let Some(len) = carried.message {
            self.granted.take(len)?;
        }
        self.incoming = if carried.last { Direction::Finished } else { Direction::Open };
        if !self.is_wanted() {
            // This side reset the stream: messages that were in flight are dropped, and the peer
            // stops when it receives the reset.
            return Ok(false);
        }
        if carried.message.is_some() || carried.metadata {
            let len = Len::of(carried.message);
            if self.first.is_none() {
                self.first_len = len;
                self.first = Some(content());
            } else {
                let behind = self.behind.get_or_insert_default();
                behind.push_back(Queued { content: content(), len });
            }
        }
        Ok(true)
    }

    /// Applies the peer's reset. Content that was not taken is dropped, unless the reset came
    /// behind the peer's last message: then it only refuses further messages of this side. Returns
    /// true if a reader may wait for it.
    pub(super) fn receive_reset(&mut self, code: ErrorCode) -> Result<bool, StreamViolation> {
        let is_wanted = self.is_wanted();
        self.incoming = match self.incoming {
            Direction::Reset(_) | Direction::Refusing(_) => {
                return Err(StreamViolation::AfterEnd(self.number));
            }
            Direction::Finished if is_wanted => Direction::Refusing(code),
            _ => {
                self.clear();
                Direction::Reset(code)
            }
        };
        self.answer_reset();
        Ok(is_wanted)
    }

    /// Makes the answer to the peer's reset due, but not while messages from before it wait to be
    /// taken: the answer frees the stream's number, and `max_streams` bounds the content that is
    /// kept. Returns true if the answer is now to be sent.
    fn answer_reset(&mut self) -> bool {
        let Some(code) = self.incoming.reset_code() else { return false };
        if self.first.is_some() || self.outgoing.is_over() || self.reset_due.is_some() {
            return false;
        }
        self.reset_due = Some(code);
        true
    }

    fn clear(&mut self) {
        self.first = None;
        self.behind = None;
    }

    /// Returns true if the application still takes received messages.
    fn is_wanted(&self) -> bool {
        !self.abandoned && self.reset_due.is_none() && !matches!(self.outgoing, Direction::Reset(_))
    }

    /// Takes the oldest content that was received and not taken. Returns the result of `read` on
    /// it, and true if a window, or the answer to a reset, is now due.
    #[inline]
    pub(super) fn take<R>(&mut self, read: impl FnOnce(&mut M) -> R) -> Option<(R, bool)> {
        let Some(first) = &mut self.first else {
            self.is_read = self.incoming == Direction::Finished;
            return None;
        };
        let (content, len) = (read(first), self.first_len);
        self.first = None;
        if let Some(next) = self.behind.as_mut().and_then(|behind| behind.pop_front()) {
            (self.first, self.first_len) = (Some(next.content), next.len);
        }
        let due = len.get().is_some_and(|len| self.granted.consume(len));
        let due = if self.incoming.is_over() { self.answer_reset() } else { due };
        Some((content, due))
    }

    /// Returns true if nothing can be taken and both directions are open.
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        self.first.is_none()
            && !self.incoming.is_over()
            && !self.outgoing.is_over()
            && self.reset_due.is_none()
    }

    /// Returns the amount of the window to be returned to the peer, if that is due. It is not due
    /// on a stream on which the peer sends no more, or stops once it receives the reset.
    pub(super) fn window_due(&self) -> Option<Window> {
        let is_of_use = !self.incoming.is_over() && !self.is_reset_here();
        self.granted.due().filter(|_| is_of_use)
    }

    pub(super) fn window_sent(&mut self) {
        self.granted.give_back();
    }

    /// Resets both directions of the stream. Returns true if a reset is now to be sent.
    pub(super) fn reset(&mut self, code: ErrorCode) -> bool {
        self.clear();
        if let Direction::Refusing(code) = self.incoming {
            // The reader's messages are gone.
            self.incoming = Direction::Reset(code);
        }
        if self.reset_due.is_some() || matches!(self.outgoing, Direction::Reset(_)) {
            return false;
        }
        if self.is_over() {
            // The peer need not receive the reset. The reader must, because its messages are gone.
            self.outgoing = Direction::Reset(code);
            return false;
        }
        self.reset_due = Some(code);
        true
    }

    /// Abandons the stream for the application. Returns true if an entry is now to be sent: a reset
    /// if either side has not sent its last message, or FIN if the application was `asked` for the
    /// stream and has read it to its end.
    pub(super) fn abandon(&mut self, asked: bool) -> bool {
        self.abandoned = true;
        self.fin_due =
            asked && self.is_read && !self.outgoing.is_over() && self.reset_due.is_none();
        self.fin_due || self.reset(ErrorCode::Cancelled)
    }

    /// Returns true if both sides have sent their last entry, so that the stream's number may be
    /// used again.
    pub(super) fn is_over(&self) -> bool {
        self.outgoing.is_over() && self.incoming.is_over()
    }

    /// Ends the stream. The peer may use the number again from now on, so nothing more may be sent
    /// on it.
    pub(super) fn end(&mut self) {
        if let Some(code) = self.reset_due.take() {
            self.outgoing = Direction::Reset(code);
        }
    }

    /// Returns true if this side has reset the stream, or is about to.
    pub(super) fn is_reset_here(&self) -> bool {
        self.reset_due.is_some() || matches!(self.outgoing, Direction::Reset(_))
    }

    /// Returns true if the application does not hold the stream any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned
    }
}
