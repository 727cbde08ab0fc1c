//! One request of a plain session while its handler runs, and the session's place.

mod place;
mod turn_waker;

use std::io;
use std::time::Duration;

use breezeway_os::Deadline;
use breezeway_os::memory::copy_of;
use breezeway_proto::validate::Request;
use breezeway_proto::{ErrorCode, Head, LONGEST_REASON, time_left};
use breezeway_shm::SendError;
use breezeway_shm::layout::INLINE_MAX;

use crate::carrier::Body;
use crate::error::{ReplyError, SegmentError, SessionError};
use crate::link::{Flush, Link, OwnedBody};
use crate::message::Message;
use crate::reasons::short_reason;
use crate::session::OwnedCall;

pub(crate) use place::{Place, Terms};
pub(crate) use turn_waker::{TurnQueue, TurnWaker};

/// The part of a session that a call uses.
pub(crate) struct Serving<'c> {
    /// The session's place. Space that a handler reserves and leaves unsent is given back when it
    /// returns.
    pub(crate) place: &'c mut Place,
    pub(crate) terms: &'c Terms,
    /// Set once the call is replied to, or was deferred.
    pub(crate) replied: &'c mut bool,
    pub(crate) request: Request,
}

impl Serving<'_> {
    #[inline(always)]
    pub(crate) fn link(&self) -> &Link {
        self.place.link()
    }

    #[inline(always)]
    pub(crate) fn link_mut(&mut self) -> &mut Link {
        self.place.link_mut()
    }

    fn head(&self) -> Head {
        Head::of_reply(self.request.stream)
    }

    /// Sends a reply, and the release of the request with it. A sleeping client is woken at once,
    /// whatever the handler does before it returns.
    #[inline]
    pub(crate) fn reply(&mut self, body: Body<'_>) -> Result<(), ReplyError> {
        if !self.request.one_way {
            let head = self.head();
            let link = self.link_mut();
            if !matches!(body, Body::Received) {
                link.release();
            }
            match link.send(head, body) {
                Ok(()) => self.sent()?,
                Err(error) => self.reply_later(body, error)?,
            }
        }
        *self.replied = true;
        Ok(())
    }

    /// Queues a reply that found no memory, as the client has to release other replies first.
    #[cold]
    fn reply_later(&mut self, body: Body<'_>, error: SendError) -> Result<(), ReplyError> {
        if !matches!(error, SendError::NoMemory { until: Some(_), .. }) {
            return Err(ReplyError::of_send(error));
        }
        let body = match body {
            Body::Bytes(bytes) => OwnedBody::Private(
                copy_of(bytes).map_err(SegmentError).map_err(ReplyError::Segment)?,
            ),
            Body::Received => OwnedBody::Received(Message::plain(self.link_mut().detach())),
            Body::Space => return Err(ReplyError::of_send(error)),
        };
        self.keep(body)
    }

    /// Shares the session; its threads send this reply once there is memory for it.
    pub(crate) fn keep(&mut self, reply: OwnedBody) -> Result<(), ReplyError> {
        self.link_mut().finish().map_err(SessionError::from)?;
        let deadline = Deadline::from(self.time_left());
        self.place.share(self.terms).keep_reply(self.request, reply, deadline);
        Ok(())
    }

    /// Returns the time that the client will still wait, measured from the start of the worker's
    /// turn, which began up to 50 µs before the handler.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let age = self.terms.turn_age().unwrap_or_default();
        time_left::decode(self.request.time).map(|time| time.saturating_sub(age))
    }

    /// Releases the request, and publishes the reply to the client.
    #[inline(always)]
    fn sent(&mut self) -> Result<(), SessionError> {
        *self.replied = true;
        // First, so that one publication covers both.
        self.link_mut().finish()?;
        Ok(self.link_mut().flush(Flush::All)?)
    }

    /// Shares the session, and detaches the call, with its request, from the handler.
    pub(crate) fn defer(&mut self) -> io::Result<OwnedCall> {
        let link = self.link_mut();
        let reserved = link.reserve_detached();
        reserved.map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))?;
        let request =
            if link.has_current() { Message::plain(link.detach()) } else { Message::default() };
        let deadline = Deadline::from(self.time_left());
        let call = self.place.share(self.terms).adopt(self.request, request, deadline);
        *self.replied = true;
        Ok(call)
    }

    /// Fails the present call.
    pub(crate) fn fail(mut self, code: ErrorCode, reason: &str) -> Result<(), ReplyError> {
        self.refuse(code, reason)
    }

    pub(crate) fn refuse(&mut self, code: ErrorCode, reason: &str) -> Result<(), ReplyError> {
        if !self.request.one_way {
            self.link_mut().release();
            self.publish_failure(code, reason)?;
            self.sent()?;
        }
        *self.replied = true;
        Ok(())
    }

    /// Publishes a failure: the full reason if there is memory for it, else as much as an entry
    /// holds.
    fn publish_failure(&mut self, code: ErrorCode, reason: &str) -> Result<(), ReplyError> {
        let head = Head::of_failure(self.request.stream, code);
        let cut = |len: usize| &reason.as_bytes()[..reason.floor_char_boundary(len)];
        match self.publish(head, cut(LONGEST_REASON)) {
            Err(
                error @ (ReplyError::TooLarge { .. }
                | ReplyError::NoMemory { .. }
                | ReplyError::Segment(_)),
            ) => {
                let short = if code == ErrorCode::NoMemory {
                    let refused = match &error {
                        ReplyError::Segment(error) => Some(&error.0),
                        _ => None,
                    };
                    short_reason(refused).as_bytes()
                } else {
                    cut(INLINE_MAX)
                };
                self.publish(head, short)
            }
            other => other,
        }
    }

    fn publish(&mut self, head: Head, reason: &[u8]) -> Result<(), ReplyError> {
        self.link_mut().send(head, Body::Bytes(reason)).map_err(ReplyError::of_send)
    }
}
