//! The end of a server after a successor has taken its sockets: its clients move there, in their
//! own time.

use std::sync::Arc;
use std::time::Duration;

use breezeway_os::Deadline;

use super::acceptor::{Acceptor, Destination};
use super::stopper::Stopper;
use crate::error::ServeError;
use crate::unserved::Unserved;
use crate::worker::Inbox;

/// Interval at which the server checks if all clients have gone, and sends the go-away to those
/// that had no room for it.
const TURN: Duration = Duration::from_millis(5);

/// Asks clients to go away, and serves them until all have gone or the time is over.
pub(super) fn drain<D: Destination>(
    acceptor: &mut Acceptor<D>,
    inboxes: &[Arc<Inbox>],
    stopper: &Stopper,
    timeout: Duration,
) -> Result<(), ServeError> {
    let end = Deadline::after(timeout);
    acceptor.let_go();
    while !end.has_passed() && !stopper.is_stopping() {
        inboxes.iter().for_each(|inbox| inbox.drain());
        if acceptor.destination.sessions() == 0 && !acceptor.has_half_open() {
            break;
        }
        acceptor.turn(Some(TURN.min(end.time_left().unwrap_or(TURN))))?;
    }
    if end.has_passed() {
        inboxes.iter().for_each(|inbox| inbox.run_out_of_time());
    }
    Ok(())
}

/// Logs the work that the workers have left undone.
pub(super) fn sum_up(inboxes: &[Arc<Inbox>], stopper: &Stopper) {
    let mut sum = Unserved::default();
    inboxes.iter().for_each(|inbox| sum += inbox.unserved());
    *stopper.unserved.lock().expect("no thread panics with the lock") = sum;
    if sum != Unserved::default() {
        let Unserved { calls_refused, calls_cut, messages_lost } = sum;
        tracing::warn!(calls_refused, calls_cut, messages_lost, "the time to drain was too short");
    }
}
