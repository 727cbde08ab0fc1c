//! Validation of heads, of messages as requests and replies, and of the entries beside them
//! (`docs/abi.md`, section 4.1).

use crate::entry::REQUEST;
use crate::entry::{Flags, Kind, RawHead};
use crate::error_code::ErrorCode;
use crate::violation::CallViolation;

/// Returns the maximum number of calls in flight on a session with rings of these capacities. The
/// replies that a client has not yet received always fit into the reply ring, although up to a
/// quarter of it is consumed but not yet known to be, and leave room for entries of the session.
pub fn max_in_flight(ring_capacities: [u32; 2]) -> usize {
    ring_capacities[0].min(ring_capacities[1]) as usize / 2
}

/// Request, as a server sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Stream number.
    pub stream: u32,
    /// Method of the request.
    pub method: u32,
    /// True for a one-way message.
    pub one_way: bool,
    /// True if a metadata block precedes the message.
    pub metadata: bool,
    /// Time that the client will wait, encoded.
    pub time: u16,
}

impl Request {
    /// Returns the request of a validated head.
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

/// Validates a message as a request without metadata, which the hello requires. Returns no request,
/// which [`Request::of`] makes later: a processor that moves a value as a whole waits for the
/// writes if it was just written in parts, some 5 ns.
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

/// Validates a message as the reply to a call in flight, which may carry `extra` as well. Returns
/// the code of a call that failed.
#[inline]
pub fn reply(head: RawHead, extra: Flags) -> Result<Option<ErrorCode>, CallViolation> {
    let flags = Flags::from_bits(head.flags);
    if flags.without(Flags::LENT).without(Flags::ERROR).without(extra) != Flags::FIN {
        return Err(CallViolation::NotAReply(head.flags));
    }
    Ok(flags.has(Flags::ERROR).then(|| ErrorCode::from_number(head.tag)))
}

/// End of a session that validates an entry, with its state.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    /// Server's end.
    Server,
    /// Client's end.
    Client {
        /// True if the server has sent its go-away.
        going_away: bool,
    },
}

/// Subject of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Message.
    Message,
    /// Cancellation of a call by the client.
    Cancel,
    /// Messages and bytes of a window that are returned.
    Window,
    /// Reset of a stream.
    Reset,
    /// Go-away of the server.
    GoAway,
    /// Shutdown of the sender.
    Shutdown,
}

/// Length in bytes of the body of a window entry.
pub const WINDOW_LEN: usize = 8;

/// Validates the kind of an entry and the length of its body. Entries about segments are not passed
/// to this function.
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

/// Validates an entry at an end without streams: such an end has neither windows nor streams to
/// reset, but a peer may name a stream that is over.
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
    use crate::entry::ONE_WAY;

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
