//! Threads on which tasks wait for what blocks, such as connecting.

use std::io;

use breezeway::ConnectError;
use breezeway::unstable::shortage;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};

/// Maximum number of threads that connect at the same time. Further callers wait.
const MOST_CONNECTING: usize = 512;
static CONNECTING: Semaphore = Semaphore::const_new(MOST_CONNECTING);

/// Runs blocking `work` on a thread of its own. (tokio's pool panics if it cannot create a thread.)
/// Waits while there are too many such threads.
///
/// # Errors
///
/// Fails if no thread can be created, or if `work` panics.
pub async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    on_one_of(&CONNECTING, work).await
}

async fn on_one_of<T: Send + 'static>(
    places: &'static Semaphore,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let place = places.acquire().await.expect("it is never closed");
    start(Some(place), work).await
}

/// Starts a thread that holds its place until it ends.
pub(crate) async fn start<T: Send + 'static>(
    place: Option<SemaphorePermit<'static>>,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let (sender, outcome) = oneshot::channel();
    shortage::spawn("breezeway-connect", move || {
        let _place = place;
        // The caller may have given up.
        let _ = sender.send(work());
    })?;
    outcome.await.map_err(|_| io::Error::other("the thread has panicked"))
}

/// Runs blocking `work` on a thread where it delays no task.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ConnectError> + Send + 'static,
) -> Result<T, ConnectError> {
    on_a_thread(work).await.map_err(ConnectError::Thread)?
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn abandoned_connects_keep_their_thread_places() {
        static ONE: Semaphore = Semaphore::const_new(1);
        let moment = Duration::from_millis(10);
        let (open, gate) = mpsc::channel::<()>();
        let first = on_one_of(&ONE, move || gate.recv().is_err());
        assert!(timeout(moment, first).await.is_err(), "it waits");
        let has_begun = Arc::new(AtomicBool::new(false));
        let begun = Arc::clone(&has_begun);
        let mut second =
            std::pin::pin!(on_one_of(&ONE, move || begun.store(true, Ordering::SeqCst)));
        assert!(timeout(moment, &mut second).await.is_err(), "there is no place");
        assert!(!has_begun.load(Ordering::SeqCst));
        drop(open);
        timeout(Duration::from_secs(30), second).await.expect("there is a place").unwrap();
        assert!(has_begun.load(Ordering::SeqCst));
    }
}
