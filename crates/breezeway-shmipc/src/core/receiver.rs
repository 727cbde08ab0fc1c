//! Receiving for all streams of a session: the holder of the [`Receiver`] takes elements off the
//! queue and messages off the socket, and delivers each to its stream.

mod closing;
mod elements;
mod routing;
mod socket;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::incoming::Incoming;
use crate::message::Piece;
use crate::pace::Pace;
use crate::pauses::Pauses;
use crate::queue::Consumer;
use crate::spin::SpinPlan;
use crate::stream_state::StreamState;

/// The receiving side of a session.
pub(crate) struct Receiver {
    pub(crate) consumer: Consumer,
    incoming: Incoming,
    pub(crate) spin: SpinPlan,
    pub(crate) pace: Pace,
    /// Pauses since the socket may not be read and nothing came through the queue; messages until
    /// then.
    pauses: Option<(Pauses, u64)>,
    /// Pieces of the message that is being received; kept so that the memory is reused.
    pieces: Vec<Piece>,
    /// The stream of the last message, which the next one is probably for.
    last: Option<Arc<StreamState>>,
    /// The stream that fallback bytes are for; `None` if they are dropped.
    payload_for: Option<Arc<StreamState>>,
    /// Streams whose end was just seen.
    closing: Vec<Arc<StreamState>>,
    /// Streams whose end was seen, with the number of bytes that must have been read from the
    /// socket before it counts: those that were in there when it was seen. In this order.
    ending: VecDeque<(u64, Arc<StreamState>)>,
    /// Bytes read from the socket so far.
    bytes_read: u64,
    /// True if the peer has put an element, which proves that it has mapped the regions.
    peer_has_put: bool,
    #[cfg(feature = "tokio")]
    by_driver: bool,
}

impl Receiver {
    /// Creates a receiver of `consumer`'s elements, and of the session's socket.
    pub(crate) fn new(consumer: Consumer) -> Self {
        Self {
            consumer,
            incoming: Incoming::new(),
            spin: SpinPlan::new(),
            pace: Pace::new(),
            pauses: None,
            pieces: Vec::new(),
            last: None,
            payload_for: None,
            closing: Vec::new(),
            ending: VecDeque::new(),
            bytes_read: 0,
            peer_has_put: false,
            #[cfg(feature = "tokio")]
            by_driver: false,
        }
    }

    /// Returns the time to sleep while the socket, and with it wake-ups, may not be read.
    pub(crate) fn pause_without_socket(&mut self) -> Duration {
        let received = self.pace.received();
        if self.pauses.as_ref().is_none_or(|(_, before)| *before != received) {
            self.pauses = Some((Pauses::new(), received));
        }
        self.pauses.as_ref().map_or(Duration::ZERO, |(pauses, _)| pauses.next_short())
    }
}
