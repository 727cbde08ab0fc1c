//! The sessions of one server: what those that live count, and the sums of those that have ended.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use breezeway_os::Origin;

use super::fields::{RECORD_WORDS, Totals};
use super::snapshot::Record;

/// The sessions of one server. Each adds itself ([`Meter::join`](super::Meter::join)), and takes
/// itself out when it ends.
#[derive(Default)]
pub struct Registry(Mutex<State>);

#[derive(Default)]
struct State {
    /// By their numbers.
    live: HashMap<u64, Member>,
    /// How many of each user, by the uid as records have it.
    by_user: HashMap<u32, usize>,
    joined: u64,
    ended: Totals,
}

struct Member {
    words: Words,
    user: u32,
}

/// A record whose owner lives.
#[derive(Clone, Copy)]
pub(super) struct Words {
    /// Its first word.
    pub(super) first: *const AtomicU64,
    /// A forked child has nothing there.
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
        self.0.lock().expect("nobody panics with the lock")
    }

    /// Adds a session. Its words stay until [`Self::leave`].
    pub(super) fn join(&self, record: &Record, words: Words) {
        let user = record.peer_uid.unwrap_or(u32::MAX);
        let mut state = self.lock();
        state.joined += 1;
        *state.by_user.entry(user).or_default() += 1;
        state.live.insert(record.number, Member { words, user });
    }

    /// Takes a session out that ends with these numbers.
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

    /// What each session that lives counts, in the order in which they began.
    pub fn sessions(&self) -> Vec<Record> {
        let state = self.lock();
        let mut records: Vec<_> =
            state.live.values().filter_map(|member| member.words.read()).collect();
        records.sort_by_key(|record| record.number);
        records
    }

    /// Sessions that have joined so far.
    pub fn joined(&self) -> u64 {
        self.lock().joined
    }

    /// What the sessions that have ended have counted.
    pub fn ended(&self) -> Totals {
        self.lock().ended
    }

    /// Sessions that live of a user; of those whose user is not known, with `None`.
    pub fn sessions_of(&self, user: Option<u32>) -> usize {
        self.lock().by_user.get(&user.unwrap_or(u32::MAX)).copied().unwrap_or(0)
    }
}

impl Words {
    /// The record, while its owner is among the members of a registry whose lock is held; `None`
    /// in a child of the process that it is in.
    fn read(self) -> Option<Record> {
        let word = |index| {
            assert!(index < RECORD_WORDS, "word outside its record");
            // SAFETY: the owner lives: before it goes it waits, to leave, for the lock that the
            // caller holds. The record has so many words, and this process has them mapped.
            unsafe { &*self.first.add(index) }.load(Ordering::Relaxed)
        };
        self.origin.is_here().then(|| Record::read(word))
    }
}
