//! The threads of a server that serve streams, each one stream at a time.
//!
//! A thread is started when a stream needs it, and kept for the next stream. The number of threads
//! is limited, and one client cannot occupy all of them, with any number of sessions: a client
//! receives one more thread if it has fewer than are left.

use crate::error::describe;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};

use breezeway_os::Peer;
use breezeway_proto::ErrorCode;

use crate::call::HandlerError;
use crate::log_limit::LogLimit;
use crate::reasons::panic_message;
use crate::session::Stream;

type StreamHandler = dyn Fn(u32, Stream) -> Result<(), HandlerError> + Send + Sync;

/// Account of one client's streams that are served, over all its sessions.
#[derive(Clone, Debug)]
pub(crate) struct Share(Arc<Account>);

#[derive(Debug, Default)]
struct Account {
    taken: AtomicUsize,
}

/// A stream that counts against its client's share.
struct Taken(Share);

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Identity of a client whose sessions share threads: one process, as the kernel names it, or one
/// host. If a pid is used again while a session of the first process lives, the second process
/// loses a part of its share. `None` for a process that the kernel cannot name: each of its
/// sessions has its own share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Client {
    Process { pid: u32, uid: Option<u32> },
    Host(IpAddr),
}

impl Client {
    fn of(peer: &Peer) -> Option<Self> {
        match (peer.remote, peer.pid) {
            (Some(remote), _) => Some(Self::Host(remote.ip())),
            (None, Some(pid)) => Some(Self::Process { pid, uid: peer.uid }),
            (None, None) => None,
        }
    }
}

impl Share {
    // Relaxed, here and above: it is read and added to under the threads' lock.
    fn taken(&self) -> usize {
        self.0.taken.load(Ordering::Relaxed)
    }

    fn take(&self) -> Taken {
        self.0.taken.fetch_add(1, Ordering::Relaxed);
        Taken(self.clone())
    }
}

/// A stream to be served.
struct Job {
    method: u32,
    stream: Stream,
    _taken: Taken,
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
    /// Accounts of the existing sessions, by client.
    shares: HashMap<Client, Weak<Account>>,
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
            shares: HashMap::new(),
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

    /// Returns the limit of streams of one session that are served at a time, if there is no other
    /// client's, nor another session of its own.
    pub(crate) fn most_of_one_session(&self) -> usize {
        self.limit.div_ceil(2)
    }

    /// Returns the share of a new session: one for all sessions of its client.
    pub(crate) fn share_of(&self, peer: &Peer) -> Share {
        let Some(client) = Client::of(peer) else { return Share(Arc::default()) };
        let mut state = self.lock();
        let known = state.shares.get(&client).and_then(Weak::upgrade);
        if let Some(account) = known {
            return Share(account);
        }
        // Accounts of clients that have gone.
        state.shares.retain(|_, account| account.strong_count() > 0);
        let account = Arc::default();
        state.shares.insert(client, Arc::downgrade(&account));
        Share(account)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No handler runs with the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a stream on a thread of its own, or refuses it if no thread is left for its client.
    pub(crate) fn serve(self: &Arc<Self>, share: &Share, method: u32, stream: Stream) {
        let mut state = self.lock();
        let left = self.limit.saturating_sub(state.busy);
        if state.closed || share.taken() >= left {
            return self.refuse(state, stream);
        }
        state.busy += 1;
        state.jobs.push_back(Job { method, stream, _taken: share.take() });
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
        let Job { method, stream, _taken } = job;
        // Keeps a stream that the handler drops from being ended in order, until it is known that
        // the handler did not fail. The handler shares only the stream with this function.
        let last = stream.last_handle();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            (self.handler)(method, stream).map_err(|error| describe(&*error))
        }));
        let failure = match outcome {
            Ok(Ok(())) => {
                drop(last);
                None
            }
            Ok(Err(reason)) => {
                last.reset(ErrorCode::Cancelled);
                Some(reason)
            }
            Err(panic) => {
                last.reset(ErrorCode::Panicked);
                Some(format!("it panicked: {}", panic_message(&*panic)))
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32) -> Peer {
        Peer { pid: Some(pid), uid: Some(7), gid: Some(7), remote: None, identity: None }
    }

    fn host(host: u8, port: u16) -> Peer {
        Peer::remote(([10, 0, 0, host], port).into())
    }

    #[test]
    fn sessions_of_one_process_or_host_share_and_others_do_not() {
        let threads = StreamThreads::new(8, |_, _| Ok(()));
        let shares = |one: Peer, other: Peer| {
            let (one, other) = (threads.share_of(&one), threads.share_of(&other));
            let taken = one.take();
            assert_eq!(one.taken(), 1);
            let shares = other.taken() == 1;
            drop(taken);
            assert_eq!(other.taken(), 0);
            shares
        };
        assert!(shares(process(1), process(1)));
        assert!(!shares(process(1), process(2)));
        assert!(!shares(process(1), Peer { uid: Some(8), ..process(1) }));
        assert!(shares(host(1, 1000), host(1, 1001)));
        assert!(!shares(host(1, 1000), host(2, 1000)));
        let unknown = Peer { pid: None, uid: None, gid: None, remote: None, identity: None };
        assert!(!shares(unknown.clone(), unknown));
    }

    #[test]
    fn clients_that_have_gone_are_forgotten() {
        let threads = StreamThreads::new(8, |_, _| Ok(()));
        let kept = threads.share_of(&process(0));
        for pid in 1..100 {
            threads.share_of(&process(pid));
        }
        assert!(threads.lock().shares.len() <= 2);
        drop(kept);
    }
}
