//! The task that receives for a session while none of its readers runs.

use std::future::{Future, poll_fn};
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use breezeway_os::clock;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

use crate::core::Core;
use crate::lock::{lock, try_lock};
use crate::receiver::Receiver;

/// How often room for sending is polled for, which nothing reports.
const PAUSE: Duration = Duration::from_millis(1);
/// The fewest turns of the runtime to poll for more before sleeping: other tasks run in between,
/// and what they send may be answered by then.
const MIN_POLLS: u32 = 16;

/// Whether the session has a driver, and the way to wake it.
#[derive(Default)]
pub(crate) struct DriverHandle {
    started: AtomicBool,
    attention: Arc<Notify>,
}

impl DriverHandle {
    /// Lets the driver poll again, if there is one.
    pub(crate) fn attend(&self) {
        if self.is_started() {
            self.attention.notify_one();
        }
    }

    /// Whether the session has a driver.
    pub(crate) fn is_started(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }
}

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
    // SAFETY: an `OwnedFd` gives the same descriptor each time, open until it is dropped, which the
    // registration outlives in no way: it owns it.
    let socket = unsafe { AsyncFd::register_with_interest(socket, interest) }?;
    let attention = Arc::clone(&core.driver.attention);
    tokio::spawn(drive(Arc::downgrade(core), socket, attention));
    Ok(())
}

/// What the driver does next.
enum Next {
    /// Polls again, after other tasks.
    PollSoon,
    /// Sleeps until the socket rings.
    Sleep,
    /// Sleeps until the socket rings or takes more bytes.
    SleepOrSend,
    /// Waits a moment: there is something of which nothing reports the end.
    Pause,
}

/// How long the driver goes on polling while nothing comes: as long as a thread would spin by
/// evidence, but other tasks run meanwhile. It never polls for ever, since the runtime reads the
/// socket only while it sleeps.
#[derive(Default)]
struct Patience {
    /// Messages received at the last poll.
    received: u64,
    /// Looks since something came.
    polls: u32,
    /// Looks in a row that were none, since somebody else was receiving.
    locked_out: u32,
    /// When spinning ends, if this wait began with it.
    until: Option<u64>,
}

impl Patience {
    /// Whether to poll once more.
    fn lasts(&mut self, core: &Core, receiver: &mut Receiver) -> bool {
        let received = receiver.pace.received();
        if std::mem::replace(&mut self.received, received) != received {
            if self.until.take().is_some() {
                receiver.spin.paid();
            }
            self.polls = 0;
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
}

/// Until the session ends. Keeps it alive only while it polls.
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
            Next::Pause => tokio::time::sleep(PAUSE).await,
            Next::Sleep => sleep(&core, &socket, &attention, false).await,
            Next::SleepOrSend => sleep(&core, &socket, &attention, true).await,
        }
    }
}

/// Until the socket rings or the driver is called; with `send`, also until the socket takes more
/// bytes.
async fn sleep(core: &Weak<Core>, socket: &AsyncFd<OwnedFd>, attention: &Notify, send: bool) {
    let mut called = pin!(attention.notified());
    poll_fn(|context| {
        // First, whoever calls: two sides whose senders wait for each other's reading would never
        // read.
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

/// Receives what came, and says what to do next. When its patience is over, this side asks to be
/// woken for more.
fn poll_session(core: &Core, patience: &mut Patience) -> Next {
    core.wake_senders();
    let Some(mut receiver) = try_lock(&core.receiver) else {
        // A reader in another thread receives. If it does so for long it is one that blocks.
        patience.locked_out += 1;
        if patience.locked_out < MIN_POLLS {
            return Next::PollSoon;
        }
        // What comes meanwhile is no evidence for or against spinning.
        *patience = Patience::default();
        return Next::Pause;
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
    if core.is_overfull() || !lock(&core.senders).is_empty() {
        return Next::Pause;
    }
    if core.is_socket_full() { Next::SleepOrSend } else { Next::Sleep }
}

type Ready<'a> = std::io::Result<tokio::io::unix::AsyncFdReadyGuard<'a, OwnedFd>>;

/// Reads once. A read that brought less than there was room for has emptied the socket (epoll(7)),
/// so no second one is needed to see that.
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
