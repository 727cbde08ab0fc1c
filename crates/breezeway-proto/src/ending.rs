//! Progress of a session's end on one side (`docs/abi.md`, sections 1.1 and 1.2).
//!
//! A session is open until it has a reason to end, and then in one of these stages:
//!
//! | stage | begun by | left at |
//! |---|---|---|
//! | last replies | the client's shutdown, at a server | the last reply, or the time for it |
//! | closing | this side's close | the shutdown entry behind all entries, or the time for it |
//! | over | an error, a server's shutdown, the end of a stage above | |
//!
//! In addition, a server asks its client once to go away, and drains: it serves requests until none
//! is left or the time has passed, and refuses them from then on.

use crate::entry::Kind;
use crate::time::Time;

/// Progress of a session toward its end; `E` is the reason of the end.
pub struct Ending<E> {
    reason: Option<E>,
    pub(crate) stage: Stage,
    go_away: GoAway,
    has_peer_closed: bool,
    pub(crate) drain: Drain,
    pub(crate) refused: Refused,
    pub(crate) linger: u64,
}

/// Progress of the go-away entry, which a server sends once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GoAway {
    /// This side sends none: it is a client, or its client takes none.
    Never,
    /// The entry may be sent, and was not asked for.
    Possible,
    Due,
    Sent,
    /// The peer has sent the entry.
    Received,
}

#[derive(Clone, Copy)]
pub(crate) enum Stage {
    Open,
    LastReplies {
        /// Latest time for the client to take a reply; [`Time::NEVER`] while none waits.
        until: Time,
        /// Latest time for the client to take all replies that wait.
        all_until: Time,
        /// Bytes that the socket had not taken in the last turn.
        unwritten: usize,
    },
    Closing {
        until: Time,
        /// True once the shutdown entry was sent, or cannot be.
        has_sent_shutdown: bool,
        /// Number of entries that are still taken if the session has drained.
        last_entries: usize,
    },
    Over,
}

#[derive(Clone, Copy)]
pub(crate) enum Drain {
    No,
    Until {
        deadline: Time,
        /// True once all entries that the client had committed before the drain were taken.
        has_taken_all: bool,
    },
    Over,
}

/// Numbers of requests that a drained session did not serve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Calls, which fail at their callers.
    pub calls: usize,
    /// One-way messages, which are lost.
    pub one_way: usize,
}

impl<E> Ending<E> {
    /// Returns the ending of an open session. `may_go_away` is true for a server with a client that
    /// takes the go-away entry. `linger` limits how long replies wait for a client that has closed
    /// and takes none, in the unit of the owner's clock.
    pub fn new(may_go_away: bool, linger: u64) -> Self {
        Self {
            reason: None,
            stage: Stage::Open,
            go_away: if may_go_away { GoAway::Possible } else { GoAway::Never },
            has_peer_closed: false,
            drain: Drain::No,
            refused: Refused::default(),
            linger,
        }
    }

    /// Returns the reason of the end; `None` while the session is open.
    #[inline]
    pub fn reason(&self) -> Option<&E> {
        self.reason.as_ref()
    }

    /// Returns true while this side may begin something: the session is open, and the peer has sent
    /// no go-away.
    #[inline(always)]
    pub fn may_begin(&self) -> bool {
        self.reason.is_none() && !self.is_going_away()
    }

    /// Returns true once this side closes the session, or it is over: only pending entries are
    /// sent.
    #[inline(always)]
    pub fn is_ended(&self) -> bool {
        matches!(self.stage, Stage::Closing { .. } | Stage::Over)
    }

    /// Returns true unless the session is open and does not drain.
    #[inline]
    pub fn has_begun(&self) -> bool {
        !matches!((self.stage, self.drain), (Stage::Open, Drain::No))
    }

    // ---- go-away and drain ----

    /// Makes a go-away entry due, which asks the client to begin nothing new, unless the client
    /// takes none or one was sent.
    pub fn go_away(&mut self) {
        if self.go_away == GoAway::Possible {
            self.go_away = GoAway::Due;
        }
    }

    /// Returns true after the peer's go-away.
    #[inline(always)]
    pub fn is_going_away(&self) -> bool {
        self.go_away == GoAway::Received
    }

    /// Records the peer's go-away: this side begins nothing new.
    pub fn peer_goes_away(&mut self) {
        self.go_away = GoAway::Received;
    }

    /// Begins to drain until `deadline`, with a go-away entry, or moves the deadline of a drain to
    /// an earlier time. Returns false if the drain is over.
    pub fn drain(&mut self, deadline: Time) -> bool {
        match &mut self.drain {
            Drain::No => {
                self.drain = Drain::Until { deadline, has_taken_all: false };
                self.go_away();
            }
            Drain::Until { deadline: earlier, .. } => *earlier = deadline.min(*earlier),
            Drain::Over => return false,
        }
        true
    }

    /// Ends the time to drain: requests that were not begun never run.
    pub fn cut_drain(&mut self) {
        self.drain = Drain::Over;
    }

    /// Returns true while the session drains: requests are served, and the time has not passed.
    pub fn is_draining(&self) -> bool {
        matches!(self.drain, Drain::Until { .. })
    }

    /// Returns true once the drain is over: requests that were not begun never run.
    #[inline]
    pub fn has_drained(&self) -> bool {
        matches!(self.drain, Drain::Over)
    }

    /// Returns the numbers of requests that were refused.
    pub fn refused(&self) -> Refused {
        self.refused
    }

    // ---- the end ----

    /// Returns true after the peer's shutdown.
    #[inline]
    pub fn has_peer_closed(&self) -> bool {
        self.has_peer_closed
    }

    /// Records the peer's shutdown. This side does not answer it with a shutdown of its own.
    pub fn peer_closed(&mut self) {
        self.has_peer_closed = true;
    }

    /// Enters the stage of last replies, at a server. Returns false unless the session was open.
    pub fn begin_last_replies(&mut self, reason: E) -> bool {
        let stage = Stage::LastReplies { until: Time::NEVER, all_until: Time::NEVER, unwritten: 0 };
        self.reason.is_none() && self.leave(reason, false, stage)
    }

    /// Sets the latest time for the client to take all replies that wait, as a thread of the server
    /// waits for nothing else.
    pub fn limit_last_replies(&mut self, latest: Time) {
        if let Stage::LastReplies { all_until, .. } = &mut self.stage {
            *all_until = latest;
        }
    }

    /// Returns true while the calls before the client's shutdown are served.
    pub fn serves_last_replies(&self) -> bool {
        matches!(self.stage, Stage::LastReplies { .. })
    }

    /// Ends the session at once. Keeps an earlier reason unless `replaces` is set. Returns false if
    /// the session had ended.
    pub fn end(&mut self, reason: E, replaces: bool) -> bool {
        self.leave(reason, replaces, Stage::Over)
    }

    /// Enters the closing stage, or moves the deadline of a closing to an earlier time. A session
    /// that has drained takes at most `last_entries` more. Returns false if the session had ended.
    pub fn close(&mut self, reason: E, until: Time, last_entries: usize) -> bool {
        if let Stage::Closing { until: earlier, .. } = &mut self.stage {
            *earlier = until.min(*earlier);
        }
        let closing = Stage::Closing { until, has_sent_shutdown: false, last_entries };
        self.leave(reason, false, closing)
    }

    fn leave(&mut self, reason: E, replaces: bool, stage: Stage) -> bool {
        if self.is_ended() {
            return false;
        }
        if replaces || self.reason.is_none() {
            self.reason = Some(reason);
        }
        self.stage = stage;
        true
    }

    /// Returns the latest time for the end of a closing session; `None` in any other stage.
    pub fn closes_until(&self) -> Option<Time> {
        if let Stage::Closing { until, .. } = self.stage { Some(until) } else { None }
    }

    /// Returns true while a closing session that has drained takes the requests that have come, to
    /// refuse them. A client that sends more without end does not delay the end.
    pub fn takes_last_entries(&self) -> bool {
        let takes = matches!(self.stage, Stage::Closing { last_entries, .. } if last_entries > 0);
        takes && self.has_drained()
    }

    /// Ends the closing stage.
    pub fn end_closing(&mut self) {
        if let Stage::Closing { .. } = self.stage {
            self.stage = Stage::Over;
        }
    }

    /// Returns the kind of the entry that is due: a go-away, or behind all other entries a
    /// shutdown.
    #[inline]
    pub fn next_transmit(&self) -> Option<Kind> {
        match self.stage {
            Stage::Open if self.go_away == GoAway::Due => Some(Kind::GoAway),
            Stage::Closing { has_sent_shutdown: false, .. } if !self.has_peer_closed => {
                Some(Kind::Shutdown)
            }
            _ => None,
        }
    }

    /// Records that [`next_transmit`](Self::next_transmit) was sent, or cannot be.
    pub fn transmitted(&mut self) {
        match &mut self.stage {
            Stage::Closing { has_sent_shutdown, .. } => *has_sent_shutdown = true,
            _ => self.go_away = GoAway::Sent,
        }
    }

    /// Returns true while this side may commit entries: the session is not over, and this side has
    /// sent no shutdown.
    pub fn may_send(&self) -> bool {
        !matches!(self.stage, Stage::Over | Stage::Closing { has_sent_shutdown: true, .. })
    }

    /// Returns the time at which a turn is needed, even if no entry comes before, unless the
    /// session [closes](Self::closes_until).
    pub fn poll_timeout(&self) -> Time {
        let late = match self.stage {
            Stage::LastReplies { until, .. } => until,
            _ => Time::NEVER,
        };
        if let Drain::Until { deadline, .. } = self.drain { late.min(deadline) } else { late }
    }
}
