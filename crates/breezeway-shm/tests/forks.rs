//! Copies in a forked child of what its parent keeps. A test program of its own: a child of a
//! process with many threads could not print.

use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use breezeway_os::WaitPolicy;
use breezeway_shm::statistics::{
    Description, Field, Meter, Registry, Role, StatisticsFile, Totals,
};
use breezeway_shm::{
    Body, ControlSegment, Endpoint, ForeignControl, Head, Limits, Want, layout::MESSAGE,
};

/// Held by the running test: a lock that the other test holds during a fork stays locked in the
/// child.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pair() -> [Endpoint; 2] {
    let (one_socket, other_socket) = UnixStream::pair().unwrap();
    let segment = || ControlSegment::create(64, 64).unwrap();
    let ((one, one_fd), (other, other_fd)) = (segment(), segment());
    let accept = |fd| ForeignControl::accept(fd, 64, 64).unwrap();
    let limits = || Limits::new(1 << 20);
    [
        Endpoint::new(one_socket.into(), one, accept(other_fd), limits()),
        Endpoint::new(other_socket.into(), other, accept(one_fd), limits()),
    ]
}

/// Runs `work` in a forked child. Returns true if it returned true and did not die.
fn in_forked_child(work: impl FnOnce() -> bool) -> bool {
    assert!(ALONE.try_lock().is_err(), "the other test may hold what the child would wait for");
    // SAFETY: the child runs `work` and ends; the other thread of this process only waits.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork");
    if child == 0 {
        // A child that hangs is ended by the kernel.
        // SAFETY: sets a timer, touches no memory.
        unsafe { libc::alarm(20) };
        let outcome = catch_unwind(AssertUnwindSafe(work));
        // SAFETY: ends the child at once, without what its parent has to do at its own end.
        unsafe { libc::_exit(i32::from(!outcome.unwrap_or(false))) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above, and writes to a local.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

#[test]
fn child_copies_change_nothing_for_the_parent() {
    const LEN: usize = 5_000;
    let _alone = alone();
    let [mut sender, mut receiver] = pair();
    // SAFETY: the peer is this test, which writes no lent payload.
    receiver.trust(unsafe { breezeway_os::TrustedPeer::assume() });
    let head = Head { kind: MESSAGE, flags: 0x01, stream: 1, tag: 0, time: 0 };
    sender.send(head, Body::Bytes(&[7; LEN])).unwrap();
    while !receiver.take().unwrap() {}
    let mut message = Some(receiver.detach());
    let mut space = Some(sender.reserve_owned(LEN).unwrap());
    space.as_mut().unwrap().bytes_mut().fill(8);
    let all_that_came_back = sender.more_memory();

    let fine = in_forked_child(|| {
        let message = message.take().unwrap();
        let readable = message.to_vec() == [7; LEN];
        // The parent may give it back at the same time.
        let is_no_slice = message.bytes().as_slice().is_none();
        drop(message);
        let mut space = space.take().unwrap();
        let is_refused = catch_unwind(AssertUnwindSafe(|| space.bytes_mut().fill(9))).is_err();
        drop(space);
        let is_unsent = sender.reserve_owned(LEN).is_err() && receiver.take().is_err();
        readable && is_no_slice && is_refused && is_unsent
    });
    assert!(fine, "the child died, or could do what it must not");

    assert!(!sender.has(all_that_came_back).unwrap(), "the child has released something");
    let (message, mut space) = (message.unwrap(), space.unwrap());
    assert_eq!(message.bytes().as_slice(), Some(&[7; LEN][..]));
    sender.send(head, Body::Owned(&mut space)).unwrap();
    assert!(receiver.take().unwrap());
    assert_eq!(receiver.body().to_vec(), [8; LEN]);
    drop(message);
    assert!(sender.has(all_that_came_back).unwrap());
    assert!(matches!(all_that_came_back, Want::Memory { .. }));
}

/// Returns the session numbers that a process publishes.
fn numbers(pid: u32) -> Vec<u64> {
    let file = StatisticsFile::open(pid).unwrap().expect("it has had a session");
    file.read().unwrap().records.iter().map(|record| record.number).collect()
}

#[test]
fn child_has_statistics_of_its_own() {
    let _alone = alone();
    let description = Description::of_worker(WaitPolicy::Park);
    let mut parents = Meter::new(&Description { role: Role::Server, ..description.clone() });
    let registry = Arc::new(Registry::default());
    parents.join(&registry);
    parents.add(Field::Slept, 5);
    let (number, times) = (parents.record().number, parents.handler_times().unwrap());
    let fine = in_forked_child(|| {
        let childs = Meter::new(&description);
        let pid = std::process::id();
        let one = numbers(pid) == [childs.record().number];
        // The parent's meter, inherited by the fork.
        parents.waited();
        parents.holds(1, 1);
        times.note(1_000);
        let nothing = parents.record().totals == Totals::default()
            && parents.record().role == Role::Server
            && registry.look().live.is_empty();
        // SAFETY: the value stays as it is, and the child drops it no second time.
        drop(unsafe { std::ptr::read(&raw const parents) });
        let still_one = numbers(pid) == [childs.record().number];
        drop(childs);
        one && nothing && still_one && numbers(pid).is_empty()
    });
    assert!(fine, "the child died, or shows what is its parent's");
    assert!(numbers(std::process::id()).contains(&number));
    assert_eq!((parents.totals().slept, parents.totals().timed), (5, 0));
    assert_eq!(registry.look().live, [parents.record()]);
}
