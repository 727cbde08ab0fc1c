//! The threads of a server that serve streams, each one stream at a time.
//!
//! A thread is started when a stream needs it, and kept for the next. They are limited, and no
//! session may take all: one more is given to a session that has fewer than are left.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::call::HandlerError;
use crate::channel::Stream;
use crate::log_limit::LogLimit;
use crate::protocol::ErrorCode;
use crate::served::panic_message;

type StreamHandler = dyn Fn(u32, Stream) -> Result<(), HandlerError> + Send + Sync;

/// Streams of one session that are served: as many as this has further copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Share(Arc<()>);

impl Share {
    fn taken(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

/// A stream to be served.
struct Job {
    method: u32,
    stream: Stream,
    _share: Share,
}

pub(crate) struct StreamThreads {
    handler: Box<StreamHandler>,
    limit: usize,
    state: Mutex<State>,
    arrived: Condvar,
}

struct State {
    /// Streams that wait for a thread which was woken or started for them.
    jobs: VecDeque<Job>,
    /// Streams that are served, or are about to be.
    busy: usize,
    threads: Vec<JoinHandle<()>>,
    closed: bool,
    refused: LogLimit,
    failed: LogLimit,
}

impl StreamThreads {
    pub(crate) fn new(
        limit: usize,
        handler: impl Fn(u32, Stream) -> Result<(), HandlerError> + Send + Sync + 'static,
    ) -> Self {
        let state = State {
            jobs: VecDeque::new(),
            busy: 0,
            threads: Vec::new(),
            closed: false,
            refused: LogLimit::new(),
            failed: LogLimit::new(),
        };
        Self {
            handler: Box::new(handler),
            limit,
            state: Mutex::new(state),
            arrived: Condvar::new(),
        }
    }

    /// The most streams of one session that are served at one time, if there is no other session.
    pub(crate) fn most_of_one_session(&self) -> usize {
        self.limit.div_ceil(2)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No handler runs with the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a stream on a thread of its own; if none is left for its session, refuses it.
    pub(crate) fn serve(self: &Arc<Self>, share: &Share, method: u32, stream: Stream) {
        let mut state = self.lock();
        let left = self.limit.saturating_sub(state.busy);
        if state.closed || share.taken() >= left {
            return self.refuse(state, stream);
        }
        state.busy += 1;
        state.jobs.push_back(Job { method, stream, _share: share.clone() });
        if state.busy <= state.threads.len() {
            drop(state);
            self.arrived.notify_one();
        } else if let Err(error) = self.start_thread(&mut state) {
            state.busy -= 1;
            let job = state.jobs.pop_back();
            tracing::warn!(%error, "a thread for a stream cannot be started");
            if let Some(job) = job {
                self.refuse(state, job.stream);
            }
        }
    }

    fn start_thread(self: &Arc<Self>, state: &mut State) -> io::Result<()> {
        let threads = Arc::clone(self);
        let name = format!("breezeway-stream-{}", state.threads.len());
        let run = move || {
            while let Some(job) = threads.next() {
                threads.handle(job);
            }
        };
        state.threads.push(thread::Builder::new().name(name).spawn(run)?);
        Ok(())
    }

    fn refuse(&self, mut state: MutexGuard<'_, State>, stream: Stream) {
        let admitted = state.refused.admit();
        drop(state);
        if let Some(suppressed) = admitted {
            tracing::warn!(
                peer = ?stream.peer(), limit = self.limit, suppressed,
                "a stream is refused: too few threads are left (option stream_threads)"
            );
        }
        stream.reset(ErrorCode::Overloaded);
    }

    fn handle(&self, job: Job) {
        let Job { method, stream, _share } = job;
        // The handler sees nothing of ours but the stream, which is gone when it returns or
        // unwinds.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            (self.handler)(method, stream).map_err(|error| error.to_string())
        }));
        let failure = match outcome {
            Ok(outcome) => outcome.err(),
            Err(panic) => Some(format!("it panicked: {}", panic_message(&*panic))),
        };
        let mut state = self.lock();
        state.busy -= 1;
        let admitted = failure.as_ref().and_then(|_| state.failed.admit());
        drop(state);
        if let (Some(reason), Some(suppressed)) = (failure, admitted) {
            tracing::warn!(method, %reason, suppressed, "a stream's handler failed");
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes no more streams, and waits for those that are served. Their sessions are over by then.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let threads = std::mem::take(&mut state.threads);
        drop(state);
        self.arrived.notify_all();
        for thread in threads {
            thread.join().expect("a handler's panic is caught");
        }
    }
}
