//! The place of a session's link, and the change from a session of one thread to a shared one.

use std::sync::Arc;
use std::time::Duration;

use breezeway_os::{Peer, Waiting, clock};
use breezeway_proto::connection::StreamTerms;
use breezeway_proto::ending::Ending;
use breezeway_proto::throttle::Throttle;

use super::TurnWaker;
use crate::call_limit::CallLimit;
use crate::carrier::Carrier;
use crate::error::CallError;
use crate::handshake::Agreed;
use crate::link::Link;
use crate::presence::SessionId;
use crate::session::{Driving, LINGER, ServerSession, WorkerDriver};

/// The part of a session that stays the same when threads begin to share it. (Its owner changes the
/// worker.)
pub(crate) struct Terms {
    pub(crate) id: SessionId,
    pub(crate) peer: Peer,
    pub(crate) carrier: Carrier,
    /// Limit on the client's calls in flight.
    pub(crate) max_in_flight: usize,
    pub(crate) service: u16,
    pub(crate) waiting: Waiting,
    /// Time that a reply waits for memory; `None` for the default.
    pub(crate) reply_timeout: Option<Duration>,
    /// Limit on the deferred calls of all sessions of the server; `None` outside of a server.
    pub(crate) call_limit: Option<CallLimit>,
    /// The worker that serves the session; `None` where a thread serves it alone.
    pub(crate) worker: Option<Arc<TurnWaker>>,
}

impl Terms {
    pub(crate) fn new(agreed: &Agreed, peer: Peer, waiting: Waiting) -> Self {
        Self {
            id: SessionId::next(),
            peer,
            carrier: agreed.link.carrier,
            max_in_flight: agreed.max_in_flight,
            service: agreed.service,
            waiting,
            reply_timeout: None,
            call_limit: None,
            worker: None,
        }
    }

    /// Returns the time since the present turn of the session's worker began.
    pub(crate) fn turn_age(&self) -> Option<Duration> {
        let ticks = self.worker.as_ref()?.turn_age()?;
        Some(Duration::from_nanos(clock::nanoseconds(ticks)))
    }

    /// Notes that the worker begins a turn of the session.
    pub(crate) fn begin_turn(&self) {
        if let Some(worker) = &self.worker {
            worker.begin_turn();
        }
    }

    fn driving(&self) -> Driving {
        if self.worker.is_some() { Driving::Elsewhere } else { Driving::ByCallers }
    }
}

/// The place of a session's link.
#[allow(clippy::large_enum_variant, reason = "one per session, and the large one is the fast one")]
pub(crate) enum Place {
    /// Owned by the thread that serves it, with the state of the session's end. Each call is
    /// replied to before the next one is taken.
    Alone(Link, Ending<Arc<CallError>>),
    /// Behind a lock, with its driver: the session has streams, or a reply comes later. `None` only
    /// while the link moves there.
    Shared(Option<WorkerDriver>),
}

const ALONE: &str = "a session is served alone until it is shared";
const SHARED: &str = "a shared session has a driver";

impl Place {
    /// Returns the place of a session that one thread serves. `knows_go_away` is true if the client
    /// takes the go-away entry.
    pub(crate) fn alone(link: Link, knows_go_away: bool) -> Self {
        Self::Alone(link, Ending::new(knows_go_away, clock::ticks_in(LINGER)))
    }

    #[inline(always)]
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    #[inline(always)]
    pub(crate) fn link(&self) -> &Link {
        match self {
            Self::Alone(link, _) => link,
            Self::Shared(_) => unreachable!("{ALONE}"),
        }
    }

    #[inline(always)]
    pub(crate) fn link_mut(&mut self) -> &mut Link {
        match self {
            Self::Alone(link, _) => link,
            Self::Shared(_) => unreachable!("{ALONE}"),
        }
    }

    /// Returns the driver of a shared session. Out of line, to spare plain calls the cost.
    #[inline(never)]
    pub(crate) fn driver(&self) -> &WorkerDriver {
        match self {
            Self::Shared(Some(driver)) => driver,
            _ => unreachable!("{SHARED}"),
        }
    }

    #[inline(never)]
    pub(crate) fn driver_mut(&mut self) -> &mut WorkerDriver {
        match self {
            Self::Shared(Some(driver)) => driver,
            _ => unreachable!("{SHARED}"),
        }
    }

    /// Moves the link behind a lock. There the session's worker drives it, or without one the
    /// threads that wait.
    #[cold]
    pub(crate) fn share(&mut self, terms: &Terms) -> &ServerSession {
        let Self::Alone(link, ending) = std::mem::replace(self, Self::Shared(None)) else {
            unreachable!("{ALONE}")
        };
        let agreed = Agreed {
            cap: link.cap as u64,
            max_in_flight: terms.max_in_flight,
            streams: [StreamTerms::NONE; 2],
            max_metadata: [0; 2],
            service: terms.service,
            knows_go_away: false,
            // Replies are never held back.
            throttle: Throttle::new(usize::MAX),
            link,
        };
        let (id, peer, driving) = (terms.id, terms.peer.clone(), terms.driving());
        let mut session = ServerSession::known_as(id, agreed, peer, terms.waiting, driving);
        if let Some(timeout) = terms.reply_timeout {
            session = session.reply_timeout(timeout);
        }
        let driver = WorkerDriver::new(session.in_order(ending));
        if let Some(worker) = &terms.worker {
            driver.set_waker(&Arc::clone(worker).into());
        }
        *self = Self::Shared(Some(driver));
        self.driver().session()
    }
}
