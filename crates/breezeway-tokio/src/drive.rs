//! Driving of one session in a task.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use breezeway::unstable::{self, shortage};
use breezeway::{Carrier, ConnectError, Driver, Next, Unserved};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::yield_now;
use tokio::time::{Sleep, sleep};

/// Number of turns between two checks of the socket while the session never sleeps.
const TURNS_PER_CHECK: u32 = 64;

/// Driver with its registration at the runtime.
pub(crate) struct Drive {
    socket: AsyncFd<Socket>,
    /// Descriptor that is readable once the peer's process is gone.
    exit: Option<AsyncFd<OwnedFd>>,
    pause: Option<Pin<Box<Sleep>>>,
    /// Timer of a sleep with a limit.
    timer: Option<Pin<Box<Sleep>>>,
    turns: u32,
    /// `Some` if the last step ended in a sleep; true if that also waits for room.
    slept: Option<bool>,
    /// True if the peer is known to be gone: the socket stays ready for ever.
    is_peer_gone: bool,
    /// Waker of the task that drives, and the waker registered at the session's socket.
    alarm: Option<(Waker, Waker)>,
    /// True if tasks run in the order of their wake-ups. Several workers run the task that
    /// was woken last first, and wake each other for two tasks: there the socket wakes the driver
    /// alone.
    wakes_in_order: bool,
    /// True if this driver counts in [`AWAKE`].
    is_awake: bool,
}

thread_local! {
    /// Number of drivers of current-thread runtimes that this thread ran last and that do not
    /// sleep. It is a hint: it is wrong after such a runtime moved to another thread, or ended
    /// there.
    static AWAKE: Cell<usize> = const { Cell::new(0) };
}

/// Returns true if no other driver takes turns. A driver that yields would wait for the polls of
/// another one.
fn is_alone() -> bool {
    AWAKE.get() <= 1
}

impl Drop for Drive {
    fn drop(&mut self) {
        self.set_awake(false);
    }
}

/// Session's socket, owned by its driver.
struct Socket(Driver);

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// An entry came, or may come at once: take another step, after other tasks.
    Again,
    /// The task will be woken.
    Asleep,
    /// The session is over.
    Ended,
}

impl Drive {
    /// Registers a session at the current runtime.
    pub(crate) fn new(mut driver: Driver, carrier: Carrier) -> io::Result<Self> {
        let exit = driver.take_exit().map(|exit| watch(exit, Interest::READABLE)).transpose()?;
        let interest = match carrier {
            // Doorbells are one byte each, and no task waits for room for them.
            Carrier::Shm => Interest::READABLE | Interest::PRIORITY,
            _ => Interest::READABLE | Interest::WRITABLE,
        };
        let socket = watch(Socket(driver), interest)?;
        let wakes_in_order = Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
        Ok(Self {
            socket,
            exit,
            pause: None,
            timer: None,
            turns: 0,
            slept: None,
            is_peer_gone: false,
            alarm: None,
            wakes_in_order,
            is_awake: false,
        })
    }

    /// Returns the numbers of requests that the session has not served so far.
    pub(crate) fn unserved(&self) -> Unserved {
        self.socket.get_ref().0.unserved()
    }

    /// Takes a turn. A turn that returns [`Step::Again`] has not arranged for a wake-up.
    pub(crate) fn step(&mut self, cx: &mut Context<'_>) -> Step {
        let step = self.take_step(cx);
        self.set_awake(step == Step::Again);
        step
    }

    /// Returns true if messages are so rare that the driver does not spin.
    pub(crate) fn is_rare(&self) -> bool {
        unstable::is_rare(&self.socket.get_ref().0)
    }

    fn set_awake(&mut self, is_awake: bool) {
        // Runtimes with several workers do not read the count, and a driver would be added at one
        // worker and subtracted at another.
        if self.wakes_in_order && self.is_awake != is_awake {
            self.is_awake = is_awake;
            let awake = AWAKE.get();
            AWAKE.set(if is_awake { awake + 1 } else { awake.saturating_sub(1) });
        }
    }

    fn take_step(&mut self, cx: &mut Context<'_>) -> Step {
        if let Some(pause) = &mut self.pause {
            if pause.as_mut().poll(cx).is_pending() {
                return Step::Asleep;
            }
            self.pause = None;
        }
        self.turns = self.turns.wrapping_add(1);
        if let Some(writable) = self.slept.take() {
            // The turn that follows handles the event that woke this task.
            let _ = self.poll_ready(cx, writable);
        } else if self.turns.is_multiple_of(TURNS_PER_CHECK) {
            // The result does not matter: the turn follows in both cases.
            let _ = self.poll_ready(cx, false);
        }
        loop {
            match self.driver().advance(cx.waker()) {
                Next::Turn => return Step::Again,
                Next::End => return Step::Ended,
                Next::Sleep { writable, at_most } => {
                    self.timer = at_most.map(|time| Box::pin(sleep(time)));
                    let is_over = |timer: &mut Pin<Box<Sleep>>| timer.as_mut().poll(cx).is_ready();
                    if self.timer.as_mut().is_some_and(is_over) {
                        continue;
                    }
                    if self.poll_ready(cx, writable).is_pending() {
                        self.slept = Some(writable);
                        return Step::Asleep;
                    }
                }
                Next::Pause => {
                    let mut pause = Box::pin(sleep(shortage::RETRY_AFTER));
                    if pause.as_mut().poll(cx).is_pending() {
                        self.pause = Some(pause);
                        // The peer may be gone by then.
                        self.slept = Some(false);
                        return Step::Asleep;
                    }
                }
            }
        }
    }

    fn driver(&mut self) -> &mut Driver {
        &mut self.socket.get_mut().0
    }

    /// Passes the readiness of the socket and the exit of the peer's process to the driver, or
    /// waits for either.
    fn poll_ready(&mut self, cx: &mut Context<'_>, writable: bool) -> Poll<()> {
        if self.is_peer_gone {
            return Poll::Pending;
        }
        if let Some(exit) = &self.exit
            && exit.poll_read_ready(cx).is_ready()
        {
            self.note(true);
            return Poll::Ready(());
        }
        let mut noticed = None;
        if writable && let Poll::Ready(ready) = self.socket.poll_write_ready(cx) {
            // An error means that the runtime shuts down: nothing is waited for then.
            noticed = Some(clear(ready));
        }
        let alarm = self.alarm(cx.waker());
        match self.socket.poll_read_ready(&mut Context::from_waker(&alarm)) {
            Poll::Ready(ready) => noticed = Some(clear(ready) | (noticed == Some(true))),
            Poll::Pending => {}
        }
        let Some(is_gone) = noticed else { return Poll::Pending };
        self.note(is_gone);
        Poll::Ready(())
    }

    /// Returns the waker to register at the socket, for the task of `driver`.
    fn alarm(&mut self, driver: &Waker) -> Waker {
        if let Some((known, alarm)) = &self.alarm
            && known.will_wake(driver)
        {
            return alarm.clone();
        }
        let alarm = if self.wakes_in_order { self.driver().alarm(driver) } else { driver.clone() };
        self.alarm = Some((driver.clone(), alarm.clone()));
        alarm
    }

    fn note(&mut self, is_peer_gone: bool) {
        self.is_peer_gone |= is_peer_gone;
        // Never cleared: one urgent byte makes all further events count as such.
        let has_urgent = self.socket.try_io(Interest::PRIORITY, |_| Ok(())).is_ok();
        if is_peer_gone || has_urgent {
            self.driver().ready(is_peer_gone);
        } else {
            unstable::ready_with_bytes(self.driver());
        }
    }
}

/// Clears the readiness before the session reads: data that comes later makes it ready again.
/// Returns true if the peer is gone.
fn clear(ready: io::Result<tokio::io::unix::AsyncFdReadyGuard<'_, Socket>>) -> bool {
    match ready {
        Ok(mut ready) => {
            let is_gone = ready.ready().is_read_closed();
            ready.clear_ready();
            is_gone
        }
        Err(_) => true,
    }
}

#[expect(deprecated, reason = "sound here: both descriptors are owned, and are not exchanged")]
pub(crate) fn watch<T: AsRawFd>(fd: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    AsyncFd::with_interest(fd, interest).map_err(shortage::no_watch)
}

/// Future that drives a session until it is over.
pub(crate) struct Driving(pub(crate) Drive);

impl Future for Driving {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.0.step(cx) {
            // The runtime polls its sockets first.
            Step::Again if unstable::is_copying(self.0.driver()) => pin!(yield_now()).poll(cx),
            Step::Again
                if self.0.wakes_in_order && is_alone() && unstable::has_worked(self.0.driver()) =>
            {
                // The future of `block_on` may wait for an entry that has come. It runs once no
                // task is ready, or after 61 polls; this driver's idle turns would be such polls.
                pin!(yield_now()).poll(cx)
            }
            Step::Again => {
                // The wake-up queues this task behind all tasks that are ready, and without a
                // system call, unlike `yield_now` of a current-thread runtime.
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Step::Asleep => Poll::Pending,
            Step::Ended => Poll::Ready(()),
        }
    }
}

/// Starts the task that drives a session.
pub(crate) fn spawn_driver(driver: Driver, carrier: Carrier) -> Result<(), ConnectError> {
    let drive = Drive::new(driver, carrier).map_err(failed)?;
    tokio::spawn(Driving(drive));
    Ok(())
}

pub(crate) fn failed(error: io::Error) -> ConnectError {
    ConnectError::Handshake(error.into())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use breezeway::SessionOptions;
    use breezeway::unstable::Tuning as _;
    use tokio::time::{sleep, timeout};

    use super::AWAKE;
    use crate::{Incoming, Session};

    #[tokio::test]
    async fn drivers_that_sleep_or_have_ended_do_not_count_as_awake() {
        let all_sleep = async || {
            while AWAKE.get() > 0 {
                sleep(Duration::from_millis(1)).await;
            }
        };
        let patience = Duration::from_secs(30);
        let (session, server) = Session::pair(&SessionOptions::new()).await.unwrap();
        tokio::spawn(async move {
            while let Ok(Some(Incoming::Call(call))) = server.accept().await {
                let _ = call.echo();
            }
        });
        for _ in 0..3 {
            session.call(0, b"x").await.unwrap();
            assert!(AWAKE.get() > 0, "a driver that has found something takes another turn");
            timeout(patience, all_sleep()).await.expect("both sleep");
        }
        session.call(0, b"x").await.unwrap();
        drop(session);
        timeout(patience, all_sleep()).await.expect("both have ended");
    }

    #[tokio::test]
    async fn both_ends_on_one_thread_soon_ring_for_each_other_no_more() {
        const ROUNDS: u64 = 500;
        // With a short bound, a slow or busy machine makes messages rare.
        let options = SessionOptions::new().spin_bound(std::time::Duration::from_secs(1));
        let (session, server) = Session::pair(&options).await.unwrap();
        tokio::spawn(async move {
            while let Ok(Some(Incoming::Stream(_, mut stream))) = server.accept().await {
                tokio::spawn(async move {
                    while let Ok(Some(message)) = stream.receive().await {
                        stream.send(&message.to_vec()).await.unwrap();
                    }
                });
            }
        });
        let mut streams = Vec::new();
        for _ in 0..4 {
            streams.push(session.open(0).await.unwrap());
        }
        let before = session.session.stats();
        let tasks: Vec<_> = streams
            .into_iter()
            .map(|mut stream| {
                tokio::spawn(async move {
                    for _ in 0..ROUNDS {
                        stream.send(b"x").await.unwrap();
                        stream.receive().await.unwrap();
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let rung = session.session.stats().totals.doorbells - before.totals.doorbells;
        assert!(rung < ROUNDS / 4, "{rung} doorbells in {ROUNDS} rounds");
    }
}
