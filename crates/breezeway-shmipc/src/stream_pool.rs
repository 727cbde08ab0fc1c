//! Streams that a client's users have put back, for reuse.
//!
//! Reusing a stream saves the messages of its end, and the server the state of each stream.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use breezeway_os::Deadline;

use crate::lock::lock;
use crate::stream::Stream;

/// Maximum number of kept streams, as in upstream.
const MOST_KEPT: usize = 4096;

/// Kept streams; the last one put back is used first.
#[derive(Default)]
pub(crate) struct StreamPool {
    kept: Mutex<Vec<Stream>>,
}

impl StreamPool {
    /// Keeps a stream that is as good as a new one, and closes any other.
    pub(crate) fn put(&self, mut stream: Stream) {
        if !is_fresh(&stream) {
            return;
        }
        stream.set_read_timeout(None);
        stream.set_read_deadline(Deadline::NEVER);
        stream.set_write_timeout(None);
        stream.state().interrupted.store(false, Ordering::SeqCst);
        let session = stream.session();
        let mut kept = lock(&self.kept);
        if kept.len() < MOST_KEPT {
            kept.push(stream);
        }
        drop(kept);
        // Replaced after the check above; the thread that replaced it may have searched here
        // before.
        if session.is_replaced() {
            self.forget_replaced();
        }
    }

    /// Returns a stream that is still as good as a new one; closes others.
    pub(crate) fn take(&self) -> Option<Stream> {
        loop {
            let stream = lock(&self.kept).pop()?;
            if is_fresh(&stream) {
                return Some(stream);
            }
        }
    }

    /// Closes those of sessions that were replaced, which may end once their streams are gone.
    pub(crate) fn forget_replaced(&self) {
        let of_replaced = |stream: &mut Stream| stream.session().is_replaced();
        let forgotten: Vec<_> = lock(&self.kept).extract_if(.., of_replaced).collect();
        drop(forgotten);
    }

    /// Closes all.
    pub(crate) fn clear(&self) {
        let kept = std::mem::take(&mut *lock(&self.kept));
        drop(kept);
    }
}

/// Returns true if nothing is unread, neither side has ended the stream, its bytes go through
/// shared memory, and its session is one that a new stream could have.
fn is_fresh(stream: &Stream) -> bool {
    let (session, state) = (stream.session(), stream.state());
    !stream.has_arrivals()
        && !state.finished.load(Ordering::SeqCst)
        && !state.over_socket.load(Ordering::SeqCst)
        && !session.is_replaced()
        && session.ended().is_none()
}
