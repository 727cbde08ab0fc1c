//! Counters of sessions for the `metrics` facade.

use std::sync::Mutex;

use metrics::{counter, gauge, histogram};

use super::Core;
use crate::counters::SessionCounters;
use crate::lock::lock;
use crate::table::Role;

/// Counts of a session that were recorded so far.
#[derive(Default)]
pub(crate) struct Recorded(Mutex<State>);

#[derive(Default)]
struct State {
    counters: SessionCounters,
    is_counted: bool,
}

fn role(core: &Core) -> &'static str {
    match core.role {
        Role::Client => "client",
        Role::Server => "server",
    }
}

impl Recorded {
    /// Counts a session that begins among the live ones.
    pub(crate) fn begin(&self, core: &Core) {
        lock(&self.0).is_counted = true;
        gauge!("shmipc_sessions", "role" => role(core)).increment(1.0);
        gauge!("shmipc_region_bytes", "role" => role(core)).increment(region_bytes(core));
    }

    /// Records the counts since the last time.
    pub(crate) fn record(&self, core: &Core) {
        let mut state = lock(&self.0);
        let now = core.counters.read();
        for (name, added) in now.since(&state.counters) {
            counter!(name, "role" => role(core)).increment(added);
        }
        state.counters = now;
        drop(state);
        if core.ended().is_none() {
            let depth = f64::from(core.queue_depth());
            histogram!("shmipc_queue_depth", "role" => role(core)).record(depth);
        }
    }

    /// Ends the session's record, once.
    pub(crate) fn end(&self, core: &Core) {
        self.record(core);
        if std::mem::take(&mut lock(&self.0).is_counted) {
            gauge!("shmipc_sessions", "role" => role(core)).decrement(1.0);
            gauge!("shmipc_region_bytes", "role" => role(core)).decrement(region_bytes(core));
        }
    }
}

fn region_bytes(core: &Core) -> f64 {
    let [queue, buffer] = core.region_sizes();
    f64::from(queue) + f64::from(buffer)
}
