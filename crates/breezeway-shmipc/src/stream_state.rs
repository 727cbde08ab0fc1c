//! Received data of one stream that was not read yet, and its waiting reader.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

use crate::lock::lock;
use crate::message::Piece;
use crate::pace::LastMessage;

/// Maximum size of a block of bytes that came over the socket. glibc maps each larger one, and
/// after one was freed lets each thread's heap keep as much.
const HEAP_PIECE: usize = 64 * 1024;

/// A stream's part in its session, shared between its handle and the receiving thread.
pub(crate) struct StreamState {
    /// Number of the stream.
    pub(crate) id: u32,
    /// True if its bytes go over the socket, because some did: the socket and the queue have no
    /// common order.
    pub(crate) over_socket: AtomicBool,
    /// True if it has left the session's table.
    pub(crate) forgotten: AtomicBool,
    /// True if this side has sent its end.
    pub(crate) finished: AtomicBool,
    /// True if nothing more is to be sent, though its end was not sent: see
    /// [`Interrupter::give_up`](crate::Interrupter::give_up).
    pub(crate) given_up: AtomicBool,
    /// True if its end was seen, which may have to wait for data sent before.
    pub(crate) ending: AtomicBool,
    /// True if it is in the queue of streams that are ready to be served.
    pub(crate) queued: AtomicBool,
    /// True if the present or next wait must be given up.
    pub(crate) interrupted: AtomicBool,
    /// True if the peer has closed the stream; changed under the unread's lock.
    closed: AtomicBool,
    unread: Mutex<Unread>,
    pub(crate) last: LastMessage,
}

/// Bytes in order.
#[derive(Default)]
struct Unread {
    pieces: VecDeque<Piece>,
    waiting: Option<Waker>,
}

/// Result of collecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Bytes, which were moved to the reader.
    Bytes,
    /// All bytes were read, and the peer has closed the stream.
    End,
}

impl StreamState {
    /// Creates a stream without data.
    pub(crate) fn new(id: u32) -> Self {
        Self {
            id,
            over_socket: AtomicBool::new(false),
            forgotten: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            queued: AtomicBool::new(false),
            interrupted: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            unread: Mutex::default(),
            last: LastMessage::default(),
        }
    }

    /// Adds bytes, and wakes the waiting reader.
    #[inline]
    pub(crate) fn deliver(&self, pieces: &mut Vec<Piece>) {
        let mut unread = lock(&self.unread);
        unread.pieces.extend(pieces.drain(..));
        let waiting = unread.waiting.take();
        drop(unread);
        wake(waiting);
    }

    /// Adds bytes that came over the socket; behind others of that kind without another allocation
    /// each.
    pub(crate) fn deliver_copy(&self, more: &[u8]) {
        let mut unread = lock(&self.unread);
        match unread.pieces.back_mut() {
            Some(Piece::Heap { bytes, .. }) if bytes.len() + more.len() <= HEAP_PIECE => {
                bytes.extend_from_slice(more);
            }
            _ => unread.pieces.push_back(Piece::Heap { bytes: more.to_vec(), read: 0 }),
        }
        let waiting = unread.waiting.take();
        drop(unread);
        wake(waiting);
    }

    /// Notes that the peer has closed the stream.
    pub(crate) fn close(&self) {
        let mut unread = lock(&self.unread);
        self.closed.store(true, Ordering::Release);
        let waiting = unread.waiting.take();
        drop(unread);
        wake(waiting);
    }

    /// Returns true if the peer has closed the stream.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Moves the received data to the reader. If there is none, `waker` is kept and woken when some
    /// comes.
    #[inline]
    pub(crate) fn collect(
        &self,
        reading: &mut VecDeque<Piece>,
        waker: Option<&Waker>,
    ) -> Option<Arrival> {
        let mut unread = lock(&self.unread);
        if !unread.pieces.is_empty() {
            if reading.is_empty() {
                std::mem::swap(reading, &mut unread.pieces);
            } else {
                reading.append(&mut unread.pieces);
            }
            return Some(Arrival::Bytes);
        }
        if self.is_closed() {
            return Some(Arrival::End);
        }
        if let Some(waker) = waker {
            unread.waiting = Some(waker.clone());
        }
        None
    }

    /// Returns true if there is data to collect.
    pub(crate) fn has_arrivals(&self) -> bool {
        let unread = lock(&self.unread);
        !unread.pieces.is_empty() || self.is_closed()
    }

    /// Gives up the present or the next wait.
    pub(crate) fn interrupt(&self) {
        self.interrupted.store(true, Ordering::SeqCst);
        self.notify();
    }

    /// Wakes the waiting reader.
    pub(crate) fn notify(&self) {
        let waiting = lock(&self.unread).waiting.take();
        wake(waiting);
    }

    /// Takes all received data of a stream without a reader.
    pub(crate) fn empty(&self) -> VecDeque<Piece> {
        std::mem::take(&mut lock(&self.unread).pieces)
    }
}

fn wake(waiting: Option<Waker>) {
    if let Some(waker) = waiting {
        waker.wake();
    }
}
