//! What a server does, for its owner.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use breezeway_os::{MemoryAccount, MemoryLedger};
use breezeway_shm::statistics::{Look, Meter, Record, Registry, Totals};

use crate::call_limit::CallLimit;
use crate::options::ServerOptions;

/// What a server does, asked from any thread, also before and after it serves. A clone is the same
/// one. Asking takes no lock that a session's calls would wait for.
#[derive(Clone, Debug)]
pub struct Monitor {
    registry: Arc<Registry>,
    memory: MemoryLedger,
    calls: CallLimit,
    turned_away: Arc<TurnedAway>,
}

/// Clients that got no session, in the order of the reasons.
type TurnedAway = [AtomicU64; 6];

/// Why a client got no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Denied,
    BeyondLimit,
    BeyondUserLimit,
    BeyondMemory,
    PushedOut,
    Failed,
}

/// Clients that got no session of any server of this process, by the reason.
#[cfg(feature = "metrics")]
static OF_THIS_PROCESS: TurnedAway = [const { AtomicU64::new(0) }; 6];

/// Clients that got no session of any server of this process, in the order of the reasons.
#[cfg(feature = "metrics")]
pub(crate) fn refused_by_this_process() -> [u64; 6] {
    OF_THIS_PROCESS.each_ref().map(|count| count.load(Ordering::Relaxed))
}

/// What a server has done so far, and its sessions now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStats {
    /// The sessions that live, in the order in which they were opened.
    pub sessions: Vec<Record>,
    /// Sessions opened so far.
    pub opened: u64,
    /// The sums of what sessions have counted, those that have ended among them. What they hold
    /// and wait for is of those that live.
    pub totals: Totals,
    /// Clients that [`ServerOptions::authorize`](crate::ServerOptions::authorize) has turned away.
    pub denied: u64,
    /// Clients that [`ServerOptions::max_sessions`](crate::ServerOptions::max_sessions) has.
    pub beyond_limit: u64,
    /// Clients that
    /// [`ServerOptions::max_sessions_of_user`](crate::ServerOptions::max_sessions_of_user) has.
    pub beyond_user_limit: u64,
    /// Clients for whose session there was no room below
    /// [`ServerOptions::max_memory`](crate::ServerOptions::max_memory) or
    /// [`ServerOptions::max_memory_of_user`](crate::ServerOptions::max_memory_of_user).
    pub beyond_memory: u64,
    /// Bytes of shared memory made by this server that any process holds now, those that kept some
    /// when their session had ended among them. Counted only with one of these two limits.
    pub memory: u64,
    /// Calls that
    /// [`ServerOptions::max_calls_in_flight`](crate::ServerOptions::max_calls_in_flight) has turned
    /// away.
    pub calls_refused: u64,
    /// Clients whose hello did not come before too many others waited for theirs.
    pub pushed_out: u64,
    /// Clients whose handshake has failed otherwise.
    pub failed: u64,
}

impl Monitor {
    pub(crate) fn new(options: &ServerOptions) -> Self {
        Self {
            registry: Arc::default(),
            memory: MemoryLedger::new(options.memory),
            calls: CallLimit::new(options.max_calls_in_flight),
            turned_away: Arc::default(),
        }
    }

    /// What bounds the calls of all sessions that are in flight.
    pub(crate) fn call_limit(&self) -> &CallLimit {
        &self.calls
    }

    /// Where memory that a client of this user gets is counted.
    pub(crate) fn memory_of(&self, user: Option<u32>) -> MemoryAccount {
        self.memory.account(user)
    }

    /// What the server has done so far. Numbers that belong together may be a message apart.
    pub fn stats(&self) -> ServerStats {
        let Look { live: sessions, joined: opened, ended: mut totals } = self.registry.look();
        for session in &sessions {
            totals.add(&session.totals);
        }
        (totals.waits_for, totals.waits_since) = (0, 0);
        (totals.own_control, totals.peer_control) = (0, 0);
        let count = |reason: Reason| self.turned_away[reason as usize].load(Ordering::Relaxed);
        ServerStats {
            sessions,
            opened,
            totals,
            denied: count(Reason::Denied),
            beyond_limit: count(Reason::BeyondLimit),
            beyond_user_limit: count(Reason::BeyondUserLimit),
            beyond_memory: count(Reason::BeyondMemory),
            memory: self.memory.held(),
            calls_refused: self.calls.refused(),
            pushed_out: count(Reason::PushedOut),
            failed: count(Reason::Failed),
        }
    }

    pub(crate) fn turned_away(&self, reason: Reason) {
        self.turned_away[reason as usize].fetch_add(1, Ordering::Relaxed);
        #[cfg(feature = "metrics")]
        OF_THIS_PROCESS[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A session begins.
    pub(crate) fn enters(&self, meter: &mut Meter) {
        meter.join(&self.registry);
    }

    /// Sessions of a user, or of all whose user is not known.
    pub(crate) fn sessions_of(&self, user: Option<u32>) -> usize {
        self.registry.sessions_of(user)
    }
}
