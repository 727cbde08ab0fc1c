//! Sending of entries on a shared session: at once, when there is room, or behind others.

use std::sync::Arc;
use std::task::{Context, Poll};

use breezeway_os::Deadline;
use breezeway_proto::connection::{Lack, METADATA_PREFIX};
use breezeway_proto::{ErrorCode, Head, LONGEST_REASON};
use breezeway_shm::layout::INLINE_MAX;
use breezeway_shm::{ForeignBytes, SendError, Want};

use super::outgoing::{Content, Outgoing};
use super::state::State;
use crate::carrier::Body;
use crate::error::CallError;
use crate::link::OwnedBody;

impl State {
    /// Returns an error if no call or stream may be begun.
    pub(super) fn may_begin(&self) -> Result<(), CallError> {
        if let Some(end) = self.connection.ending.reason() {
            return Err(CallError::NotSent(Arc::clone(end)));
        }
        if self.connection.ending.is_going_away() { Err(CallError::GoingAway) } else { Ok(()) }
    }

    /// Refuses metadata that the peer does not take.
    pub(super) fn check_metadata(&self, metadata: Option<&[u8]>) -> Result<(), CallError> {
        let (len, limit) = (metadata.map_or(0, <[u8]>::len), self.max_metadata[1]);
        if len > limit { Err(CallError::TooMuchMetadata { len, limit }) } else { Ok(()) }
    }

    /// Publishes an entry, or remembers the waiter until there is room for it.
    pub(super) fn poll_send(
        &mut self,
        cx: &Context<'_>,
        head: Head,
        outgoing: &mut Outgoing<'_>,
    ) -> Poll<Result<(), CallError>> {
        let outcome = self.send_behind_replies(head, outgoing);
        self.or_await_room(cx, outcome)
    }

    /// Returns the result of sending or reserving, or remembers the waiter until there is room.
    pub(super) fn or_await_room<T>(
        &mut self,
        cx: &Context<'_>,
        outcome: Result<T, SendError>,
    ) -> Poll<Result<T, CallError>> {
        match outcome {
            Ok(outcome) => Poll::Ready(Ok(outcome)),
            Err(SendError::Full { .. } | SendError::NoMemory { until: Some(_), .. }) => {
                self.awaiting.room.remember(cx, &mut self.due);
                Poll::Pending
            }
            Err(error) => Poll::Ready(Err(self.failed(error))),
        }
    }

    /// Converts the error of an entry that was not sent. An error of the session ends it.
    pub(super) fn failed(&mut self, error: SendError) -> CallError {
        let error = CallError::of_send(error);
        if error.session_goes_on() {
            return error;
        }
        self.finish(error);
        self.check().err().unwrap_or(CallError::Ended)
    }

    /// Sends an entry that has no waiter, at the latest when there is room for it. A reply that
    /// finds none in time fails its call.
    pub(super) fn send_or_keep(
        &mut self,
        head: Head,
        mut outgoing: Outgoing<'_>,
        until: Deadline,
    ) -> Result<(), CallError> {
        if self.is_ended() {
            return self.send_behind_the_end(head, outgoing);
        }
        let outcome = match self.begin_copy(head, &mut outgoing, until) {
            Ok(false) => self.send_behind_replies(head, &mut outgoing),
            begun => begun.map(|_| ()),
        };
        match outcome {
            Ok(()) => Ok(()),
            // Memory that other sessions hold, or that this process or the machine lacks, may come
            // back at any time, or never, and no event would report it.
            Err(error @ SendError::Segment(_)) => Err(self.failed(error)),
            Err(error @ (SendError::Full { .. } | SendError::NoMemory { until: Some(_), .. })) => {
                let is_full = matches!(error, SendError::Full { .. });
                let lack = if is_full { Lack::Slot } else { Lack::Memory };
                match outgoing.into_owned(head) {
                    Ok((head, body)) => self.keep(head, body, lack, until),
                    Err(error) => return Err(self.failed(error)),
                }
                Ok(())
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Replies that a call failed: with its whole reason, or with `short` if that finds no memory.
    pub(super) fn send_failure(
        &mut self,
        stream: u32,
        code: ErrorCode,
        (reason, short): (&str, &str),
        until: Deadline,
    ) {
        let head = Head::of_failure(stream, code);
        let mut bytes = &reason.as_bytes()[..reason.floor_char_boundary(LONGEST_REASON)];
        if !self.connection.ending.may_send() {
            // As much of the reason is sent as finds room at once.
            let _ = self.send_behind_the_end(head, Outgoing::message(bytes));
            return;
        }
        let mut sent = self.send_behind_replies(head, &mut Outgoing::message(bytes));
        if matches!(sent, Err(SendError::NoMemory { .. } | SendError::Segment(_))) {
            bytes = &short.as_bytes()[..short.floor_char_boundary(INLINE_MAX)];
            sent = self.send_behind_replies(head, &mut Outgoing::message(bytes));
        }
        match sent {
            Ok(()) => {}
            // So few bytes need no check of the remaining space.
            Err(SendError::Full { .. }) => {
                self.keep(head, OwnedBody::Private(bytes.to_vec()), Lack::Slot, until);
            }
            // The error has ended the session, and all waiters receive it.
            Err(error) => drop(self.failed(error)),
        }
    }

    /// Begins to send a received message that is so large that a driver's turns copy it in pieces.
    /// Returns false for any other.
    fn begin_copy(
        &mut self,
        head: Head,
        outgoing: &mut Outgoing<'_>,
        until: Deadline,
    ) -> Result<bool, SendError> {
        let head = outgoing.head(head);
        let Content::Received(message) = &mut outgoing.content else { return Ok(false) };
        if !self.has_driver {
            return Ok(false);
        }
        let carrier = self.link.carrier;
        let Some(mut body) = OwnedBody::in_pieces(carrier, message) else { return Ok(false) };
        // If there are several, one is copied at a time.
        if !self.connection.backlog.is_copying()
            && let Err(error) = self.link.send_owned(head, &mut body)
        {
            body.give_back(message);
            return Err(error);
        }
        self.keep(head, body, Lack::Copy, until);
        self.wake_driver();
        Ok(true)
    }

    /// Sends an entry unless replies wait for slots.
    pub(super) fn send_behind_replies(
        &mut self,
        head: Head,
        outgoing: &mut Outgoing<'_>,
    ) -> Result<(), SendError> {
        if self.connection.backlog.lacks_slots() {
            return Err(SendError::Full { unconsumed: 0, until: Want::Data });
        }
        self.send(head, outgoing)
    }

    fn send(&mut self, head: Head, outgoing: &mut Outgoing<'_>) -> Result<(), SendError> {
        let head = outgoing.head(head);
        match (&mut outgoing.content, outgoing.metadata) {
            (Content::Space(space, _), _) => self.send_space(head, space)?,
            (Content::Received(message), _) => self.link.send_copy(head, message.bytes())?,
            (content, None) => {
                self.link.send(head, Body::Bytes(content.copied().unwrap_or_default()))?;
            }
            (_, Some(metadata)) => self.send_with_metadata(head, metadata, outgoing)?,
        }
        self.unflushed = true;
        Ok(())
    }

    fn send_space(&mut self, head: Head, space: &mut OwnedBody) -> Result<(), SendError> {
        let is_cut = space.is_cut();
        self.link.send_owned(head, space)?;
        if is_cut {
            self.due.append(&mut self.awaiting.room);
            // One of them may be the thread that leads, which sleeps in another place.
            self.wake_driver();
        }
        Ok(())
    }

    fn send_with_metadata(
        &mut self,
        head: Head,
        metadata: &[u8],
        outgoing: &Outgoing<'_>,
    ) -> Result<(), SendError> {
        let len = outgoing.body_len();
        if len <= INLINE_MAX {
            let mut bytes = [0; INLINE_MAX];
            outgoing.write_to(&mut bytes[..len]);
            self.link.send(head, Body::Bytes(&bytes[..len]))?;
        } else {
            self.link.reserve(len)?;
            let mut filling = self.link.fill();
            filling.write(0, ForeignBytes::stable(&outgoing.prefix()));
            filling.write(METADATA_PREFIX, ForeignBytes::stable(metadata));
            let start = METADATA_PREFIX + metadata.len();
            filling
                .write(start, ForeignBytes::stable(outgoing.content.copied().unwrap_or_default()));
            if let Err(error) = self.link.send(head, Body::Space) {
                self.link.truncate(0);
                return Err(error);
            }
        }
        Ok(())
    }
}
