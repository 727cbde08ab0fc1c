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

    /// Sends the end of a stream, once; its peer's is still awaited.
    pub(crate) fn finish_stream(&self, stream: &StreamState, over_socket: bool) {
        let is_first = !stream.finished.swap(true, Ordering::SeqCst);
        if is_first && !stream.is_closed() && self.ended().is_none() {
            self.send_close(stream.id, over_socket);
        }
    }

    /// In the queue, behind the stream's data; over the socket if its data went there, or if the
    /// queue is full.
    fn send_close(&self, stream: u32, over_socket: bool) {
        let in_queue = !over_socket && matches!(self.publish_close(stream), Ok(true) | Err(_));
        if !in_queue {
            // A failure has ended the session, and with it the stream.
            let _ = self.send_behind_queue(&[&wire::stream_close(self.version, stream)]);
        }
    }

    /// From now on the stream's bytes go over the socket.
    pub(crate) fn leave_queue(&self, stream: &StreamState) {
        if !stream.over_socket.swap(true, Ordering::SeqCst) {
            self.over_socket.fetch_add(1, Ordering::Relaxed);
        }
        // Who closes it marks it as forgotten first and then reads this; one of us sees the
        // other.
        if stream.forgotten.load(Ordering::SeqCst) {
            self.return_to_queue(stream);
        }
    }

    /// A stream that is closed counts no more among those over the socket. True if it did.
    fn return_to_queue(&self, stream: &StreamState) -> bool {
        let counted = stream.over_socket.swap(false, Ordering::SeqCst);
        if counted {
            self.over_socket.fetch_sub(1, Ordering::Relaxed);
        }
        counted
    }
}
