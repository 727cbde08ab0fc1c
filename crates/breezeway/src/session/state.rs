//! The state of a shared session behind its lock: the link, and the calls and streams on it.
//!
//! No method here blocks. The driver takes turns; other threads and tasks poll for their events. A
//! turn that finds an event makes its waiters due, which are woken once the lock is released.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use breezeway_os::clock;
use breezeway_os::spin::Spinner;
use breezeway_proto::connection::{Connection, MAX_ONE_WAY, Streams, Window};
use breezeway_proto::ending::Ending;
use breezeway_proto::throttle::Throttle;
use breezeway_shm::{SendError, Want};
use rustix::net::{Shutdown, shutdown};

use super::backlog::PATIENCE;
use super::ending::LINGER;
use super::leadership::Leadership;
use super::receiving::QueuedMessage;
use super::sleeping::DriverState;
use super::stream_waiters::{Registration, StreamWaiters};
use super::waiters::Waiters;
use crate::carrier::{Body, LinkError, Notice};
use crate::error::{CallError, SegmentError};
use crate::handshake::Agreed;
use crate::link::{Flush, Link, OwnedBody};
use crate::slice::SLICE;
use crate::time::to_deadline;

/// Interval of polls for changes that no event reports.
pub(crate) const RETRY: Duration = Duration::from_millis(1);
/// Maximum number of entries per turn. A turn also ends with its slice.
const ENTRIES_PER_TURN: usize = 256;
/// Number of entries between two readings of the clock.
const ENTRIES_PER_TICK: usize = 16;

/// Result of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Entries were taken, or sent.
    Worked,
    /// There was nothing to do.
    Idle,
    /// This process is short of a resource that the peer's next entry needs.
    Short,
    /// The session is over, except for entries that the peer has not taken yet.
    Closing,
    /// The session is over.
    Ended,
}

/// Waiters that belong to no call or stream, by the thing that they wait for.
#[derive(Default)]
pub(super) struct GeneralWaiters {
    /// For something to accept.
    pub(super) arrival: Waiters,
    /// To make one more call.
    pub(super) call: Waiters,
    /// For a ring slot or payload memory.
    pub(super) room: Waiters,
    /// For the peer to take one-way messages.
    pub(super) one_way: Waiters,
    /// For a stream of this side to end, so that another may be opened.
    open: Waiters,
}

/// A shared session, behind its lock.
pub(crate) struct State {
    pub(super) link: Link,
    pub(super) connection: Connection<QueuedMessage, Waker, OwnedBody, Arc<CallError>>,
    pub(super) waiters: StreamWaiters,
    pub(super) awaiting: GeneralWaiters,
    /// Wakers of waits that have ended, to be dropped without the lock.
    pub(super) discarded: Vec<Waker>,
    /// Length of the longest metadata block that this side accepts, and that the peer accepts.
    pub(super) max_metadata: [usize; 2],
    /// Shortage of this process in the last turn that reported one.
    pub(super) shortage: Option<SegmentError>,
    /// True if a [`Driver`](super::Driver) takes the turns.
    pub(super) has_driver: bool,
    pub(super) driver: DriverState,
    /// Event that brings more room than there was at the last search for it.
    pub(super) more_room: Want,
    /// True if something was published and the peer not yet woken for it.
    pub(super) unflushed: bool,
    /// Choice of the waiting thread that drives.
    pub(super) leadership: Leadership<Waker>,
    /// Spinner of that thread.
    pub(super) spinner: Spinner,
    /// Limit on how far messages without replies run ahead.
    pub(super) throttle: Throttle,
    /// Wakers to be woken once the lock is released.
    pub(super) due: Vec<Waker>,
    /// Readers of streams to be woken once the lock is released; their wakers are kept.
    pub(super) due_readers: Vec<(Registration, Waker)>,
}

impl State {
    pub(super) fn new(
        mut agreed: Agreed,
        is_client: bool,
        leadership: Leadership<Waker>,
        spinner: Spinner,
    ) -> Self {
        let [own, peers] = agreed.streams;
        let mut streams = Streams::new(is_client, own, peers);
        if own.max_streams > 0 && peers.max_streams > 0 {
            streams.limit_one_way(Window { messages: MAX_ONE_WAY as u32, bytes: agreed.cap });
        }
        agreed.link.share(usize::from(own.max_streams) + usize::from(peers.max_streams));
        let (limit, cap) = (agreed.max_in_flight, agreed.link.cap);
        let mut connection = Connection::new(is_client, streams, limit, cap);
        let may_go_away = !is_client && agreed.knows_go_away;
        connection.ending = Ending::new(may_go_away, clock::ticks_in(LINGER));
        connection.backlog.set_patience(clock::ticks_in(PATIENCE));
        let (_, more_room) = agreed.link.in_flight(|_| false);
        Self {
            link: agreed.link,
            connection,
            waiters: StreamWaiters::default(),
            awaiting: GeneralWaiters::default(),
            discarded: Vec::new(),
            max_metadata: agreed.max_metadata.map(|limit| limit as usize),
            shortage: None,
            has_driver: false,
            driver: DriverState::default(),
            more_room,
            unflushed: false,
            leadership,
            spinner,
            throttle: agreed.throttle,
            due: Vec::new(),
            due_readers: Vec::new(),
        }
    }

    // ---- the end ----

    /// Returns an error with the reason if the session has ended.
    pub(super) fn check(&self) -> Result<(), CallError> {
        match self.connection.ending.reason() {
            Some(end) => Err(CallError::EndedBy(Arc::clone(end))),
            None => Ok(()),
        }
    }

    /// Returns true once this side closes the session, or it is over: no entry is added, not even a
    /// reply.
    pub(super) fn is_ended(&self) -> bool {
        self.connection.ending.is_ended()
    }

    /// Records the error that ends the session, and wakes all waiters. A violation shuts the socket
    /// down at once, also while a handler holds a call.
    pub(super) fn finish(&mut self, error: CallError) {
        let is_violation = matches!(error, CallError::Violation(_));
        if !self.connection.ending.end(Arc::new(error), is_violation) {
            return;
        }
        if is_violation {
            // A socket that is closed already has nothing to end.
            let _ = shutdown(self.link.socket(), Shutdown::Both);
        }
        self.wake_all();
    }

    /// Wakes all waiters of a session that is over.
    pub(super) fn wake_all(&mut self) {
        self.due.extend(self.connection.served.waiters());
        self.wake_users();
    }

    /// Wakes all waiters except those for the cancellation of a served call.
    pub(super) fn wake_users(&mut self) {
        self.due.extend(self.connection.calls.waiters());
        self.wake_openers();
        self.due.append(&mut self.awaiting.arrival);
        self.waiters.wake_all(&mut self.due);
        let waiter = self.take_waiter();
        self.due.extend(waiter);
        self.wake_driver();
    }

    /// Remembers a waiter until fewer streams are open.
    pub(super) fn await_open(&mut self, cx: &Context<'_>) {
        self.awaiting.open.remember(cx, &mut self.due);
    }

    /// Wakes the waiters that would begin a call, a message or a stream: none begins on this
    /// session any more.
    pub(super) fn wake_openers(&mut self) {
        self.due.append(&mut self.awaiting.call);
        self.due.append(&mut self.awaiting.one_way);
        self.due.append(&mut self.awaiting.open);
        self.due.append(&mut self.awaiting.room);
    }

    /// Returns true if waiters may have to be woken once the lock is released.
    #[inline]
    pub(super) fn has_due(&self) -> bool {
        !self.due.is_empty()
            || !self.due_readers.is_empty()
            || self.connection.streams.has_ended_here()
    }

    /// Makes the waiters for a free stream due if a stream of this side has ended.
    pub(super) fn note_ended_streams(&mut self) {
        if self.connection.streams.take_ended_here() {
            self.due.append(&mut self.awaiting.open);
        }
    }

    // ---- turns ----

    /// Takes a turn: receives entries, sends pending ones, and notes the waiters to be woken.
    pub(super) fn turn(&mut self) -> Turn {
        if self.is_ended() {
            return self.turn_closing();
        }
        match self.try_turn() {
            Ok(true) => Turn::Worked,
            Ok(false) => Turn::Idle,
            Err(CallError::Shortage(error)) => {
                tracing::debug!(%error, "the next entry waits");
                self.shortage = Some(error);
                Turn::Short
            }
            Err(error) => {
                self.finish(error);
                Turn::Ended
            }
        }
    }

    pub(super) fn try_turn(&mut self) -> Result<bool, CallError> {
        self.link.notice(Notice::Turn)?;
        let mut taken = 0;
        let (mut mapped, mut until) = (false, None);
        let mut shortage = None;
        while taken < ENTRIES_PER_TURN && self.connection.takes_entries() {
            match self.link.take() {
                Ok(true) => self.dispatch()?,
                Ok(false) if !self.link.has(Want::Data)? => break,
                // A piece of a segment was mapped, which takes half a slice.
                Ok(false) => mapped = true,
                // Pending sends do not wait for the missing resource.
                Err(LinkError::Shortage(error)) => {
                    shortage = Some(error);
                    break;
                }
                Err(LinkError::Unreceived(unreceived)) => self.not_received(unreceived)?,
                Err(error) => return Err(error.into()),
            }
            taken += 1;
            if mapped || taken % ENTRIES_PER_TICK == 0 {
                let now = clock::ticks();
                if now >= *until.get_or_insert_with(|| now + clock::ticks_in(SLICE)) {
                    break;
                }
                mapped = false;
            }
        }
        let found_nothing = taken == 0 && shortage.is_none();
        if found_nothing && self.link.status().closed && self.connection.takes_entries() {
            return Err(CallError::PeerDied);
        }
        if taken == 0 {
            self.link.read_unread()?;
        }
        let sent = self.send_what_waits()?;
        self.flush()?;
        self.note_state();
        self.connection.turn_taken(taken, found_nothing);
        self.step_end(sent)?;
        match shortage {
            Some(error) => Err(CallError::Shortage(SegmentError(error))),
            None => Ok(taken > 0 || sent),
        }
    }

    /// Sends replies and control entries that found no room before, and wakes waiters for room.
    fn send_what_waits(&mut self) -> Result<bool, CallError> {
        // Control entries do not need new room, but the known room must be up to date before a
        // sleep for more.
        let waits = self.has_more_to_send();
        let has_room = waits && self.has_new_room()?;
        let mut sent = false;
        let backlog = &self.connection.backlog;
        if has_room || backlog.is_copying() || to_deadline(backlog.poll_timeout()).has_passed() {
            sent = self.send_backlog()?;
        }
        if has_room {
            self.due.append(&mut self.awaiting.room);
        }
        Ok(self.send_controls()? | sent)
    }

    /// Returns true if the peer has made room, in its ring or in memory, since the last call.
    pub(super) fn has_new_room(&mut self) -> Result<bool, LinkError> {
        let has_room = self.link.has(self.more_room)?;
        (_, self.more_room) = self.link.in_flight(|_| false);
        Ok(has_room)
    }

    /// Sends the pending go-away, window and reset entries, and last entries of streams.
    pub(super) fn send_controls(&mut self) -> Result<bool, CallError> {
        let mut sent = false;
        while let Some(control) = self.connection.next_transmit() {
            let body = control.body();
            let body = Body::Bytes(body.as_ref().map_or(&[], |bytes| &bytes[..]));
            match self.link.send(control.head(), body) {
                Ok(()) => self.connection.transmitted(),
                Err(SendError::Full { .. }) => break,
                Err(error) => return Err(CallError::of_send(error)),
            }
            sent = true;
        }
        self.unflushed |= sent;
        Ok(sent)
    }

    /// Wakes a peer that sleeps for the published entries.
    pub(super) fn flush(&mut self) -> Result<(), CallError> {
        if std::mem::take(&mut self.unflushed) {
            self.link.flush(Flush::All)?;
        } else {
            self.link.flush(Flush::Progress)?;
        }
        Ok(())
    }

    /// Flushes a reply at once, because a [`Driver`](super::Driver) that is awake may run other
    /// handlers, or other tasks, before its next turn.
    pub(super) fn flush_reply(&mut self) {
        let is_for_driver = self.has_driver && self.driver.is_awake && self.unflushed;
        if is_for_driver
            && !self.is_ended()
            && let Err(error) = self.flush()
        {
            self.finish(error);
        }
    }

    /// Records, for tools, the number of open streams and of arrivals that were not accepted yet.
    pub(super) fn note_state(&mut self) {
        let (streams, arrivals) =
            (self.connection.streams.open_count(), self.connection.arrivals.len());
        self.link.meter().holds(streams, arrivals);
    }

    /// Reads and validates the bytes on the socket that are not messages.
    pub(super) fn read_socket(&mut self) {
        if let Err(error) = self.link.drain() {
            self.finish(error.into());
        }
    }

    /// Records an event of the socket.
    pub(super) fn notice(&mut self, notice: Notice) {
        if let Err(error) = self.link.notice(notice) {
            self.finish(error.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::thread;

    use breezeway_os::WaitPolicy;

    use super::*;
    use crate::carrier::Carrier;
    use crate::handshake;
    use crate::options::SessionOptions;

    #[test]
    fn one_way_window_is_the_cap_above_frame_limit() {
        let (one, other) = UnixStream::pair().unwrap();
        let options = SessionOptions::new().cap(8 << 30);
        let accepting = thread::spawn({
            let options = options.clone();
            move || handshake::accept(OwnedFd::from(other), Carrier::Unix, &options).map(drop)
        });
        let agreed = handshake::connect(OwnedFd::from(one), Carrier::Unix, &options).unwrap();
        accepting.join().unwrap().unwrap();
        let mut state =
            State::new(agreed, true, Leadership::outside(), Spinner::new(WaitPolicy::Park));
        assert!(state.link.cap < 4 << 30);
        state.connection.streams.one_way_sent(5 << 30);
        assert!(state.connection.streams.may_send_one_way());
        state.connection.streams.one_way_sent(3 << 30);
        assert!(!state.connection.streams.may_send_one_way());
    }
}
