//! The end of a process: on a signal, and for a server also after a time without requests.

use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use breezeway_os::shortage;

/// A server without a request for this long ends, so that none outlives the script that started it.
pub const IDLE: Duration = Duration::from_secs(60);

/// Number of checks of the watching thread in the idle time, one every two seconds: too rare to be
/// seen in a measurement.
const CHECKS_PER_IDLE_TIME: u32 = 30;

/// Flag that SIGTERM and SIGINT set, for a loop that polls it.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Handles both signals from now on.
    ///
    /// # Errors
    ///
    /// Whatever the kernel answers to `sigaction`.
    pub fn by_signal() -> io::Result<Self> {
        let stop = Self::default();
        for signal in [SIGTERM, SIGINT] {
            signal_hook::flag::register(signal, Arc::clone(&stop.0))?;
        }
        Ok(stop)
    }

    /// Ends the loops that ask.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true once a signal has arrived. Costs a load from the own cache.
    #[inline]
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Number of requests that a server has answered; only one thread may count.
#[derive(Debug, Clone, Default)]
pub struct Activity(Arc<AtomicU64>);

impl Activity {
    /// Counts one request.
    #[inline]
    pub fn count(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// Starts a thread that calls `end` once: on SIGTERM or SIGINT, or when `activity` has stood still
/// for [`IDLE`], which it also reports on stderr.
///
/// Call it before pinning, so that the thread stays off the measured CPU.
///
/// # Errors
///
/// The errors of `socketpair` and `sigaction`, or of starting the thread.
pub fn watch(activity: &Activity, end: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let (signals, sender) = UnixStream::pair()?;
    for signal in [SIGTERM, SIGINT] {
        signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
    }
    let activity = activity.clone();
    signals.set_read_timeout(Some(IDLE / CHECKS_PER_IDLE_TIME))?;
    shortage::spawn("ending", move || {
        // The sender must live as long as the thread, else the end of the stream looks like a
        // signal.
        let _sender = sender;
        if wait(signals, &activity) == End::Idle {
            eprintln!("ended: no request for {} s", IDLE.as_secs());
        }
        end();
    })?;
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Signal,
    Idle,
}

/// Waits for a byte on `signals`, or for `activity` to stand still for as many timeouts of
/// `signals` as make up the idle time.
fn wait(mut signals: UnixStream, activity: &Activity) -> End {
    let mut seen = activity.0.load(Ordering::Relaxed);
    let mut checks = 0;
    while checks < CHECKS_PER_IDLE_TIME {
        match signals.read(&mut [0]) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            _ => return End::Signal,
        }
        let now = activity.0.load(Ordering::Relaxed);
        // The request may have come right after the check before, so this one counts.
        checks = if now == seen { checks + 1 } else { 1 };
        seen = now;
    }
    End::Idle
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::time::Instant;

    const INTERVAL: Duration = Duration::from_millis(5);

    fn signals() -> (UnixStream, UnixStream) {
        let (signals, sender) = UnixStream::pair().unwrap();
        signals.set_read_timeout(Some(INTERVAL)).unwrap();
        (signals, sender)
    }

    #[test]
    fn a_server_without_requests_ends_after_the_idle_time() {
        let (signals, _sender) = signals();
        let started = Instant::now();
        assert_eq!(wait(signals, &Activity::default()), End::Idle);
        assert!(started.elapsed() >= INTERVAL * CHECKS_PER_IDLE_TIME);
    }

    #[test]
    fn a_signal_ends_a_server_at_once() {
        let (signals, mut sender) = signals();
        sender.write_all(b"s").unwrap();
        assert_eq!(wait(signals, &Activity::default()), End::Signal);
    }

    #[test]
    fn a_busy_server_goes_on() {
        let (signals, mut sender) = signals();
        let activity = Activity::default();
        let watched = activity.clone();
        let watcher = std::thread::spawn(move || wait(signals, &watched));
        for _ in 0..CHECKS_PER_IDLE_TIME * 20 {
            activity.count();
            std::thread::sleep(INTERVAL / 2);
        }
        assert!(!watcher.is_finished());
        sender.write_all(b"s").unwrap();
        assert_eq!(watcher.join().unwrap(), End::Signal);
    }

    #[test]
    fn requested_stop_is_seen_by_clones() {
        let stop = Stop::default();
        assert!(!stop.is_requested());
        stop.clone().request();
        assert!(stop.is_requested());
    }
}
