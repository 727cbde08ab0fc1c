//! A shared session of a server: this worker receives for it and serves its calls; its streams go
//! to threads of their own.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::task::{Wake, Waker};

use breezeway_os::{Deadline, Peer};
use breezeway_proto::ErrorCode;

use super::{Inbox, Signal};
use crate::call::Handler;
use crate::carrier::Carrier;
use crate::channel::{Attended, Incoming, IncomingCall, ServerChannel, WorkerDriver};
use crate::deferred::DeferredCall;
use crate::error::SessionError;
use crate::link::Notice;
use crate::offload;
use crate::presence::SessionId;
use crate::served::{Orphan, Progress, is_gone};
use crate::server::Unserved;
use crate::slice::Slice;
use crate::streaming::{Share, StreamThreads};

pub(crate) struct SharedSession {
    driver: WorkerDriver,
    exit: Option<OwnedFd>,
    orphan: Orphan,
    call_worker: Option<Arc<CallWorker>>,
    /// The threads that serve its streams, and its client's share of them; `None` if the server
    /// takes no streams.
    streams: Option<(Arc<StreamThreads>, Share)>,
    /// Whether the client was told to go away.
    is_told: bool,
    /// Whether somebody else had its lock in its last turn.
    was_busy: bool,
}

/// Lets the worker give a session a turn.
struct CallWorker {
    inbox: Arc<Inbox>,
    token: usize,
    id: SessionId,
    /// That it was asked for, and no turn was taken since.
    called: Signal,
}

impl Wake for CallWorker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // What it is about was changed under the session's lock before. The worker clears the flag
        // before it takes the lock: if this finds it set, that turn is still to come.
        if self.called.give() {
            self.inbox.call(self.token, self.id);
        }
    }
}

impl SharedSession {
    /// Drives `channel`, whose client's process is gone once `exit` is readable.
    pub(crate) fn new(
        channel: ServerChannel,
        exit: Option<OwnedFd>,
        streams: Option<Arc<StreamThreads>>,
    ) -> Self {
        let share = |threads: Arc<StreamThreads>| {
            let share = threads.share_of(channel.peer());
            (threads, share)
        };
        Self {
            streams: streams.map(share),
            driver: WorkerDriver::new(channel),
            exit,
            orphan: Orphan::default(),
            call_worker: None,
            is_told: false,
            was_busy: false,
        }
    }

    pub(super) fn id(&self) -> SessionId {
        self.driver.channel().session()
    }

    pub(super) fn peer(&self) -> &Peer {
        self.driver.channel().peer()
    }

    pub(super) fn carrier(&self) -> Carrier {
        self.driver.channel().carrier()
    }

    pub(super) fn with_socket<R>(&self, act: impl FnOnce(BorrowedFd<'_>) -> R) -> R {
        self.driver.with_socket(act)
    }

    pub(super) fn try_with_socket<R>(&self, act: impl FnOnce(BorrowedFd<'_>) -> R) -> Option<R> {
        self.driver.try_with_socket(act)
    }

    pub(super) fn exit(&self) -> Option<BorrowedFd<'_>> {
        self.exit.as_ref().map(OwnedFd::as_fd)
    }

    pub(super) fn join(&mut self, inbox: Arc<Inbox>, token: usize) {
        let called = Signal::default();
        let call_worker = Arc::new(CallWorker { inbox, token, id: self.id(), called });
        self.driver.set_waker(&Waker::from(Arc::clone(&call_worker)));
        self.call_worker = Some(call_worker);
    }

    /// A turn follows.
    fn hear_calls(&self) {
        if let Some(call_worker) = &self.call_worker {
            call_worker.called.clear();
        }
    }

    /// Serves what is there, within a slice. Out of line: a worker of plain calls is not to pay for
    /// it.
    #[inline(never)]
    pub(super) fn serve_some(
        &mut self,
        handler: &impl Handler,
        polls: u32,
        slice: &mut Slice<'_>,
    ) -> Result<Progress, SessionError> {
        self.hear_calls();
        let (attended, mut has_arrivals) = self.driver.turn(polls)?;
        self.was_busy = attended == Attended::Busy;
        let mut served = 0;
        if attended == Attended::Worked {
            served += 1;
            has_arrivals &= slice.goes_on_after(0);
        }
        while has_arrivals && let Some(incoming) = self.driver.accept() {
            served += 1;
            has_arrivals = slice.goes_on_after(self.serve(incoming, handler));
        }
        match attended {
            // Where somebody else has the lock there is still something to accept.
            Attended::Ended if served == 0 && !has_arrivals => {
                self.driver.error().map_or(Ok(Progress::Closed), Err)
            }
            _ => Ok(Progress::Served(served)),
        }
    }

    /// Serves one call, or finds a thread for a stream; gives the bytes that were asked.
    fn serve(&self, incoming: Incoming, handler: &impl Handler) -> usize {
        match incoming {
            Incoming::Call(call) => self.call(call, handler),
            Incoming::Stream(method, stream) => {
                match &self.streams {
                    Some((threads, share)) => threads.serve(share, method, stream),
                    None => stream.reset(ErrorCode::Refused),
                }
                0
            }
        }
    }

    fn call(&self, call: IncomingCall, handler: &impl Handler) -> usize {
        let len = call.message().len();
        offload::serve(DeferredCall::new(call), handler);
        len
    }

    pub(super) fn was_busy(&self) -> bool {
        self.was_busy
    }

    pub(super) fn may_retry(&mut self) -> bool {
        self.orphan.may_retry(self.driver.is_closed())
    }

    pub(super) fn prepare_sleep(&mut self) -> bool {
        self.hear_calls();
        self.driver.prepare_sleep()
    }

    pub(super) fn notice(&mut self, notice: Notice) {
        self.driver.notice(notice);
    }

    pub(super) fn drain(&mut self) -> bool {
        self.driver.drain()
    }

    pub(super) fn client_is_gone(&self) -> bool {
        self.with_socket(|socket| is_gone(socket, self.exit()))
    }

    pub(super) fn shares_cpu(&self) -> bool {
        self.driver.shares_cpu()
    }

    pub(super) fn is_in_use(&self) -> bool {
        self.driver.is_in_use()
    }

    pub(super) fn looks_again(&self) -> bool {
        self.driver.looks_again()
    }

    pub(super) fn has_unwritten(&self) -> bool {
        self.driver.has_unwritten()
    }

    pub(super) fn flush(&mut self, deadline: Deadline) -> bool {
        self.driver.flush(deadline)
    }

    pub(super) fn say_go_away(&mut self) {
        self.is_told = self.is_told || self.driver.say_go_away();
    }

    /// Runs what it is given with the session's lock.
    #[cfg(test)]
    pub(super) fn locked(&self) -> impl FnOnce(&mut dyn FnMut() -> bool) -> bool + Send + 'static {
        self.driver.locked()
    }

    /// Says that the session is over, behind all replies: what the socket does not take at once is
    /// [flushed](Self::flush) until then.
    pub(super) fn say_shutdown(&mut self, until: Deadline) {
        self.driver.say_shutdown(until);
    }

    /// Tells the calls and streams that were not begun that they will not be, and counts what else
    /// is left.
    pub(super) fn refuse_the_rest(&mut self) -> Unserved {
        self.driver.refuse_new();
        let mut undone = self.driver.channel().unserved();
        // A client that asks for more meanwhile, without end, keeps nobody.
        let mut left = self.driver.max_pending();
        while left > 0 {
            match self.driver.turn(1) {
                // The worker ends, so it may wait.
                Ok((Attended::Busy, _)) => self.driver.wait_for_lock(),
                Ok((Attended::Worked, _)) => {}
                // An error ends the session, which ends anyway.
                Ok((Attended::Idle | Attended::Ended, _)) | Err(_) => break,
            }
            let now = self.driver.channel().unserved();
            let refused =
                now.calls_refused - undone.calls_refused + now.messages_lost - undone.messages_lost;
            left = left.saturating_sub(refused.max(1));
            undone = now;
        }
        // What a client has asked for before its own end is there behind that.
        self.driver.refuse_new();
        self.driver.channel().unserved()
    }
}
