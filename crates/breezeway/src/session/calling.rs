//! Calls, one-way messages and streams that this side begins, and calls that it gives up.

use std::task::{Context, Poll, Waker};

use breezeway_os::Deadline;
use breezeway_proto::Head;
use breezeway_proto::connection::StreamKey;
use breezeway_proto::in_flight::CallId;

use super::outgoing::Outgoing;
use super::receiving::QueuedMessage;
use super::state::State;
use super::waiters::{replace, withdraw};
use crate::error::{CallError, StreamError};
use crate::message::Message;

impl State {
    /// Sends a request, if there is room for it.
    pub(super) fn poll_call(
        &mut self,
        cx: &Context<'_>,
        method: u32,
        outgoing: &mut Outgoing<'_>,
        time: u16,
    ) -> Poll<Result<u32, CallError>> {
        self.may_begin()?;
        self.check_metadata(outgoing.metadata)?;
        if !self.connection.calls.has_room() {
            self.awaiting.call.remember(cx, &mut self.due);
            return Poll::Pending;
        }
        let stream = self.connection.next_number();
        let head = Head::of_call(stream, method, time);
        let sent = self.poll_send(cx, head, outgoing);
        sent.map_ok(|()| {
            self.connection.call_sent();
            stream
        })
    }

    /// Takes the reply to a call.
    pub(super) fn poll_answer(
        &mut self,
        cx: &mut Context<'_>,
        number: u32,
    ) -> Poll<Result<Message, CallError>> {
        if self.may_stand_in()
            && let Some(waiter) = self.connection.calls.waiter(number)
        {
            withdraw(waiter, cx);
            self.stand_in(cx);
        }
        if let Some(answer) = self.connection.calls.take(number) {
            let failed = |(code, reason)| CallError::Failed {
                call: CallId::from_number(number),
                code,
                reason,
            };
            return Poll::Ready(answer.map(QueuedMessage::into_message).map_err(failed));
        }
        if let Err(error) = self.check() {
            self.give_up(number);
            return Poll::Ready(Err(error));
        }
        if let Some(waiter) = self.connection.calls.waiter(number) {
            self.discarded.extend(replace(waiter, cx));
        }
        Poll::Pending
    }

    /// Gives up the wait for a reply, and notifies the server.
    pub(super) fn cancel_call(&mut self, number: u32) {
        if self.give_up(number) && !self.is_ended() {
            let head = Head::of_cancel(number);
            // An error has ended the session, and all waiters receive it.
            let _ = self.send_or_keep(head, Outgoing::message(&[]), Deadline::NEVER);
        }
    }

    /// Gives up the wait for a reply. Returns true if the reply is still pending.
    pub(super) fn give_up(&mut self, number: u32) -> bool {
        let waited = self.connection.calls.give_up(number);
        let is_to_come = waited.is_some();
        self.discarded.extend(waited.flatten());
        is_to_come
    }

    /// Returns true if the client no longer wants the reply to a call; otherwise wakes `waker` once
    /// that is so.
    pub(super) fn is_cancelled(&mut self, number: u32, waker: Option<&Waker>) -> bool {
        let Some(call) = self.connection.served.get_mut(number) else { return true };
        if !call.cancelled
            && let Some(waker) = waker
        {
            self.discarded.extend(call.waiter.replace(waker.clone()));
        }
        call.cancelled
    }

    pub(super) fn poll_post(
        &mut self,
        cx: &Context<'_>,
        method: u32,
        outgoing: &mut Outgoing<'_>,
    ) -> Poll<Result<(), CallError>> {
        self.may_begin()?;
        self.check_metadata(outgoing.metadata)?;
        if !self.connection.streams.may_send_one_way() {
            self.awaiting.one_way.remember(cx, &mut self.due);
            return Poll::Pending;
        }
        let stream = self.connection.next_number();
        let head = Head::of_one_way(stream, method);
        let len = outgoing.message_len();
        self.poll_send(cx, head, outgoing).map_ok(|()| self.connection.one_way_sent(len))
    }

    pub(super) fn poll_open(
        &mut self,
        cx: &Context<'_>,
        method: u32,
        outgoing: &mut Outgoing<'_>,
        last: bool,
        time: u16,
    ) -> Poll<Result<StreamKey, StreamError>> {
        self.may_begin()?;
        self.check_metadata(outgoing.metadata)?;
        self.connection.streams.may_open().map_err(|error| StreamError::TooMany(error.0))?;
        let stream = self.connection.next_number();
        let head = Head::of_opening(stream, method, last, time);
        let sent = self.poll_send(cx, head, outgoing);
        sent.map_err(StreamError::from)
            .map_ok(|()| self.connection.stream_opened(outgoing.carried(last)))
    }
}
