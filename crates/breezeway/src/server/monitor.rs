//! Statistics of a server, for its owner.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use breezeway_os::{MemoryAccount, MemoryLedger};
use breezeway_shm::statistics::{Look, Meter, Record, Registry, Totals};

use crate::call_limit::CallLimit;
use crate::options::ServerOptions;

/// Handle to a server's statistics, for any thread, also before and after it serves. Clones refer
/// to the same server. Reading takes no lock that a session's calls would wait for.
#[derive(Clone, Debug)]
pub struct Monitor {
    registry: Arc<Registry>,
    memory: MemoryLedger,
    calls: CallLimit,
    turned_away: Arc<TurnedAway>,
}

/// Counts of clients that got no session, in the order of the reasons.
type TurnedAway = [AtomicU64; REASONS];

const REASONS: usize = Reason::Failed as usize + 1;

/// Reason for which a client got no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Denied,
    BeyondLimit,
    BeyondUserLimit,
    BeyondMemory,
    PushedOut,
    /// The last one, as [`REASONS`] counts.
    Failed,
}

/// Counts of clients that got no session of any server of this process, by the reason.
#[cfg(feature = "metrics")]
static OF_THIS_PROCESS: TurnedAway = [const { AtomicU64::new(0) }; REASONS];

/// Returns the counts of clients that got no session of any server of this process, in the order of
/// the reasons.
#[cfg(feature = "metrics")]
pub(crate) fn refused_by_this_process() -> [u64; REASONS] {
    OF_THIS_PROCESS.each_ref().map(|count| count.load(Ordering::Relaxed))
}

/// Counts of a server so far, and its present sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStats {
    /// Present sessions, in the order in which they were opened.
    pub sessions: Vec<Record>,
    /// Number of sessions opened so far.
    pub opened: u64,
    /// Sums of the sessions' counters, including those of ended sessions. Memory held and waits are
    /// those of present sessions only.
    pub totals: Totals,
    /// Number of clients refused by [`ServerOptions::authorize`](crate::ServerOptions::authorize).
    pub denied: u64,
    /// Number of clients refused by
    /// [`ServerOptions::max_sessions`](crate::ServerOptions::max_sessions).
    pub beyond_limit: u64,
    /// Number of clients refused by
    /// [`ServerOptions::max_sessions_of_user`](crate::ServerOptions::max_sessions_of_user).
    pub beyond_user_limit: u64,
    /// Number of clients whose session did not fit into
    /// [`ServerOptions::max_memory`](crate::ServerOptions::max_memory) or
    /// [`ServerOptions::max_memory_of_user`](crate::ServerOptions::max_memory_of_user).
    pub beyond_memory: u64,
    /// Bytes of shared memory of this server that any process holds now, including processes whose
    /// session has ended. Counted only with one of these two limits.
    pub memory: u64,
    /// Number of calls refused by
    /// [`ServerOptions::max_calls_in_flight`](crate::ServerOptions::max_calls_in_flight).
    pub calls_refused: u64,
    /// Number of clients whose hello had not arrived when too many others waited for theirs.
    pub pushed_out: u64,
    /// Number of clients whose handshake failed otherwise.
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

    /// Returns the limit on the calls in flight of all sessions.
    pub(crate) fn call_limit(&self) -> &CallLimit {
        &self.calls
    }

    /// Returns the account for the memory of a client of this user.
    pub(crate) fn memory_of(&self, user: Option<u32>) -> MemoryAccount {
        self.memory.account(user)
    }

    /// Returns the server's counts so far. Related numbers may be a message apart.
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

    /// Counts a session that begins.
    pub(crate) fn enters(&self, meter: &Meter) {
        meter.join(&self.registry);
    }

    /// Returns the number of sessions of a user, or of all unknown users.
    pub(crate) fn sessions_of(&self, user: Option<u32>) -> usize {
        self.registry.sessions_of(user)
    }
}
