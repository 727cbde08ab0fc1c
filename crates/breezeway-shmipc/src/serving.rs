//! Serving of all streams of a session on one thread.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;

use breezeway_os::Deadline;

use crate::error::{SessionEnd, StreamError};
use crate::handler::{ByClosure, ByHandler, Calls, Handler};
use crate::lock::lock;
use crate::session::Session;
use crate::stream::Stream;
use crate::stream_state::StreamState;

/// Number of streams that are served before the peer is notified of the answers: enough to share
/// that cost, few enough that a sleeping peer begins early.
const IN_A_ROW: usize = 16;

impl Session {
    /// Serves all streams of the session on this thread, until the session ends: `handler` is
    /// called with each stream that has new data, bytes or the end. It must not wait for more data
    /// of the same stream. If it leaves bytes unread, it is called again when more come. A stream
    /// is closed when it is at its end, or when the handler fails or panics.
    pub fn serve(&self, handler: impl FnMut(&mut Stream) -> Result<(), StreamError>) -> SessionEnd {
        self.serve_by(&mut ByClosure(handler))
    }

    /// Serves like [`serve`](Self::serve), with a handler that is also called at the begin and end
    /// of the session and its streams.
    pub fn serve_with(&self, handler: &impl Handler) -> SessionEnd {
        handler.began(self);
        let end = self.serve_by(&mut ByHandler(handler));
        handler.ended(self, &end);
        end
    }

    fn serve_by(&self, calls: &mut impl Calls) -> SessionEnd {
        self.core.serving.store(true, Ordering::SeqCst);
        let (mut streams, mut current) = (HashMap::new(), None);
        // Around the loop and not around each call, so that a call costs nothing.
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| {
            self.serve_streams(&mut streams, &mut current, calls);
        })) {
            // No call was running: the panic is a defect of this crate.
            let Some(id) = current.take() else { resume_unwind(panic) };
            tracing::error!(stream = id, "a handler of a shmipc stream panicked: it is closed");
            streams.remove(&id);
            // A failure has ended the session, which ends the loop.
            let _ = self.core.uncork();
        }
        self.core.ended().cloned().unwrap_or(SessionEnd::Closed)
    }

    /// Serves streams until the session ends, or a call panics, that of the stream `current`.
    fn serve_streams(
        &self,
        streams: &mut HashMap<u32, Stream>,
        current: &mut Option<u32>,
        calls: &mut impl Calls,
    ) {
        let mut next_ready = |_: Option<&Waker>| self.next_ready();
        while let Ok(Some(state)) = self.core.wait(Deadline::NEVER, &mut next_ready) {
            self.core.cork();
            self.serve_one(streams, current, state, calls);
            for _ in 1..IN_A_ROW {
                let Some(Some(state)) = self.next_ready() else { break };
                self.serve_one(streams, current, state, calls);
            }
            // A failure has ended the session, which ends the loop.
            let _ = self.core.uncork();
        }
        while let Some(id) = streams.keys().next().copied() {
            self.end_stream(streams, current, id, calls);
        }
    }

    fn end_stream(
        &self,
        streams: &mut HashMap<u32, Stream>,
        current: &mut Option<u32>,
        id: u32,
        calls: &mut impl Calls,
    ) {
        *current = Some(id);
        streams.remove(&id);
        calls.closed(self, id);
        *current = None;
    }

    /// Returns the next stream with data; the inner `None` at the session's end. (Streams that were
    /// accepted before serving began belong to their holders.)
    fn next_ready(&self) -> Option<Option<Arc<StreamState>>> {
        let ended = self.core.ended().is_some();
        if let Some(state) = lock(&self.core.ready).pop_front() {
            return Some(Some(state));
        }
        match lock(&self.core.table).accept(None) {
            Some(state) => Some(Some(state)),
            None => ended.then_some(None),
        }
    }

    fn serve_one(
        &self,
        streams: &mut HashMap<u32, Stream>,
        current: &mut Option<u32>,
        state: Arc<StreamState>,
        calls: &mut impl Calls,
    ) {
        let id = state.id;
        // From now on, new data puts it into the queue again.
        state.queued.store(false, Ordering::SeqCst);
        if state.forgotten.load(Ordering::Relaxed) {
            return;
        }
        *current = Some(id);
        let is_known = streams.get(&id).is_some_and(|stream| Arc::ptr_eq(stream.state(), &state));
        let stream = streams.entry(id).or_insert_with(|| self.stream(state));
        if !is_known {
            calls.opened(self, stream);
        }
        let mut is_over = stream.has_arrivals() && calls.arrived(self, stream).is_err();
        if stream.is_at_end() {
            is_over = true;
            calls.closed_by_peer(self, stream);
        }
        *current = None;
        if is_over {
            self.end_stream(streams, current, id, calls);
        }
    }
}
