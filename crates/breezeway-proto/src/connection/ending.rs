//! Steps of an end that depend on the requests and entries that are still to be served or sent.

use super::arrivals::Arrival;
use super::transmit::Transmit;
use super::{Connection, Payload};
use crate::ending::{Drain, Stage};
use crate::entry::Kind;
use crate::error_code::ErrorCode;
use crate::time::Time;

impl<M: Payload, W, B, E> Connection<M, W, B, E> {
    /// Returns true if further entries of the peer are to be taken.
    pub fn takes_entries(&self) -> bool {
        !self.is_flooded() && !self.ending.has_peer_closed()
    }

    /// Returns the time when a turn is needed although no entry comes: the earliest limit of an
    /// entry that waits, of a drain or of a stage of the end.
    pub fn poll_timeout(&self) -> Time {
        self.backlog.poll_timeout().min(self.ending.poll_timeout())
    }

    /// Returns the entry that is to be sent as soon as there is room for one; `None` behind this
    /// side's shutdown and after the end of the session.
    #[inline]
    pub fn next_transmit(&mut self) -> Option<Transmit> {
        match self.ending.next_transmit() {
            Some(Kind::GoAway) => Some(Transmit::GoAway),
            _ if !self.ending.may_send() => None,
            _ => self.streams.next_transmit(),
        }
    }

    /// Records that [`next_transmit`](Self::next_transmit) was sent.
    pub fn transmitted(&mut self) {
        match self.ending.next_transmit() {
            Some(Kind::GoAway) => self.ending.transmitted(),
            _ => self.streams.transmitted(),
        }
    }

    /// Records a turn that took `taken` entries. A turn that `found_nothing` has taken all entries
    /// that were committed before it.
    #[inline]
    pub fn turn_taken(&mut self, taken: usize, found_nothing: bool) {
        if self.ending.has_begun() {
            self.last_turn_taken(taken, found_nothing);
        }
    }

    fn last_turn_taken(&mut self, taken: usize, found_nothing: bool) {
        if let Stage::Closing { last_entries, .. } = &mut self.ending.stage {
            *last_entries = if taken == 0 { 0 } else { last_entries.saturating_sub(taken) };
        }
        if let Drain::Until { deadline, .. } = self.ending.drain {
            let has_taken_all = found_nothing
                && !self.is_flooded()
                && self.backlog.is_empty()
                && self.ending.next_transmit().is_none();
            self.ending.drain = Drain::Until { deadline, has_taken_all };
        }
    }

    /// Ends the drain if nothing is left, its time has passed or the session is over.
    /// `has_unwritten` is true while the socket has not taken all. Returns true if this call ended
    /// it.
    pub fn step_drain(&mut self, has_unwritten: bool, now: Time) -> bool {
        let Drain::Until { deadline, has_taken_all } = self.ending.drain else { return false };
        let nothing_is_left = has_taken_all
            && self.arrivals.is_empty()
            && self.arrivals.one_way == 0
            && self.served.len() == 0
            && self.streams.live_count() == 0
            && self.backlog.is_empty()
            && !has_unwritten;
        // The server still serves requests that the client committed before its own end.
        let is_over = self.ending.is_ended()
            && (self.arrivals.is_empty() || self.ending.closes_until().is_some());
        let is_done = nothing_is_left || is_over || deadline.has_passed_at(now);
        if is_done {
            self.ending.cut_drain();
        }
        is_done
    }

    /// Takes the next call that fails because the session drained before the call was begun.
    /// Returns its number and the waiter for its cancellation. Streams before it are reset, and
    /// one-way messages dropped.
    pub fn take_refused(&mut self) -> Option<(u32, Option<W>)> {
        let is_silent = matches!(self.ending.stage, Stage::Closing { has_sent_shutdown: true, .. });
        if !self.ending.has_drained() || is_silent {
            return None;
        }
        while let Some(arrival) = self.take_arrival() {
            match arrival {
                Arrival::Call(request, message, _) if request.one_way => {
                    self.one_way_ended(message.message_len());
                    self.ending.refused.one_way += 1;
                }
                Arrival::Call(request, ..) => {
                    self.ending.refused.calls += 1;
                    return Some((request.stream, self.served.end(request.stream)));
                }
                Arrival::Stream { key, .. } => {
                    self.streams.reset(key, ErrorCode::Refused);
                    self.streams.abandon(key);
                }
            }
        }
        None
    }

    /// Returns true once the last replies are over: no call is left, or the client is gone and no
    /// reply waits, or the client has taken none of the waiting replies for too long, or not all of
    /// them within their [limit](crate::ending::Ending::limit_last_replies). `sent` is true if
    /// replies were sent since the last turn. The socket has not taken `unwritten` bytes.
    pub fn step_last_replies(
        &mut self,
        sent: bool,
        unwritten: usize,
        is_peer_gone: bool,
        now: Time,
    ) -> bool {
        let later = now.after(self.ending.linger);
        let Stage::LastReplies { until, all_until, unwritten: before } = &mut self.ending.stage
        else {
            return false;
        };
        let has_taken = unwritten < std::mem::replace(before, unwritten);
        if self.backlog.is_empty() && unwritten == 0 {
            *until = Time::NEVER;
            return self.served.len() == 0 || is_peer_gone;
        }
        if *until == Time::NEVER || sent || has_taken {
            *until = later.min(*all_until);
        }
        until.has_passed_at(now)
    }

    /// Returns true if a request may still be taken although the session has a reason to end: last
    /// replies wait for room first, or the session drains.
    pub fn awaits_last_arrivals(&self) -> bool {
        let may_come = !self.arrivals.is_empty() || self.ending.is_draining();
        self.ending.serves_last_replies() && may_come
    }
}
