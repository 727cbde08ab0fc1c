//! Signals that are not about the peer's memory: they do what they would have done without us, and leave the protection from truncation to a process that goes on.

use std::mem::zeroed;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::ftruncate;

use crate::child::{self, folder};
use crate::truncation::is_survived;
use crate::victim::Victim;

/// Installs what handles SIGBUS in a process before its first session.
fn before_us(handler: usize, flags: i32) {
    // SAFETY: zeros are a valid sigaction; the call reads this local only, and the handlers here are safe to run at any time.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        (action.sa_sigaction, action.sa_flags) = (handler, flags);
        assert_eq!(libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()), 0);
    }
}

/// Sends this thread the signal; it has been handled when this returns.
fn raise() {
    // SAFETY: a signal may come at any time, and so also now.
    assert_eq!(unsafe { libc::raise(libc::SIGBUS) }, 0);
}

/// What `kill -BUS` does; waits for the end.
fn kill() {
    // SAFETY: as above, and it waits.
    unsafe {
        assert_eq!(libc::kill(libc::getpid(), libc::SIGBUS), 0);
        libc::alarm(10);
        libc::pause();
    }
}

fn say(word: &str) {
    std::fs::write(folder().join(word), "").unwrap();
}

static CALLS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(_: libc::c_int) {
    CALLS.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn count_sent(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the handler of a signal is given a valid siginfo.
    if unsafe { (*info).si_code } == libc::SI_TKILL {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }
}

fn touch_behind_the_end_of_a_file() {
    let file = crate::raw::memfd(4096);
    let flags = (rustix::mm::ProtFlags::READ, rustix::mm::MapFlags::SHARED);
    // SAFETY: a new mapping aliases nothing; the read is meant to fault.
    unsafe {
        let page =
            rustix::mm::mmap(std::ptr::null_mut(), 4096, flags.0, flags.1, &file, 0).unwrap();
        ftruncate(&file, 0).unwrap();
        page.cast::<u8>().read_volatile();
    }
}

#[test]
fn a_fault_elsewhere_still_ends_the_process() {
    let outcome = child::run("signals::a_fault_elsewhere_still_ends_the_process", || {
        let _victim = Victim::new();
        touch_behind_the_end_of_a_file();
    });
    let Some(outcome) = outcome else { return };
    outcome.assert_ended_by(libc::SIGBUS);
}

#[test]
fn a_fault_elsewhere_cannot_be_ignored() {
    let outcome = child::run("signals::a_fault_elsewhere_cannot_be_ignored", || {
        before_us(libc::SIG_IGN, 0);
        let _victim = Victim::new();
        touch_behind_the_end_of_a_file();
    });
    let Some(outcome) = outcome else { return };
    outcome.assert_ended_by(libc::SIGBUS);
}

#[test]
fn a_signal_that_was_sent_ends_a_process_without_a_handler() {
    let test = "signals::a_signal_that_was_sent_ends_a_process_without_a_handler";
    let outcome = child::run(test, || {
        before_us(libc::SIG_DFL, 0);
        is_survived();
        kill();
    });
    let Some(outcome) = outcome else { return };
    outcome.assert_ended_by(libc::SIGBUS);
}

#[test]
fn a_signal_that_was_sent_and_is_ignored_leaves_the_protection() {
    let test = "signals::a_signal_that_was_sent_and_is_ignored_leaves_the_protection";
    let outcome = child::run(test, || {
        before_us(libc::SIG_IGN, 0);
        let _victim = Victim::new();
        raise();
        is_survived();
        raise();
    });
    let Some(outcome) = outcome else { return };
    outcome.assert_success();
}

/// Rust's runtime puts the default action back when it is called for something else than a stack that is full, so the first signal is survived and the second is not.
#[test]
fn a_signal_that_rusts_runtime_survives_leaves_the_protection() {
    let test = "signals::a_signal_that_rusts_runtime_survives_leaves_the_protection";
    let outcome = child::run(test, || {
        let _victim = Victim::new();
        raise();
        is_survived();
        say("protected");
        kill();
    });
    let Some(outcome) = outcome else { return };
    outcome.assert_left("protected");
    outcome.assert_ended_by(libc::SIGBUS);
}

#[test]
fn a_signal_that_was_sent_goes_to_the_handler_before_us() {
    let test = "signals::a_signal_that_was_sent_goes_to_the_handler_before_us";
    let outcome = child::run(test, || {
        before_us(count_sent as *const () as usize, libc::SA_SIGINFO);
        is_survived();
        raise();
        raise();
        assert_eq!(CALLS.load(Ordering::Relaxed), 2);
        is_survived();
    });
    let Some(outcome) = outcome else { return };
    outcome.assert_success();
}

#[test]
fn a_handler_that_was_to_be_called_once_is_called_once() {
    let outcome =
        child::run("signals::a_handler_that_was_to_be_called_once_is_called_once", || {
            before_us(count as *const () as usize, libc::SA_RESETHAND);
            let _victim = Victim::new();
            raise();
            assert_eq!(CALLS.load(Ordering::Relaxed), 1);
            is_survived();
            say("protected");
            kill();
        });
    let Some(outcome) = outcome else { return };
    outcome.assert_left("protected");
    outcome.assert_ended_by(libc::SIGBUS);
}
