//! The task that receives for a session while none of its readers runs.

use std::future::{Future, poll_fn};
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

use crate::core::Core;
use crate::lock::{lock, try_lock};

/// How often room for sending is looked for, which nothing tells of.
const PAUSE: Duration = Duration::from_millis(1);
/// Turns of the runtime to look for more before sleeping: other tasks run in between, and what they send may be answered by then.
const LOOKS: u32 = 16;

/// Whether the session has a driver, and the way to wake it.
#[derive(Default)]
pub(crate) struct DriverHandle {
    started: AtomicBool,
    attention: Arc<Notify>,
}

impl DriverHandle {
    /// Lets the driver look again, if there is one.
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
    // A second descriptor of the same socket: the runtime's registration must not outlive the first.
    let socket = core.socket().try_clone_to_owned()?;
    let interest = Interest::READABLE | Interest::WRITABLE;
    // SAFETY: an `OwnedFd` gives the same descriptor each time, open until it is dropped, which the registration outlives in no way: it owns it.
    let socket = unsafe { AsyncFd::register_with_interest(socket, interest) }?;
    let attention = Arc::clone(&core.driver.attention);
    tokio::spawn(drive(Arc::downgrade(core), socket, attention));
    Ok(())
}

/// What the driver does next.
enum Next {
    /// Looks again at once, after other tasks: something came.
    LookSoon,
    /// Looks again, as nothing came yet.
    LookAgain,
    /// Sleeps until the socket rings.
    Sleep,
    /// Sleeps until the socket rings or takes more bytes.
    SleepOrSend,
    /// Waits a moment: there is something that nothing tells the end of.
    Pause,
}

/// Until the session ends. Keeps it alive only while it looks.
async fn drive(core: Weak<Core>, socket: AsyncFd<OwnedFd>, attention: Arc<Notify>) {
    let mut looks = 0;
    loop {
        let next = match core.upgrade() {
            Some(core) if core.ended().is_none() => {
                let next = look(&core, looks);
                core.promote();
                next
            }
            _ => return,
        };
        looks = if matches!(next, Next::LookAgain) { looks + 1 } else { 0 };
        match next {
            Next::LookSoon | Next::LookAgain => tokio::task::yield_now().await,
            Next::Pause => tokio::time::sleep(PAUSE).await,
            Next::Sleep => sleep(&core, &socket, &attention, false).await,
            Next::SleepOrSend => sleep(&core, &socket, &attention, true).await,
        }
    }
}

/// Until the socket rings or the driver is called; with `send`, also until the socket takes more bytes.
async fn sleep(core: &Weak<Core>, socket: &AsyncFd<OwnedFd>, attention: &Notify, send: bool) {
    let mut called = pin!(attention.notified());
    poll_fn(|context| {
        // First, whoever calls: two sides whose senders wait for each other's reading would never read.
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

/// Receives what came, and says what to do next. After enough looks this side asks to be told of more.
fn look(core: &Core, looks: u32) -> Next {
    core.wake_senders();
    let Some(mut receiver) = try_lock(&core.receiver) else {
        // A reader in another thread receives. If it does so for long it is one that blocks.
        return if looks < LOOKS { Next::LookAgain } else { Next::Pause };
    };
    let came = receiver.consumer.has_elements();
    // A failure has ended the session, which the next turn sees.
    let _ = receiver.receive(core);
    if came || looks < LOOKS {
        receiver.consumer.work();
        return if came { Next::LookSoon } else { Next::LookAgain };
    }
    if !receiver.consumer.rest() {
        return Next::LookSoon;
    }
    if core.is_overfull() || !lock(&core.senders).is_empty() {
        return Next::Pause;
    }
    if core.is_socket_full() { Next::SleepOrSend } else { Next::Sleep }
}

type Ready<'a> = std::io::Result<tokio::io::unix::AsyncFdReadyGuard<'a, OwnedFd>>;

/// Reads once. A read that brought less than there was room for has emptied the socket (epoll(7)), so no second one is needed to see that.
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
