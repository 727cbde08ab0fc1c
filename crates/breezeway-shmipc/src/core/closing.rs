//! The end of a stream, and its way to the peer.

use std::sync::atomic::Ordering;

use super::Core;
use crate::lock::lock;
use crate::stream_state::StreamState;
use crate::wire;

impl Core {
    /// Closes a stream towards the peer and forgets it.
    pub(crate) fn close_stream(&self, stream: &StreamState, notify_peer: bool) {
        if stream.forgotten.swap(true, Ordering::SeqCst) {
            return;
        }
        lock(&self.table).forget(stream.id);
        let over_socket = self.return_to_queue(stream);
        self.discard(stream.empty());
        if notify_peer {
            self.finish_stream(stream, over_socket);
        }
    }

    /// Sends the end of a stream, once; the peer's is still awaited.
    pub(crate) fn finish_stream(&self, stream: &StreamState, over_socket: bool) {
        let is_first = !stream.finished.swap(true, Ordering::SeqCst);
        if is_first && !stream.is_closed() && self.ended().is_none() {
            self.send_close(stream.id, over_socket);
        }
    }

    /// Sends the end in the queue, behind the stream's data; over the socket if its data went
    /// there, or if the queue is full.
    fn send_close(&self, stream: u32, over_socket: bool) {
        let in_queue = !over_socket && matches!(self.publish_close(stream), Ok(true) | Err(_));
        if !in_queue {
            // A failure has ended the session, and with it the stream.
            let _ = self.send_behind_queue(&[&wire::stream_close(self.version, stream)]);
        }
    }

    /// Sends the stream's bytes over the socket from now on.
    pub(crate) fn leave_queue(&self, stream: &StreamState) {
        if !stream.over_socket.swap(true, Ordering::SeqCst) {
            self.over_socket.fetch_add(1, Ordering::Relaxed);
        }
        // The thread that closes the stream marks it as forgotten first and then reads this flag;
        // one of the two sees the other's store.
        if stream.forgotten.load(Ordering::SeqCst) {
            self.return_to_queue(stream);
        }
    }

    /// Removes a closed stream from the count of those over the socket. Returns true if it was
    /// counted.
    fn return_to_queue(&self, stream: &StreamState) -> bool {
        let counted = stream.over_socket.swap(false, Ordering::SeqCst);
        if counted {
            self.over_socket.fetch_sub(1, Ordering::Relaxed);
        }
        counted
    }
}
