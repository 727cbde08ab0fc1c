//! The task that receives for a session while none of its readers runs.

use std::future::{Future, poll_fn};
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use breezeway_os::clock;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::core::Core;
use crate::core::receiver::Receiver;
use crate::lock::{lock, try_lock};
use crate::pauses::Pauses;

/// Minimum number of the runtime's turns in which the driver polls before it sleeps: other tasks
/// run in between, and replies to their messages may arrive by then.
const MIN_POLLS: u32 = 16;

/// Starts the session's driver in the current runtime, unless it has one.
#[allow(unsafe_code, reason = "the runtime asks for a promise about the descriptor")]
pub(super) fn ensure(core: &Arc<Core>) -> std::io::Result<()> {
    if core.driver.started.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    // A second descriptor of the same socket: the runtime's registration must not outlive the
    // first.
    let socket = core.socket().try_clone_to_owned()?;
    let interest = Interest::READABLE | Interest::WRITABLE;
    // SAFETY: an `OwnedFd` returns the same descriptor each time, open until it is dropped. The
    // registration owns it, and so does not outlive it.
    let socket = unsafe { AsyncFd::register_with_interest(socket, interest) }?;
    let attention = Arc::clone(&core.driver.attention);
    tokio::spawn(drive(Arc::downgrade(core), socket, attention));
    Ok(())
}

/// Next action of the driver.
enum Next {
    /// Polls again, after other tasks.
    PollSoon,
    /// Sleeps until the socket is readable and, if it is full, until it accepts more bytes; at most
    /// for a given time if an event is awaited that nothing reports.
    Sleep { send: bool, at_most: Option<Duration> },
    /// Sleeps until it is woken, or for this time; the socket is not read.
    Pause(Duration),
}

/// Time that the driver continues to poll without data: as long as a thread would spin by evidence,
/// but other tasks run in between. It never polls for ever, because the runtime reads the socket
/// only while it sleeps.
#[derive(Default)]
struct Patience {
    /// Messages received at the last poll.
    received: u64,
    /// Polls since the last data.
    polls: u32,
    /// Consecutive polls that failed because another thread was receiving.
    locked_out: u32,
    /// End of spinning, if this wait began with it.
    until: Option<u64>,
    /// Pauses since the last data or room.
    pauses: Option<Pauses>,
    /// Sends that had found room by then.
    progress: u64,
}

impl Patience {
    /// Returns true if the driver should poll once more.
    fn lasts(&mut self, core: &Core, receiver: &mut Receiver) -> bool {
        let received = receiver.pace.received();
        if std::mem::replace(&mut self.received, received) != received {
            if self.until.take().is_some() {
                receiver.spin.paid();
            }
            self.polls = 0;
            self.pauses = None;
            return true;
        }
        let now = clock::ticks();
        if self.polls == 0 {
            self.until = core.spin_budget(receiver).map(|_| now + receiver.spin.longest());
        }
        self.polls = self.polls.saturating_add(1);
        let spins = self.until.is_some_and(|until| now < until);
        if !spins && self.until.take().is_some() {
            receiver.spin.missed();
        }
        spins || self.polls < MIN_POLLS
    }

    /// Returns the pause while waiting for an event that nothing reports.
    fn pause(&mut self, core: &Core) -> Duration {
        let progress = core.driver.progress.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.progress, progress) != progress {
            self.pauses = None;
        }
        self.pauses.get_or_insert_with(Pauses::new).next()
    }
}

/// Drives the session until it ends. Keeps it alive only while it polls.
async fn drive(core: Weak<Core>, socket: AsyncFd<OwnedFd>, attention: Arc<Notify>) {
    let mut patience = Patience::default();
    loop {
        let next = match core.upgrade() {
            Some(core) if core.ended().is_none() => {
                let next = poll_session(&core, &mut patience);
                core.promote();
                next
            }
            _ => return,
        };
        match next {
            Next::PollSoon => tokio::task::yield_now().await,
            // Either is a reason to poll again.
            Next::Pause(pause) => drop(timeout(pause, attention.notified()).await),
            Next::Sleep { send, at_most: None } => sleep(&core, &socket, &attention, send).await,
            Next::Sleep { send, at_most: Some(pause) } => {
                drop(timeout(pause, sleep(&core, &socket, &attention, send)).await);
            }
        }
    }
}

/// Sleeps until the socket is readable or the driver is woken; with `send`, also until the socket
/// accepts more bytes.
async fn sleep(core: &Weak<Core>, socket: &AsyncFd<OwnedFd>, attention: &Notify, send: bool) {
    let mut called = pin!(attention.notified());
    poll_fn(|context| {
        // The socket is polled before the wake-ups: otherwise two sides with senders that wait for
        // each other's reading would never read.
        if let Poll::Ready(ready) = socket.poll_read_ready(context) {
            read(core, ready);
            return Poll::Ready(());
        }
        if called.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        if send && let Poll::Ready(ready) = socket.poll_write_ready(context) {
            flush(core, ready);
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;
}

/// Receives the data that is there, and returns the next action. When its patience is over, this
/// side announces that it must be woken for more.
fn poll_session(core: &Core, patience: &mut Patience) -> Next {
    core.driver.sleeps.store(false, Ordering::SeqCst);
    // Not in the last turns before a sleep: in these the senders register once more, which
    // determines the length of the sleep.
    if patience.polls < MIN_POLLS / 2 {
        core.wake_senders();
    }
    let Some(mut receiver) = try_lock(&core.receiver) else {
        // A reader on another thread receives. If it does so for long it is a blocking one.
        patience.locked_out += 1;
        if patience.locked_out < MIN_POLLS {
            return Next::PollSoon;
        }
        // Data received at that time is not evidence for or against spinning.
        let pauses = patience.pauses.take();
        *patience = Patience { pauses, progress: patience.progress, ..Patience::default() };
        // The receiving thread wakes the driver when it leaves.
        return Next::Pause(patience.pause(core));
    };
    patience.locked_out = 0;
    if !receiver.is_due(core) {
        return Next::PollSoon;
    }
    // A failure has ended the session, which the next turn sees.
    let _ = receiver.receive(core);
    if patience.lasts(core, &mut receiver) {
        receiver.consumer.work();
        return Next::PollSoon;
    }
    if !receiver.consumer.rest() {
        return Next::PollSoon;
    }
    patience.polls = 0;
    if core.is_overfull() {
        // The reader that makes room again wakes the driver. Wake-ups are in the socket too, so the
        // queue is polled.
        return Next::Pause(receiver.pause_without_socket());
    }
    core.driver.sleeps.store(true, Ordering::SeqCst);
    fence(Ordering::SeqCst);
    let senders_wait = !lock(&core.senders).is_empty();
    core.driver.sleeps.store(!senders_wait, Ordering::SeqCst);
    let at_most = senders_wait.then(|| patience.pause(core));
    if !senders_wait {
        patience.pauses = None;
    }
    Next::Sleep { send: core.is_socket_full(), at_most }
}

type Ready<'a> = std::io::Result<tokio::io::unix::AsyncFdReadyGuard<'a, OwnedFd>>;

/// Reads once. A read that returned less than there was room for has emptied the socket (epoll(7)),
/// so no second one is needed to detect that.
fn read(core: &Weak<Core>, ready: Ready<'_>) {
    let (Some(core), Ok(mut ready)) = (core.upgrade(), ready) else { return };
    let Some(mut receiver) = try_lock(&core.receiver) else { return };
    receiver.read_socket_as_driver(&core);
    if receiver.was_emptied() {
        ready.clear_ready();
    }
    drop(receiver);
    core.promote();
}

fn flush(core: &Weak<Core>, ready: Ready<'_>) {
    let (Some(core), Ok(mut ready)) = (core.upgrade(), ready) else { return };
    if !core.flush_socket().unwrap_or(true) {
        ready.clear_ready();
    }
}
