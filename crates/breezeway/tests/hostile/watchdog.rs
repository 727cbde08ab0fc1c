//! Nothing here may hang: a test that does fails.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Far more than anything here takes on a loaded machine.
pub(crate) const GENEROUS: Duration = Duration::from_secs(60);

/// Runs a test's body; panics if it takes longer than `limit`.
pub(crate) fn within(limit: Duration, body: impl FnOnce() + Send + 'static) {
    let (done, finished) = channel::<()>();
    let thread = thread::Builder::new()
        .name(thread::current().name().unwrap_or("test").to_owned())
        .spawn(move || {
            let _done = done;
            body();
        })
        .expect("spawn");
    match finished.recv_timeout(limit) {
        Ok(()) => unreachable!("nothing is ever sent"),
        Err(RecvTimeoutError::Timeout) => panic!("still not done after {limit:?}: a hang"),
        Err(RecvTimeoutError::Disconnected) => {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}
