//! The sessions of one server: the counts of live ones, and the sums of ended ones.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use breezeway_os::Origin;

use super::fields::{RECORD_WORDS, Totals};
use super::snapshot::Record;

/// The sessions of one server. Each adds itself ([`Meter::join`](super::Meter::join)), and removes
/// itself when it ends.
#[derive(Default)]
pub struct Registry(Mutex<State>);

/// Snapshot of the sessions of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Records of live sessions, in the order in which they began.
    pub live: Vec<Record>,
    /// Number of sessions so far.
    pub joined: u64,
    /// Sums of the ended sessions.
    pub ended: Totals,
}

#[derive(Default)]
struct State {
    /// Live sessions by number.
    live: HashMap<u64, Member>,
    /// Number of sessions per user, by the uid in the records.
    by_user: HashMap<u32, usize>,
    joined: u64,
    ended: Totals,
}

struct Member {
    words: Words,
    user: u32,
}

/// Words of a record whose owner lives.
#[derive(Clone, Copy)]
pub(super) struct Words {
    /// Pointer to the first word.
    pub(super) first: *const AtomicU64,
    /// Process that owns the record; a forked child has no memory there.
    pub(super) origin: Origin,
}

// SAFETY: it is only followed to atomics, and only while its owner lives.
unsafe impl Send for Words {}

impl fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Registry").finish_non_exhaustive()
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic under the lock")
    }

    /// Adds a session. Its words stay valid until [`Self::leave`].
    pub(super) fn join(&self, record: &Record, words: Words) {
        let user = record.peer_uid.unwrap_or(u32::MAX);
        let mut state = self.lock();
        state.joined += 1;
        *state.by_user.entry(user).or_default() += 1;
        state.live.insert(record.number, Member { words, user });
    }

    /// Removes a session that ends with these numbers.
    pub(super) fn leave(&self, record: &Record) {
        let mut state = self.lock();
        let Some(member) = state.live.remove(&record.number) else { return };
        if let Some(count) = state.by_user.get_mut(&member.user) {
            *count -= 1;
            if *count == 0 {
                state.by_user.remove(&member.user);
            }
        }
        state.ended.add(&record.totals.without_state());
    }

    /// Returns a snapshot of all sessions. Each is among the live or among the ended, and never
    /// both.
    pub fn look(&self) -> Look {
        let state = self.lock();
        let mut live: Vec<_> =
            state.live.values().filter_map(|member| member.words.read()).collect();
        live.sort_by_key(|record| record.number);
        Look { live, joined: state.joined, ended: state.ended }
    }

    /// Returns the number of live sessions of a user; with `None`, of those of an unknown user.
    pub fn sessions_of(&self, user: Option<u32>) -> usize {
        self.lock().by_user.get(&user.unwrap_or(u32::MAX)).copied().unwrap_or(0)
    }
}

impl Words {
    /// Returns the record of a member of a locked registry; `None` in a forked child of the process
    /// that owns it.
    fn read(self) -> Option<Record> {
        let word = |index| {
            assert!(index < RECORD_WORDS, "word outside its record");
            // SAFETY: the index is inside the record of RECORD_WORDS atomics. `Registry::look`, the
            // only caller, holds the registry's lock, and a member leaves under that lock before
            // its record goes. `is_here` below excludes a forked child, which lacks the mapping.
            unsafe { &*self.first.add(index) }.load(Ordering::Relaxed)
        };
        self.origin.is_here().then(|| Record::read(word))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use breezeway_os::WaitPolicy;

    use super::*;
    use crate::statistics::{Description, Field, Meter};

    #[test]
    fn session_ending_during_a_snapshot_counts_once() {
        const SESSIONS: u64 = 2_000;
        let (registry, over) = (Arc::new(Registry::default()), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..SESSIONS {
                    let meter = Meter::new(&Description::of_worker(WaitPolicy::Park));
                    meter.add(Field::Slept, 1);
                    meter.join(&registry);
                }
                over.store(true, Ordering::Release);
            });
            while !over.load(Ordering::Acquire) {
                let look = registry.look();
                let live: u64 = look.live.iter().map(|record| record.totals.slept).sum();
                assert_eq!(live + look.ended.slept, look.joined);
            }
        });
        assert_eq!(registry.look().ended.slept, SESSIONS);
    }
}
