//! Shortages of this process or machine, and their remedies.

use std::cell::Cell;
use std::io;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Number of immediate retries of a call for which the kernel has no memory.
const TRIES: usize = 16;
/// Number of retries after that, with a pause before each.
const LATER_TRIES: usize = 32;
const PAUSE: Duration = Duration::from_millis(1);
/// Time after which a thread that has used up its pauses may pause again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Time that a session waits before it retries an operation that failed for lack of descriptors or
/// memory.
pub const RETRY_AFTER: Duration = Duration::from_millis(10);

/// Returns the remedy for a system call that failed for lack of a resource: words for the end of a
/// message, in brackets behind a space. Empty where nothing can be raised.
pub fn advice(error: &io::Error) -> &'static str {
    Errno::from_io_error(error).map_or("", advice_for)
}

pub(crate) fn advice_for(errno: Errno) -> &'static str {
    match errno {
        Errno::MFILE => " (raise the limit of open files, ulimit -n)",
        Errno::NFILE => " (raise the machine's limit of open files, sysctl fs.file-max)",
        Errno::TOOMANYREFS => {
            " (too many descriptors of this user wait in unread sockets; raise the \
             limit of open files, ulimit -n)"
        }
        Errno::NOSPC => " (free some space)",
        Errno::NOMEM | Errno::NOBUFS => " (the kernel has no memory for it; free some)",
        _ => "",
    }
}

thread_local! {
    /// Start of this thread's current count of pauses, and the number taken.
    static PAUSES: Cell<Option<(Instant, usize)>> = const { Cell::new(None) };
}

/// Retries a call for which the kernel had no memory and that had no effect, for some 30 ms, so
/// that a passing shortage loses nothing that a peer waits for. The pauses of one thread take no
/// longer than that within a second, whatever it calls.
#[inline(always)]
pub fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    match call() {
        Err(Errno::NOMEM | Errno::NOBUFS) => retry_in_shortage(call),
        outcome => outcome,
    }
}

#[cold]
fn retry_in_shortage<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    let mut made = 1;
    loop {
        let outcome = call();
        made += 1;
        let is_short = matches!(outcome, Err(Errno::NOMEM | Errno::NOBUFS));
        if !is_short || made >= TRIES + LATER_TRIES || made >= TRIES && !may_pause() {
            return outcome;
        }
        if made < TRIES {
            std::thread::yield_now();
        } else {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Counts a pause of this thread. Returns false if it may not pause again now.
fn may_pause() -> bool {
    let current = PAUSES.get().filter(|(since, _)| since.elapsed() < AGAIN_AFTER);
    let (since, taken) = current.unwrap_or_else(|| (Instant::now(), 0));
    let may = taken < LATER_TRIES;
    PAUSES.set(Some((since, taken + usize::from(may))));
    may
}

/// Starts a thread of this name.
///
/// # Errors
///
/// See [`no_thread`].
pub fn spawn<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.to_owned()).spawn(run).map_err(no_thread)
}

/// Adds the remedy to the error of a thread that could not be started.
pub fn no_thread(error: io::Error) -> io::Error {
    let advice = match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => {
            let space = match getrlimit(Resource::As).current {
                Some(limit) => {
                    format!("that of address space, RLIMIT_AS, {limit} bytes: ulimit -v")
                }
                None => "free memory".to_owned(),
            };
            format!(
                " (raise the limit of threads: ulimit -u, pids.max of the cgroup, sysctl \
                 kernel.threads-max; or {space})"
            )
        }
        _ => String::new(),
    };
    io::Error::new(error.kind(), format!("cannot start a thread: {error}{advice}"))
}

/// Adds the remedy to the error of a failed epoll watch: epoll needs no disk space, but reports a
/// lack of space if this user has too many watches (epoll(7)).
pub fn no_watch(error: io::Error) -> io::Error {
    if Errno::from_io_error(&error) != Some(Errno::NOSPC) {
        return error;
    }
    let text = "epoll is short of watches (raise sysctl fs.epoll.max_user_watches)";
    io::Error::new(error.kind(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortage_error_names_the_limit_to_raise() {
        let advice = |errno: Errno| advice(&errno.into());
        assert!(advice(Errno::MFILE).contains("ulimit -n"));
        assert!(advice(Errno::NFILE).contains("fs.file-max"));
        assert!(advice(Errno::NOBUFS).contains("memory"));
        assert_eq!(advice(Errno::NOSPC), " (free some space)");
        assert_eq!(advice(Errno::ACCESS), "");
        assert_eq!(super::advice(&io::Error::other("x")), "");
        let error = no_thread(Errno::AGAIN.into());
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert!(error.to_string().contains("ulimit -u"), "{error}");
        let error = no_watch(Errno::NOSPC.into());
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().contains("fs.epoll.max_user_watches"), "{error}");
        // The message already contains it.
        assert_eq!(super::advice(&error), "");
        let error = no_watch(Errno::NOMEM.into());
        assert_eq!(Errno::from_io_error(&error), Some(Errno::NOMEM));
    }

    /// Returns the number of calls made, and the outcome, if the first `failures` have no memory.
    fn made_until(failures: usize) -> (usize, Result<(), Errno>) {
        let mut made = 0;
        let outcome = retry(|| {
            made += 1;
            match made > failures {
                true => Ok(()),
                false if made % 2 == 0 => Err(Errno::NOMEM),
                false => Err(Errno::NOBUFS),
            }
        });
        (made, outcome)
    }

    #[test]
    fn call_short_of_memory_is_retried_up_to_limit() {
        assert_eq!(made_until(3), (4, Ok(())));
        assert_eq!(made_until(TRIES + 4), (TRIES + 5, Ok(())), "after five pauses");
        let (made, outcome) = made_until(usize::MAX);
        assert!(outcome.is_err());
        assert_eq!(made, TRIES + LATER_TRIES - 5, "with the pauses that are left");
    }

    #[test]
    fn thread_pauses_for_shortages_are_bounded_per_second() {
        let begun = Instant::now();
        let mut pauses = 0;
        for _ in 0..4 {
            let (made, _) = made_until(TRIES + LATER_TRIES / 2);
            pauses += made - TRIES;
        }
        if begun.elapsed() < AGAIN_AFTER {
            assert_eq!(pauses, LATER_TRIES);
        }
    }

    #[test]
    fn other_errors_are_not_retried() {
        let mut made = 0;
        let outcome: Result<(), Errno> = retry(|| {
            made += 1;
            Err(Errno::AGAIN)
        });
        assert_eq!((outcome, made), (Err(Errno::AGAIN), 1));
    }
}
