//! Signals that do not concern the peer's memory: they have the same effect as without this crate,
//! and leave the protection from truncation in place if the process continues.

use std::mem::zeroed;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::ftruncate;

use crate::child::{self, folder};
use crate::truncation::is_survived;
use crate::victim::Victim;

/// Installs the action for SIGBUS of a process before its first session.
fn before_us(handler: usize, flags: i32) {
    install(handler, flags);
}

/// Installs an action for SIGBUS. Returns the previous one.
fn install(handler: usize, flags: i32) -> usize {
    // SAFETY: zeros are a valid sigaction; the call reads and writes these locals only, and the
    // handlers here are safe to run at any time.
    unsafe {
        let (mut action, mut before): (libc::sigaction, libc::sigaction) = (zeroed(), zeroed());
        (action.sa_sigaction, action.sa_flags) = (handler, flags);
        assert_eq!(libc::sigaction(libc::SIGBUS, &raw const action, &raw mut before), 0);
        before.sa_sigaction
    }
}

/// Returns true if SIGBUS has its default action now.
fn is_off() -> bool {
    // SAFETY: zeros are a valid sigaction; the call writes this local only.
    unsafe {
        let mut now: libc::sigaction = zeroed();
        libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut now);
        now.sa_sigaction == libc::SIG_DFL
    }
}

fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

/// Sends the signal to this thread; it has been handled when this returns.
fn raise() {
    // SAFETY: a signal may come at any time, and so also now.
    assert_eq!(unsafe { libc::raise(libc::SIGBUS) }, 0);
}

/// Sends the signal like `kill -BUS`; waits for the end.
fn kill() {
    // SAFETY: a signal may come at any time, and so also now; then this waits.
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
    let file = breezeway_adversary::memfd::unsealable(4096);
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

/// Rust's runtime restores the default action when its handler is called for another cause than a
/// full stack, so the first signal is survived and the second is not.
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

/// Sends a signal like `kill -BUS` to a thread that waits for its peer: the wait continues, and the
/// protection stays.
#[test]
fn a_wait_that_is_signalled_goes_on_and_keeps_the_protection() {
    use std::io::Write;
    use std::os::unix::thread::JoinHandleExt;
    let test = "signals::a_wait_that_is_signalled_goes_on_and_keeps_the_protection";
    let outcome = child::run(test, || {
        let (client, server) = breezeway_shmipc::Session::pair(
            &breezeway_shmipc::ClientOptions::new(breezeway_shmipc::Trust::SameUser),
            &breezeway_shmipc::ServerOptions::new(breezeway_shmipc::Trust::SameUser),
        )
        .unwrap();
        let counted = server.clone();
        let waiting = thread::spawn(move || server.accept().map(|stream| stream.id()));
        wait_until(|| counted.statistics().socket_reads > 0);
        // SAFETY: the thread has not been joined, so it exists.
        let sent = unsafe { libc::pthread_kill(waiting.as_pthread_t(), libc::SIGBUS) };
        assert_eq!(sent, 0);
        is_survived();
        let mut stream = client.open().unwrap();
        stream.write_all(b"hello").unwrap();
        assert_eq!(waiting.join().unwrap().unwrap(), stream.id());
        is_survived();
    });
    let Some(outcome) = outcome else { return };
    outcome.assert_success();
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

/// Number of threads that have reached [`pass_on_in_turn`].
static PASSED_ON: AtomicUsize = AtomicUsize::new(0);
/// Address of our handler, to which [`pass_on_in_turn`] passes on.
static OURS: AtomicUsize = AtomicUsize::new(0);

/// Handler installed after ours: the first thread continues when both are here, the second when the
/// signal's handler was uninstalled in the first.
/// taken off in the first.
extern "C" fn pass_on_in_turn(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    match PASSED_ON.fetch_add(1, Ordering::SeqCst) {
        0 => wait_until(|| PASSED_ON.load(Ordering::SeqCst) == 2),
        1 => wait_until(is_off),
        _ => {}
    }
    // SAFETY: this is the address of our handler, which takes three arguments.
    let ours: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
        unsafe { std::mem::transmute(OURS.load(Ordering::SeqCst)) };
    ours(signal, info, context);
}

/// Handler from before ours, which restores the default action: in the first thread before the
/// second calls it, in the second after the first has left.
extern "C" fn take_off_in_turn(_: libc::c_int) {
    let first = CALLS.fetch_add(1, Ordering::SeqCst) == 0;
    if !first {
        wait_until(|| !is_off());
    }
    install(libc::SIG_DFL, 0);
    if first {
        wait_until(|| CALLS.load(Ordering::SeqCst) == 2);
    }
}

#[test]
fn handler_removed_by_two_threads_leaves_protection() {
    let test = "signals::handler_removed_by_two_threads_leaves_protection";
    let outcome = child::run(test, || {
        before_us(take_off_in_turn as *const () as usize, 0);
        let _victim = Victim::new();
        let ours = install(pass_on_in_turn as *const () as usize, libc::SA_SIGINFO);
        OURS.store(ours, Ordering::SeqCst);
        thread::scope(|scope| {
            scope.spawn(raise);
            scope.spawn(raise);
        });
        is_survived();
        say("protected");
        kill();
    });
    let Some(outcome) = outcome else { return };
    outcome.assert_left("protected");
    outcome.assert_ended_by(libc::SIGBUS);
}
