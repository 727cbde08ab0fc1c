//! Validation of heads, of messages as requests and replies, and of the entries beside them
//! (`docs/abi.md`, section 4.1).

use crate::violation::CallViolation;
use crate::{ErrorCode, Flags, Kind, RawHead};

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
    pub fn of(head: RawHead) -> Self {
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

/// Validates a message as a request.
#[inline]
pub fn request(head: RawHead) -> Result<Request, CallViolation> {
    check_request(head)?;
    Ok(Request::of(head))
}

/// Validates a message as a request without metadata, as the hello has asked for. Returns nothing
/// that would be moved as a whole, before [`Request::of`]: a processor that does so with what was
/// just written in parts waits for it, some 5 ns.
#[inline(always)]
pub fn check_plain_request(head: RawHead) -> Result<(), CallViolation> {
    check_request(head)?;
    let has_metadata = Flags::from_bits(head.flags).has(Flags::METADATA);
    if has_metadata { Err(CallViolation::NotARequest(head.flags)) } else { Ok(()) }
}

#[inline(always)]
fn check_request(head: RawHead) -> Result<(), CallViolation> {
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

/// Validates a message as the reply to a call in flight, which may carry `extra` as well. Gives the
/// code of a call that failed.
#[inline]
pub fn reply(head: RawHead, extra: Flags) -> Result<Option<ErrorCode>, CallViolation> {
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
        going_away: bool,
    },
}

/// The subject of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
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
pub fn validate(head: RawHead, len: usize, side: Side) -> Result<Subject, CallViolation> {
    let kind = Kind::from_number(head.kind).ok_or(CallViolation::Kind(head.kind))?;
    let (about, expected) = match (kind, side) {
        (Kind::Message, _) => return Ok(Subject::Message),
        (Kind::Reset, _) => (Subject::Reset, 0),
        (Kind::Cancel, Side::Server) => (Subject::Cancel, 0),
        (Kind::Window, _) => (Subject::Window, WINDOW_LEN),
        (Kind::GoAway, Side::Client { going_away: false }) => (Subject::GoAway, 0),
        (Kind::Shutdown, _) => (Subject::Shutdown, 0),
        _ => return Err(CallViolation::Unexpected(kind)),
    };
    if len == expected { Ok(about) } else { Err(CallViolation::BodyLength { kind, len }) }
}

/// Validates an entry at an end without streams: there is no window and nothing to reset, but a
/// peer may name a stream that is over.
#[inline]
pub fn validate_plain(head: RawHead, len: usize, side: Side) -> Result<Subject, CallViolation> {
    match validate(head, len, side)? {
        Subject::Reset if head.stream == 0 => Err(CallViolation::Unexpected(Kind::Reset)),
        Subject::Window if head.stream == 0 => Err(CallViolation::Unexpected(Kind::Window)),
        about => Ok(about),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(flags: Flags, stream: u32) -> RawHead {
        RawHead { kind: Kind::Message as u8, flags: flags.bits(), stream, tag: 9, time: 0 }
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
}
