//! Placement of new sessions: on the least busy worker.

use std::time::Duration;

use breezeway_os::clock;

/// Time for which a session counts as an eighth of a worker's time, until its load is measured.
const UNMEASURED: Duration = Duration::from_millis(20);
/// 256ths of a worker's time that make one step of load. Smaller differences are ignored.
const STEP: u64 = 32;

/// A worker's load and number of sessions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// The share of recent time that the worker was busy, in 256ths.
    pub(super) share: u64,
    /// Sessions that the worker has or will have.
    pub(super) sessions: usize,
}

/// Places sessions, and remembers those whose load cannot be measured yet.
pub(super) struct Placement {
    /// For each worker, the times at which sessions were placed, in clock ticks.
    recent: Vec<Vec<u64>>,
    unmeasured: u64,
}

impl Placement {
    pub(super) fn new(workers: usize) -> Self {
        Self { recent: vec![Vec::new(); workers], unmeasured: clock::ticks_in(UNMEASURED) }
    }

    /// Returns the worker for the next session.
    pub(super) fn place(
        &mut self,
        now: u64,
        candidate: impl Fn(usize) -> Candidate,
    ) -> Option<usize> {
        for recent in &mut self.recent {
            recent.retain(|&at| now.saturating_sub(at) < self.unmeasured);
        }
        let load = |worker: &usize| {
            let Candidate { share, sessions } = candidate(*worker);
            (share / STEP + self.recent[*worker].len() as u64, sessions)
        };
        let chosen = (0..self.recent.len()).min_by_key(load)?;
        self.recent[chosen].push(now);
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(share: u64, sessions: usize) -> Candidate {
        Candidate { share, sessions }
    }

    #[test]
    fn session_goes_to_idle_worker_despite_its_sessions() {
        let mut placement = Placement::new(2);
        let workers = [candidate(250, 1), candidate(3, 100)];
        assert_eq!(placement.place(1, |worker| workers[worker]), Some(1));
    }

    #[test]
    fn equally_busy_workers_share_sessions_by_count() {
        let mut placement = Placement::new(3);
        let workers = [candidate(9, 4), candidate(20, 3), candidate(0, 5)];
        assert_eq!(placement.place(1, |worker| workers[worker]), Some(1));
    }

    #[test]
    fn simultaneous_sessions_spread_before_load_is_measured() {
        let mut placement = Placement::new(2);
        let mut sessions = [0; 2];
        for _ in 0..20 {
            let place = |worker: usize| candidate([255, 0][worker], sessions[worker]);
            let chosen = placement.place(1, place).unwrap();
            sessions[chosen] += 1;
        }
        // Seven steps of load are seven sessions.
        assert!(sessions[1] - sessions[0] <= 8 && sessions[1] >= 13, "{sessions:?}");
        let later = 2 + clock::ticks_in(UNMEASURED);
        let place = |worker: usize| candidate([0, 255][worker], sessions[worker]);
        assert_eq!(placement.place(later, place), Some(0), "only what was measured counts");
    }
}
