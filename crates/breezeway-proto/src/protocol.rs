//! The protocol of calls without IO: entries and numbers in, decisions out (`docs/abi.md`, section
//! 4.1). Payload never comes here.

use std::collections::VecDeque;

use thiserror::Error;

use crate::connection::StreamViolation;
use crate::{Flags, Kind};

/// The peer broke a rule, which ends the session.
#[derive(Debug, Error)]
pub enum Violation {
    /// A rule of calls, on any carrier.
    #[error(transparent)]
    Call(#[from] CallViolation),
    /// A rule of streams, on any carrier.
    #[error(transparent)]
    Stream(#[from] StreamViolation),
}

/// The peer broke a rule of calls.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallViolation {
    /// Flags that do not belong together, or not on this carrier.
    #[error("flags {0:#04x} do not belong together here")]
    Flags(u8),
    /// A request without OPEN and FIN, or with flags of a reply.
    #[error("a message with flags {0:#04x} is no request")]
    NotARequest(u8),
    /// A reply without FIN, or with flags of a request.
    #[error("a message with flags {0:#04x} is no reply")]
    NotAReply(u8),
    /// A request on a stream number that a client does not use.
    #[error("a request on stream {0}; clients use odd numbers")]
    StreamNumber(u32),
    /// A reply to a call that is not in flight.
    #[error("a reply on stream {0}, where no call is in flight")]
    UnexpectedReply(u32),
    /// More calls in flight than both rings have room for.
    #[error("more calls in flight than the agreed {0}")]
    TooManyCalls(usize),
    /// An entry that this side does not expect.
    #[error("an unexpected {0:?} entry")]
    Unexpected(Kind),
    /// An entry whose body has another length than its kind allows.
    #[error("a {kind:?} entry with a body of {len} bytes")]
    BodyLength {
        /// The kind.
        kind: Kind,
        /// The body's length.
        len: usize,
    },
    /// A kind that is not defined.
    #[error("kind {0} is not defined")]
    Kind(u8),
    /// A frame's length is more than the session's cap, or than its kind allows.
    #[error("a frame of kind {kind} with {len} bytes; a message has at most {cap}, others none")]
    FrameLength {
        /// The kind's number.
        kind: u8,
        /// The length.
        len: usize,
        /// The largest message.
        cap: usize,
    },
    /// File descriptors where none belong.
    #[error("{0} file descriptors where messages travel on the socket")]
    Descriptors(usize),
}

/// What the peer says of a message or another entry, before it was judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerHead {
    /// Number of the kind.
    pub kind: u8,
    /// Bits of the flags.
    pub flags: u8,
    /// Stream number.
    pub stream: u32,
    /// Method, error code, or what the kind says.
    pub tag: u32,
    /// How long the sender will wait, as it is coded.
    pub time: u16,
}

/// Why a call failed on the server, as its reply says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorCode {
    /// The handler returned an error.
    Failed,
    /// The handler panicked.
    Panicked,
    /// There was no memory for the reply.
    NoMemory,
    /// The server has no such method.
    NoSuchMethod,
    /// The other side no longer wants it.
    Cancelled,
    /// It took longer than it was given.
    DeadlinePassed,
    /// The other side takes no streams, or not this one.
    Refused,
    /// The other side has too much to do.
    Overloaded,
    /// A code of the application's own, which this library hands through.
    Application(u16),
    /// A code that this version does not know.
    Other(u32),
}

/// Bytes of the reason in the reply to a failed call that are sent, and that are read, at most.
pub const LONGEST_REASON: usize = 1024;

/// The number of the application's code 0.
const APPLICATION_CODES: u32 = 0x1_0000;

impl ErrorCode {
    /// The number in a reply's tag.
    pub fn number(self) -> u32 {
        match self {
            Self::Failed => 1,
            Self::Panicked => 2,
            Self::NoMemory => 3,
            Self::NoSuchMethod => 4,
            Self::Cancelled => 5,
            Self::DeadlinePassed => 6,
            Self::Refused => 7,
            Self::Overloaded => 8,
            Self::Application(code) => APPLICATION_CODES + u32::from(code),
            Self::Other(number) => number,
        }
    }

    /// The code with this number.
    pub fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Failed,
            2 => Self::Panicked,
            3 => Self::NoMemory,
            4 => Self::NoSuchMethod,
            5 => Self::Cancelled,
            6 => Self::DeadlinePassed,
            7 => Self::Refused,
            8 => Self::Overloaded,
            other => match other.checked_sub(APPLICATION_CODES).map(u16::try_from) {
                Some(Ok(code)) => Self::Application(code),
                _ => Self::Other(other),
            },
        }
    }
}

/// The most calls in flight on a session whose rings have these capacities: what a client has not
/// yet received always fits into the reply ring, of which up to a quarter is consumed but not yet
/// known to be, with room to spare for entries of the session.
pub fn max_in_flight(ring_capacities: [u32; 2]) -> usize {
    ring_capacities[0].min(ring_capacities[1]) as usize / 2
}

/// Flags of a request that wants a reply.
pub const REQUEST: Flags = Flags::OPEN.with(Flags::FIN);
/// Flags of a request that wants none.
pub const ONE_WAY: Flags = REQUEST.with(Flags::NO_REPLY);

/// A request, as a server sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Stream number.
    pub stream: u32,
    /// The method.
    pub method: u32,
    /// Whether it wants no reply.
    pub one_way: bool,
    /// Whether a metadata block comes before the message.
    pub metadata: bool,
    /// How long the client will wait, as it is coded.
    pub time: u16,
}

impl Request {
    /// What a head says that was checked.
    #[inline(always)]
    pub fn of(head: PeerHead) -> Self {
        let flags = Flags::from_bits(head.flags);
        Self {
            stream: head.stream,
            method: head.tag,
            one_way: flags.has(Flags::NO_REPLY),
            metadata: flags.has(Flags::METADATA),
            time: head.time,
        }
    }
}

/// Judges a message as a request.
#[inline]
pub fn request(head: PeerHead) -> Result<Request, CallViolation> {
    check_request(head)?;
    Ok(Request::of(head))
}

/// Judges a message as a request without metadata, as the hello has asked for. Gives nothing that
/// would be moved as a whole, before [`Request::of`]: a processor that does so with what was just
/// written in parts waits for it, some 5 ns.
#[inline(always)]
pub fn check_plain_request(head: PeerHead) -> Result<(), CallViolation> {
    check_request(head)?;
    let has_metadata = Flags::from_bits(head.flags).has(Flags::METADATA);
    if has_metadata { Err(CallViolation::NotARequest(head.flags)) } else { Ok(()) }
}

#[inline(always)]
fn check_request(head: PeerHead) -> Result<(), CallViolation> {
    let flags = Flags::from_bits(head.flags);
    let kind = flags.without(Flags::LENT).without(Flags::NO_REPLY).without(Flags::METADATA);
    if kind != REQUEST {
        return Err(CallViolation::NotARequest(head.flags));
    }
    if head.stream.is_multiple_of(2) {
        return Err(CallViolation::StreamNumber(head.stream));
    }
    Ok(())
}

/// Judges a message as the reply to a call in flight, which may carry `extra` as well. Gives the
/// code of a call that failed.
#[inline]
pub fn reply(head: PeerHead, extra: Flags) -> Result<Option<ErrorCode>, CallViolation> {
    let flags = Flags::from_bits(head.flags);
    if flags.without(Flags::LENT).without(Flags::ERROR).without(extra) != Flags::FIN {
        return Err(CallViolation::NotAReply(head.flags));
    }
    Ok(flags.has(Flags::ERROR).then(|| ErrorCode::from_number(head.tag)))
}

/// Which end of a session judges, and what was said there before.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    /// The server.
    Server,
    /// The client.
    Client {
        /// Whether the server has said that it goes away.
        told: bool,
    },
}

/// The subject of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A message.
    Message,
    /// The client no longer wants a reply.
    Cancel,
    /// Messages and bytes given back.
    Window,
    /// The stream is over.
    Reset,
    /// The server wants nothing new.
    GoAway,
    /// The sender closes.
    Shutdown,
}

/// Bytes in the body of a window entry.
pub const WINDOW_LEN: usize = 8;

/// Validates the kind of an entry and the length of its body. Entries about segments do not come
/// here.
#[inline]
pub fn judge(head: PeerHead, len: usize, side: Side) -> Result<About, CallViolation> {
    let kind = Kind::from_number(head.kind).ok_or(CallViolation::Kind(head.kind))?;
    let (about, expected) = match (kind, side) {
        (Kind::Message, _) => return Ok(About::Message),
        (Kind::Reset, _) => (About::Reset, 0),
        (Kind::Cancel, Side::Server) => (About::Cancel, 0),
        (Kind::Window, _) => (About::Window, WINDOW_LEN),
        (Kind::GoAway, Side::Client { told: false }) => (About::GoAway, 0),
        (Kind::Shutdown, _) => (About::Shutdown, 0),
        _ => return Err(CallViolation::Unexpected(kind)),
    };
    if len == expected { Ok(about) } else { Err(CallViolation::BodyLength { kind, len }) }
}

/// As [`judge`], at an end without streams: there is no window and nothing to reset, but a peer may
/// name a stream that is over.
#[inline]
pub fn judge_plain(head: PeerHead, len: usize, side: Side) -> Result<About, CallViolation> {
    match judge(head, len, side)? {
        About::Reset if head.stream == 0 => Err(CallViolation::Unexpected(Kind::Reset)),
        About::Window if head.stream == 0 => Err(CallViolation::Unexpected(Kind::Window)),
        about => Ok(about),
    }
}

/// A call in flight, or the reply to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallId(pub(crate) u32);

impl CallId {
    /// The call on the stream with this number.
    pub fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// A reply, as a client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The call that it answers.
    pub call: CallId,
    /// Set if the call failed.
    pub error: Option<ErrorCode>,
    /// Whether somebody still wants it.
    pub wanted: bool,
}

/// A client's calls.
#[derive(Debug)]
pub struct Calls {
    next: u32,
    /// No number from `next` up to this one, modulo 2³², is in use.
    in_use: u32,
    limit: usize,
    /// In the order of their requests; a server answers one session in order, so the reply's call
    /// is mostly the first.
    in_flight: VecDeque<(CallId, bool)>,
    wanted: usize,
}

impl Calls {
    /// No call yet, of `limit` at one time.
    pub fn new(limit: usize) -> Self {
        Self { next: 1, in_use: 1, limit, in_flight: VecDeque::with_capacity(limit), wanted: 0 }
    }

    /// The most calls in flight.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Calls whose reply is still to be received.
    #[inline]
    pub fn wanted(&self) -> usize {
        self.wanted
    }

    /// Calls that were given up and whose reply has not come.
    pub fn late(&self) -> usize {
        self.in_flight.len() - self.wanted
    }

    /// Calls whose reply has not come, wanted or not.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether one more call may go out. Calls that were given up count until their late reply has
    /// come.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.in_flight.len() < self.limit
    }

    /// The stream of the next message.
    #[inline]
    pub fn next_stream(&self) -> u32 {
        self.next
    }

    /// A request went out on [`Self::next_stream`].
    #[inline]
    pub fn sent(&mut self) -> CallId {
        let call = CallId(self.next);
        self.in_flight.push_back((call, true));
        self.wanted += 1;
        self.posted();
        call
    }

    /// A one-way message went out on [`Self::next_stream`].
    #[inline]
    pub fn posted(&mut self) {
        self.next = self.next.wrapping_add(2);
        if self.next == self.in_use {
            self.pass_over_numbers_in_use();
        }
    }

    #[cold]
    fn pass_over_numbers_in_use(&mut self) {
        let distance =
            |next: u32| self.in_flight.iter().map(move |(call, _)| call.0.wrapping_sub(next)).min();
        let mut next = self.next;
        while distance(next) == Some(0) {
            next = next.wrapping_add(2);
        }
        self.in_use = next.wrapping_add(distance(next).unwrap_or(0));
        self.next = next;
    }

    /// Nobody waits any more for the replies of the calls in flight.
    pub fn give_up(&mut self) {
        for (_, wanted) in &mut self.in_flight {
            *wanted = false;
        }
        self.wanted = 0;
    }

    /// Whether somebody waits for what an entry of kind message replies to.
    pub fn wants(&self, head: PeerHead) -> bool {
        self.in_flight.contains(&(CallId(head.stream), true))
    }

    /// Ends a call that is not the oldest; gives whether somebody waited for it.
    fn end_later_call(&mut self, call: CallId) -> Result<bool, CallViolation> {
        let index = self.in_flight.iter().position(|&(other, _)| other == call);
        let ended = index.and_then(|index| self.in_flight.remove(index));
        ended.map(|(_, wanted)| wanted).ok_or(CallViolation::UnexpectedReply(call.0))
    }

    /// Judges a message as a reply, and ends its call.
    #[inline]
    pub fn answer(&mut self, head: PeerHead) -> Result<Answer, CallViolation> {
        // Metadata belongs to what the hello said this end does not take.
        let error = reply(head, Flags::NONE)?;
        let call = CallId(head.stream);
        let wanted = match self.in_flight.front() {
            Some(&(first, wanted)) if first == call => {
                self.in_flight.pop_front();
                wanted
            }
            _ => self.end_later_call(call)?,
        };
        self.wanted -= usize::from(wanted);
        Ok(Answer { call, error, wanted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(flags: Flags, stream: u32) -> PeerHead {
        PeerHead { kind: Kind::Message as u8, flags: flags.bits(), stream, tag: 9, time: 0 }
    }

    #[test]
    fn a_request_opens_and_ends_its_side_of_an_odd_stream() {
        let two_way = Request { stream: 7, method: 9, one_way: false, metadata: false, time: 0 };
        assert_eq!(request(message(REQUEST, 7)), Ok(two_way));
        assert_eq!(request(message(REQUEST.with(Flags::LENT), 7)), Ok(two_way));
        assert_eq!(request(message(ONE_WAY, 7)), Ok(Request { one_way: true, ..two_way }));
    }

    #[test]
    fn messages_that_are_no_requests_are_violations() {
        for flags in [
            Flags::NONE,
            Flags::OPEN,
            Flags::FIN,
            Flags::NO_REPLY,
            REQUEST.with(Flags::ERROR),
            Flags::FIN.with(Flags::NO_REPLY),
        ] {
            let judged = request(message(flags, 7));
            assert_eq!(judged, Err(CallViolation::NotARequest(flags.bits())));
        }
        for stream in [0, 2, u32::MAX - 1] {
            let judged = request(message(REQUEST, stream));
            assert_eq!(judged, Err(CallViolation::StreamNumber(stream)));
        }
    }

    #[test]
    fn a_reply_ends_its_call_once() {
        let mut calls = Calls::new(4);
        let call = calls.sent();
        assert_eq!(calls.wanted(), 1);
        let reply = message(Flags::FIN, call.0);
        assert_eq!(calls.answer(reply), Ok(Answer { call, error: None, wanted: true }));
        assert_eq!(calls.wanted(), 0);
        assert_eq!(calls.answer(reply), Err(CallViolation::UnexpectedReply(call.0)));
    }

    #[test]
    fn replies_may_come_in_any_order() {
        let mut calls = Calls::new(4);
        let sent: Vec<_> = (0..4).map(|_| calls.sent()).collect();
        assert!(!calls.has_room());
        for index in [2, 0, 3, 1] {
            let answer = calls.answer(message(Flags::FIN, sent[index].0)).unwrap();
            assert_eq!(answer.call, sent[index]);
        }
        assert!(calls.has_room());
    }

    #[test]
    fn messages_that_are_no_replies_are_violations() {
        for flags in [Flags::NONE, Flags::OPEN, REQUEST, Flags::FIN.with(Flags::NO_REPLY)] {
            let mut calls = Calls::new(4);
            let call = calls.sent();
            let judged = calls.answer(message(flags, call.0));
            assert_eq!(judged, Err(CallViolation::NotAReply(flags.bits())));
        }
    }

    #[test]
    fn a_call_given_up_counts_until_its_late_reply_comes() {
        let mut calls = Calls::new(1);
        let call = calls.sent();
        calls.give_up();
        assert_eq!(calls.wanted(), 0);
        assert!(!calls.has_room());
        let answer = calls.answer(message(Flags::FIN.with(Flags::ERROR), call.0)).unwrap();
        assert_eq!(answer, Answer { call, error: Some(ErrorCode::Other(9)), wanted: false });
        assert!(calls.has_room());
    }

    #[test]
    fn stream_numbers_stay_odd_when_they_wrap() {
        let mut calls = Calls::new(1);
        calls.next = u32::MAX;
        calls.posted();
        assert_eq!(calls.next_stream(), 1);
    }

    #[test]
    fn numbers_in_use_are_passed_over_when_they_wrap() {
        let mut calls = Calls::new(4);
        let kept: Vec<_> = (0..3).map(|_| calls.sent().0).collect();
        assert_eq!(kept, [1, 3, 5]);
        calls.answer(message(Flags::FIN, 3)).unwrap();
        calls.next = u32::MAX;
        assert_eq!(calls.sent().0, u32::MAX);
        let next: Vec<_> = (0..3)
            .map(|_| {
                let call = calls.sent();
                calls.answer(message(Flags::FIN, call.0)).unwrap();
                call.0
            })
            .collect();
        assert_eq!(next, [3, 7, 9]);
    }

    #[test]
    fn every_error_code_survives_its_number() {
        for number in (0..10).chain(0xffff..0x1_0003).chain(0x1_fffe..0x2_0002).chain([u32::MAX]) {
            assert_eq!(ErrorCode::from_number(number).number(), number);
        }
    }
}
