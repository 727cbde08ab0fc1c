//! How a server's end of a shared session serves what was asked before it ends (`docs/abi.md`,
//! section 1.2).

use std::task::{Context, Poll};

use breezeway_os::Deadline;
use breezeway_proto::connection::Payload;
use breezeway_proto::{ErrorCode, Head, Kind};

use super::outgoing::Outgoing;
use super::receiving::Arrival;
use super::state::State;
use crate::error::CallError;
use crate::served::NOT_BEGUN;
use crate::server::Unserved;

/// How far a session is on its way to its end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Draining {
    /// It is not.
    #[default]
    No,
    /// What was asked is served, until nothing is left of it, or the time is over.
    Until {
        deadline: Deadline,
        /// Whether everything was taken that the client had committed when it was told.
        has_taken_all: bool,
    },
    /// What still comes never runs.
    Over,
}

impl State {
    /// The client is to open nothing new; whether nothing is left to be sent for that now. A client
    /// that does not know the entry sees the end instead.
    pub(super) fn say_go_away(&mut self) -> bool {
        if self.may_say_go_away && self.end.is_none() {
            let outgoing = &mut Outgoing::message(&[]);
            // A dead peer: the next turn learns of it.
            self.may_say_go_away =
                self.send_behind_replies(Head::of_session(Kind::GoAway, 0), outgoing).is_err();
        }
        !self.may_say_go_away
    }

    /// As [`Self::say_go_away`], at the latest when there is room for it.
    pub(super) fn say_or_keep_go_away(&mut self) {
        if !self.say_go_away() && self.end.is_none() {
            self.may_say_go_away = false;
            // An error has ended the session, as everybody else learns.
            let head = Head::of_session(Kind::GoAway, 0);
            let _ = self.send_or_keep(head, Outgoing::message(&[]), Deadline::NEVER);
        }
    }

    /// From now on what was asked is served, and nothing that is asked later than `deadline`.
    pub(super) fn drain(&mut self, deadline: Deadline) {
        match &mut self.draining {
            Draining::No => {
                self.draining = Draining::Until { deadline, has_taken_all: false };
                self.say_or_keep_go_away();
            }
            Draining::Until { deadline: earlier, .. } => *earlier = deadline.min(*earlier),
            Draining::Over => return,
        }
        self.due.append(&mut self.arrival_waiters);
        // One of them may be the thread that leads: it sleeps in another place, or is about to, and
        // takes another turn then, as if there were something to flush.
        self.due.extend(self.driver.clone());
        self.unflushed = true;
    }

    /// Until when the session drains, if it does.
    pub(super) fn drains_until(&self) -> Option<Deadline> {
        match self.draining {
            Draining::Until { deadline, .. } => Some(deadline),
            Draining::No | Draining::Over => None,
        }
    }

    /// A turn was taken. One that found nothing has seen all that was committed before it.
    pub(super) fn drain_in_turn(&mut self, found_nothing: bool) {
        match &mut self.draining {
            Draining::No => {}
            Draining::Until { has_taken_all, .. } => {
                *has_taken_all = found_nothing && self.connection.backlog.is_empty();
                self.end_drain();
            }
            Draining::Over => self.refuse_arrivals(),
        }
    }

    /// Ends the time to drain once nothing is left, or it is over: then what was not begun never
    /// runs.
    #[inline]
    pub(super) fn end_drain(&mut self) {
        if let Draining::Until { deadline, has_taken_all } = self.draining {
            self.end_drain_if_done(deadline, has_taken_all);
        }
    }

    #[cold]
    fn end_drain_if_done(&mut self, deadline: Deadline, has_taken_all: bool) {
        let is_done = has_taken_all && !self.is_under_way();
        // What a client has committed before its own end is served as ever.
        let has_ended =
            self.is_ended() && (self.closing.is_some() || self.connection.arrivals.is_empty());
        if is_done || has_ended || deadline.has_passed() {
            self.draining = Draining::Over;
            self.refuse_arrivals();
            self.due.append(&mut self.arrival_waiters);
            // One of them may be the thread that leads, which sleeps in another place.
            self.due.extend(self.driver.clone());
        }
    }

    /// Whether calls or streams are begun and not over, or replies are not out.
    fn is_under_way(&self) -> bool {
        !self.connection.arrivals.is_empty()
            || self.connection.served.len() > 0
            || self.connection.streams.live_count() > 0
            || !self.connection.backlog.is_empty()
            || self.link.has_unwritten()
    }

    /// Says of everything that was not begun that it will not be.
    pub(super) fn refuse_arrivals(&mut self) {
        if self.has_said_shutdown() {
            return;
        }
        while let Some(arrival) = self.connection.take_arrival() {
            match arrival {
                Arrival::Call(request, message, _) if request.one_way => {
                    self.one_way_ended(message.message_len());
                    self.unserved.messages_lost += 1;
                }
                Arrival::Call(request, ..) => {
                    self.unserved.calls_refused += 1;
                    self.refuse_call(request.stream);
                }
                Arrival::Stream { key, .. } => {
                    self.connection.streams.reset(key, ErrorCode::Refused);
                    self.connection.streams.abandon(key);
                }
            }
        }
    }

    fn refuse_call(&mut self, stream: u32) {
        let waiter = self.connection.served.end(stream);
        self.discarded.extend(waiter);
        let reason = (NOT_BEGUN, NOT_BEGUN);
        self.send_failure(stream, ErrorCode::Refused, reason, Deadline::NEVER);
    }

    /// Whether nothing more is taken until one-way messages were served. Once the time to drain is
    /// over none is kept, and what the peer may have said behind them is to be heard.
    #[inline]
    pub(super) fn is_flooded(&self) -> bool {
        self.connection.is_flooded() && !matches!(self.draining, Draining::Over)
    }

    /// What was left undone, and what would be if the session ended now.
    pub(super) fn unserved(&self) -> Unserved {
        let calls_cut = self.connection.served.len() + self.connection.streams.live_count();
        Unserved { calls_cut, ..self.unserved }
    }

    /// As [`Self::poll_arrival`]; none comes any more of a session that has drained.
    pub(super) fn poll_request(
        &mut self,
        cx: &Context<'_>,
    ) -> Poll<Result<Option<Arrival>, CallError>> {
        let polled = self.poll_arrival(cx)?;
        match polled {
            Poll::Pending if matches!(self.draining, Draining::Over) => Poll::Ready(Ok(None)),
            polled => polled.map(|arrival| Ok(Some(arrival))),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
