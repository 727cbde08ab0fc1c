//! Policy for repeating calls.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Sleep;
use tower::BoxError;
use tower::retry::Policy;
use tower::retry::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff};
use tower::retry::budget::{Budget, TpsBudget};
use tower::util::rng::HasherRng;

use super::{CallReply, CallRequest};
use crate::error::Error;

/// First pause before another attempt, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));
/// Random variation of a pause.
const JITTER: f64 = 0.5;

/// Policy for [`tower::retry::Retry`]: it repeats calls that failed before they were sent, and
/// [idempotent](crate::CallOptions::idempotent) calls also if they may have run. An error from the
/// service itself is a reply and not repeated, nor is a call that a layer of this side has shed.
///
/// The pauses between attempts grow from 5 to 500 ms, each longer by up to half at random. All
/// clones share a budget: two more attempts for every ten calls, plus ten in each second.
#[derive(Clone, Debug)]
pub struct RetryPolicy {
    attempts_left: usize,
    budget: Arc<TpsBudget>,
    pauses: ExponentialBackoff<HasherRng>,
}

impl RetryPolicy {
    /// Allows `attempts` attempts, the first included.
    pub fn new(attempts: usize) -> Self {
        let mut pauses = ExponentialBackoffMaker::new(PAUSES.0, PAUSES.1, JITTER, HasherRng::new())
            .expect("the pauses are in order");
        let budget = Arc::default();
        Self { attempts_left: attempts.saturating_sub(1), budget, pauses: pauses.make_backoff() }
    }

    /// Sets a budget that clients share.
    pub fn budget(mut self, budget: Arc<TpsBudget>) -> Self {
        self.budget = budget;
        self
    }

    fn again(
        &mut self,
        request: &CallRequest,
        is_passing: bool,
        may_have_run: bool,
    ) -> Option<Sleep> {
        let is_safe = !may_have_run || request.is_idempotent();
        if !is_passing || !is_safe || self.attempts_left == 0 || !self.budget.withdraw() {
            return None;
        }
        self.attempts_left -= 1;
        Some(self.pauses.next_backoff())
    }
}

impl Policy<CallRequest, CallReply, Error> for RetryPolicy {
    type Future = Sleep;

    fn retry(
        &mut self,
        request: &mut CallRequest,
        result: &mut Result<CallReply, Error>,
    ) -> Option<Sleep> {
        match result {
            Ok(_) => {
                self.budget.deposit();
                None
            }
            Err(error) => self.again(request, error.may_pass(), error.may_have_run()),
        }
    }

    fn clone_request(&mut self, request: &CallRequest) -> Option<CallRequest> {
        Some(request.clone())
    }
}

impl Policy<CallRequest, CallReply, BoxError> for RetryPolicy {
    type Future = Sleep;

    fn retry(
        &mut self,
        request: &mut CallRequest,
        result: &mut Result<CallReply, BoxError>,
    ) -> Option<Sleep> {
        let error = match result {
            Ok(_) => {
                self.budget.deposit();
                return None;
            }
            Err(error) => error,
        };
        if let Some(error) = error.downcast_ref::<Error>() {
            return self.again(request, error.may_pass(), error.may_have_run());
        }
        self.again(request, error.is::<tower::timeout::error::Elapsed>(), true)
    }

    fn clone_request(&mut self, request: &CallRequest) -> Option<CallRequest> {
        Some(request.clone())
    }
}
