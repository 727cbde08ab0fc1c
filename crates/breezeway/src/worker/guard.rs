//! A thread that takes armed sessions away from a worker which is in a handler for long, while
//! another worker is free.
//!
//! Only a worker that has been slow lets itself be watched ([`Watch`]), and only while it is awake,
//! so a worker that serves quickly pays nothing. The guard then wakes for events of that worker. If
//! the worker is in one turn for long, or still is a moment later, the guard takes the events out
//! of its epoll instance, claims the sessions that are armed, and gives them to a free worker.
//! Events of other sessions it passes on to the worker.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use breezeway_os::{Notifier, Sleeper, Wake, clock};

use super::inbox::{INBOX, Inbox};
use super::slot::EXIT;
use crate::slice::SLICE;

/// Time within which a worker may handle its events itself.
const GRACE: Duration = Duration::from_micros(250);
/// Time that a worker is watched after it was slow.
const CAREFUL_FOR: Duration = Duration::from_secs(10);
/// The token of the notifier that ends the guard.
const STOP: u64 = u64::MAX;

/// A worker as the guard sees it.
struct Ward {
    inbox: Arc<Inbox>,
    /// The worker's own sleeper.
    events: Sleeper,
}

/// State of a worker at which something rang.
#[derive(PartialEq, Eq)]
enum Found {
    /// The worker sleeps: it handles all events, and lets itself be watched again when it wakes.
    Asleep,
    /// The worker may handle the event soon, or no other worker is free.
    Awake,
    /// The worker was in one turn for long: another worker has its events.
    Stuck,
}

pub(crate) struct Guard {
    sleeper: Sleeper,
    stop: Notifier,
    wards: Vec<Ward>,
}

impl Guard {
    pub(crate) fn new() -> io::Result<Self> {
        let (sleeper, stop) = (Sleeper::new()?, Notifier::new()?);
        sleeper.watch(&stop, STOP)?;
        Ok(Self { sleeper, stop, wards: Vec::new() })
    }

    /// Returns the watch handle of a worker, which starts and stops being watched with it.
    pub(super) fn watch(&mut self, events: &Sleeper, inbox: &Arc<Inbox>) -> io::Result<Watch> {
        let number = self.wards.len() as u64;
        let events = events.share();
        self.sleeper.watch_later(&events, number)?;
        self.wards.push(Ward { inbox: Arc::clone(inbox), events });
        Ok(Watch { guard: self.sleeper.share(), number, until: 0, on: false })
    }

    /// Returns the notifier that ends [`Self::run`].
    pub(crate) fn stopper(&self) -> Notifier {
        self.stop.clone()
    }

    /// Guards until it is stopped.
    pub(crate) fn run(mut self) -> io::Result<()> {
        // Workers that were not in one turn for long when something rang.
        let mut look_again = Vec::new();
        loop {
            let timeout = (!look_again.is_empty()).then_some(GRACE);
            let rang: Vec<_> = self.sleeper.wait(timeout)?.iter().map(|wake| wake.token).collect();
            if rang.contains(&STOP) {
                return Ok(());
            }
            for number in std::mem::take(&mut look_again) {
                if self.relieve(number)? != Found::Asleep {
                    self.watch_on(number)?;
                }
            }
            for number in rang.into_iter().map(|number| number as usize) {
                match self.relieve(number)? {
                    Found::Asleep => {}
                    Found::Awake => look_again.push(number),
                    Found::Stuck => self.watch_on(number)?,
                }
            }
        }
    }

    fn watch_on(&self, number: usize) -> io::Result<()> {
        self.sleeper.watch_once(&self.wards[number].events, number as u64)
    }

    /// Gives the events of a worker to another one, if the first is busy for long and the other is
    /// free.
    fn relieve(&mut self, number: usize) -> io::Result<Found> {
        let now = clock::ticks();
        let Some(busy_for) = self.wards[number].inbox.load().turn_age(now) else {
            return Ok(Found::Asleep);
        };
        if busy_for > clock::ticks_in(SLICE)
            && let Some(free) = self.free_worker(number, now)
        {
            let taker = Arc::clone(&self.wards[free].inbox);
            self.wards[number].hand_over(&taker)?;
            return Ok(Found::Stuck);
        }
        Ok(Found::Awake)
    }

    /// Returns the least busy of the free workers, or None.
    fn free_worker(&self, but: usize, now: u64) -> Option<usize> {
        let is_free =
            |worker: &usize| *worker != but && self.wards[*worker].inbox.load().is_free(now);
        let load = |worker: &usize| {
            let inbox = &self.wards[*worker].inbox;
            (inbox.load().share(now), inbox.sessions())
        };
        (0..self.wards.len()).filter(is_free).min_by_key(load)
    }
}

impl Ward {
    /// Gives the armed sessions that rang to another worker.
    fn hand_over(&mut self, taker: &Inbox) -> io::Result<()> {
        let rang = self.events.wait(Some(Duration::ZERO))?.to_vec();
        for &Wake { token, .. } in &rang {
            if token != INBOX {
                self.pass_on((token & !EXIT) as usize, taker);
            }
        }
        if rang.iter().any(|wake| wake.token == INBOX) {
            // The event was for the worker, which may have begun to sleep.
            self.inbox.ring();
        }
        Ok(())
    }

    fn pass_on(&self, token: usize, taker: &Inbox) {
        match self.inbox.armed().claim(token) {
            Some(mut slot) => {
                tracing::debug!(peer = ?slot.session.peer(), "session taken over");
                slot.forget(&self.events);
                self.inbox.session_ended();
                taker.hand(slot);
            }
            None => self.inbox.leave_word(token),
        }
    }
}

/// Watch handle of a worker, which starts and stops being watched with it.
pub(super) struct Watch {
    guard: Sleeper,
    number: u64,
    /// End of the careful time, in clock ticks, after the worker was slow.
    until: u64,
    /// True if the worker is watched, as far as it knows.
    on: bool,
}

impl Watch {
    /// Returns true if the worker was slow recently, so that it should not keep other sessions
    /// waiting.
    #[inline(always)]
    pub(super) fn is_careful(&self, now: u64) -> bool {
        now < self.until
    }

    /// Notes that the worker was slow.
    #[cold]
    pub(super) fn was_slow(&mut self, events: &Sleeper, now: u64) -> io::Result<()> {
        self.until = now.saturating_add(clock::ticks_in(CAREFUL_FOR));
        self.begin(events, now)
    }

    /// Notes that the worker is awake.
    #[inline]
    pub(super) fn begin(&mut self, events: &Sleeper, now: u64) -> io::Result<()> {
        if self.on || !self.is_careful(now) {
            return Ok(());
        }
        self.on = true;
        self.guard.watch_once(events, self.number)
    }

    /// Notes that the worker is about to sleep.
    #[inline]
    pub(super) fn end(&mut self, events: &Sleeper) -> io::Result<()> {
        if !std::mem::take(&mut self.on) {
            return Ok(());
        }
        self.guard.watch_later(events, self.number)
    }
}
