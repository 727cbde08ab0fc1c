//! The end of an attack in which one side makes no progress.

use std::time::{Duration, Instant};

use crate::process::Process;

/// No call of an honest client takes so long, on however busy a machine.
pub(super) const STANDSTILL: Duration = Duration::from_secs(60);

/// Notices an honest client or an attack that makes no progress.
pub(super) struct Standstill {
    /// The side that stood still, and the server then.
    pub(super) report: Option<String>,
    /// Calls and steps that are missing, and the time since when.
    missing: [u64; 2],
    since: [Instant; 2],
}

impl Standstill {
    pub(super) fn new() -> Self {
        Self { report: None, missing: [u64::MAX; 2], since: [Instant::now(); 2] }
    }

    /// Returns true while calls of the honest client or steps of the attack are missing. Where none
    /// has come for long, the server is ended, which ends all that wait for it.
    pub(super) fn goes_on(&mut self, calls: u64, steps: u64, server: &Process) -> bool {
        for (which, now) in [calls, steps].into_iter().enumerate() {
            if now != self.missing[which] {
                (self.missing[which], self.since[which]) = (now, Instant::now());
            } else if now > 0 && self.since[which].elapsed() > STANDSTILL {
                let who = ["the honest client", "the attack"][which];
                self.report = Some(format!(
                    "{who} stands still, {calls} calls and {steps} steps from the end; the \
                     server:\n{}{}",
                    server.threads(),
                    server.said()
                ));
                server.die();
                return false;
            }
        }
        calls > 0 || steps > 0
    }
}
