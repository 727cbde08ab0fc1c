//! System calls that fail, of processes that make the same calls each time: those that wait by
//! sleeping. None panics, hangs, stays behind or ends another session. `make faults` lets every
//! call of every engine fail.

mod bounded;

/// Lets these calls of an engine fail in these phases.
fn survives(engine: &str, phases: &[&str], calls: &[&str]) {
    let phases = phases.iter().flat_map(|phase| ["--phase", phase]);
    let calls = calls.iter().flat_map(|call| ["--call", call]);
    let arguments: Vec<_> = ["faults", engine].into_iter().chain(phases).chain(calls).collect();
    bounded::torture(&arguments);
}

#[test]
fn shm_client_survives_failed_segments_sockets_and_sleeps() {
    let calls = ["memfd_create", "fallocate", "mmap", "sendmsg", "epoll_create1", "eventfd2"];
    survives("native", &["connecting"], &calls);
}

#[test]
fn server_survives_failed_calls_for_a_session() {
    survives("unix", &["serving"], &["accept4", "recvmsg", "sendmsg", "epoll_ctl", "pidfd_open"]);
}

#[test]
fn replies_of_handlers_that_block_may_fail_in_kitexs_framing() {
    survives("kitex-blocking", &["serving"], &["sendto", "clone3"]);
}

#[test]
fn server_survives_failed_calls_at_its_start() {
    survives("tcp", &["starting"], &["socket", "bind", "listen", "epoll_create1", "eventfd2"]);
}
