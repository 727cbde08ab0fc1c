//! Sessions that ended badly leave nothing behind, in a process of its own, so that nothing else is
//! counted.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use breezeway::{CallViolation, ExclusiveSession, HandshakeError, SessionError, describe};
use breezeway_adversary::journal;
use breezeway_adversary::memfd;
use breezeway_adversary::native::layout::hello;
use breezeway_adversary::native::layout::socket::MAX_UNANNOUNCED;
use breezeway_adversary::native::{Descriptor, Entry, Hello, Peer, Terms, control_segment};
use breezeway_adversary::stopwatch::eventually;
use breezeway_adversary::{Shared, slow_to_close, socket};
use breezeway_os::scm;
use breezeway_proto::Kind;
use breezeway_shm::Violation as MemoryViolation;
use rustix::net::RecvFlags;

use super::children::Child;
use super::fairness::Slow;
use super::service::{ECHO, REPLY_OF};
use super::stage::{Stage, options};
use super::watchdog::{GENEROUS, within};

#[test]
fn failed_sessions_leave_no_descriptors_or_mappings() {
    within(GENEROUS, || {
        let mut child = Child::start("leaks", "".as_ref());
        assert!(child.says("nothing leaked"), "see above");
    });
}

#[test]
fn slow_closing_descriptors_do_not_delay_each_other() {
    within(GENEROUS, || {
        let mut child = Child::start("slow to close", "".as_ref());
        assert!(child.says("nothing piled up"), "see above");
    });
}

#[test]
fn process_with_unclosed_descriptors_gets_no_session() {
    within(GENEROUS, || {
        let mut child = Child::start("never closed", "".as_ref());
        assert!(child.says("refused and admitted"), "see above");
    });
}

/// Sends more descriptors than may wait, each with a close of a minute, or until its other end is
/// closed. To the kernel this process is both sides.
pub(crate) fn never_closed() {
    within(GENEROUS, || {
        let stage = Stage::set();
        // This client is accepted before, and sends nothing.
        let early = UnixStream::connect(stage.path()).unwrap();
        drop(ExclusiveSession::connect_with(stage.address(), &options()).unwrap());
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut descriptors = Vec::new();
        let others: Vec<_> = (0..270)
            .map(|_| {
                let (fd, other) = slow_to_close();
                socket::send(&theirs, &[0], &[fd.as_fd()]).unwrap();
                scm::receive(&ours, &mut [0], &mut descriptors, RecvFlags::empty()).unwrap();
                other
            })
            .collect();
        drop(descriptors);
        let connect = || ExclusiveSession::connect_with(stage.address(), &options());
        let refusal = connect().err().expect("a refusal").to_string();
        assert!(refusal.contains("wait to be closed"), "{refusal}");
        let control = control_segment(&Terms::default());
        socket::send(&early, &Hello::new(&Terms::default()).0, &[control.fd.as_fd()]).unwrap();
        socket::be_patient(&early);
        let answer = socket::receive_to_end(&early).bytes;
        let reason = String::from_utf8_lossy(&answer[hello::LEN.min(answer.len())..]);
        assert!(reason.contains("wait to be closed"), "{reason}");
        // Sessions that there are go on.
        stage.bystander.goes_on();
        drop(others);
        eventually("they are closed", || connect().is_ok());
        stage.close();
        println!("refused and admitted");
    });
}

/// Sends one descriptor with a close of a minute, and then others.
pub(crate) fn slow_to_close_one_by_one() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let quick = || {
            let fd = std::io::pipe().unwrap().0;
            unwanted(&stage, |peer| peer.send_segment(&fd));
        };
        quick();
        let before = count().0;
        let other = loop {
            let slow = Slow::new();
            let other = unwanted(&stage, |peer| {
                peer.send_segment(&slow.fd);
                slow.leave()
            });
            if let Some(other) = other {
                break other;
            }
        };
        for _ in 0..100 {
            quick();
        }
        stage.bystander.goes_on();
        let now = count().0;
        // The slow one itself, its other end, and what is just being closed.
        let most = before + 5;
        assert!(now <= most, "{before} descriptors were open, and now {now}, not {most}");
        println!("nothing piled up");
        drop(other);
        stage.close();
    });
}

/// A session that ends for what `send` sends: no segment.
fn unwanted<T>(stage: &Stage, send: impl FnOnce(&mut Peer) -> T) -> T {
    let from = journal::length();
    let mut peer = Peer::connect(stage.path(), Terms::default());
    let sent = send(&mut peer);
    peer.publish(&Entry::segment_add(0, 4096));
    stage.end_of_session(from);
    peer.wait_for_end();
    stage.bystander.goes_on();
    sent
}

/// Open descriptors, and mapped segments of either side.
fn count() -> (usize, usize) {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    (descriptors, maps.lines().filter(|line| line.contains("memfd:")).count())
}

pub(crate) fn child() {
    within(GENEROUS, || {
        let stage = Stage::set();
        for _ in 0..3 {
            round(&stage);
        }
        stage.bystander.goes_on();
        let before = count();
        for _ in 0..40 {
            round(&stage);
        }
        stage.bystander.goes_on();
        // Some of what was counted before may have been about to go.
        eventually("no more descriptors and segments than before", || {
            let now = count();
            now.0 <= before.0 && now.1 <= before.1
        });
        stage.close();
        println!("nothing leaked");
    });
}

/// One session of each kind.
fn round(stage: &Stage) {
    let attack = |expected: MemoryViolation, attack: &dyn Fn(&mut Peer)| {
        stage.attack_memory(Terms::default(), expected, attack);
    };
    let attack_calls = |expected: CallViolation, attack: &dyn Fn(&mut Peer)| {
        let expected = describe(&SessionError::from(expected));
        stage.attack(Terms::default(), &[&expected], attack);
    };
    attack_calls(CallViolation::Kind(0), &|peer| {
        for _ in 0..3 {
            peer.add_segment(8192);
        }
        let whole = Descriptor { segment: 2, lend: 0, offset: 0, len: 8192 };
        peer.publish(&Entry::request(1, ECHO, &[]).lending(whole));
        peer.next_message().unwrap();
        peer.publish(&Entry::session(0, 0, &[]));
    });
    attack_calls(CallViolation::Unexpected(Kind::Deadline), &|peer| {
        // Replies that are kept, descriptors that no entry announces.
        for call in 0..3 {
            peer.publish(&Entry::request(2 * call + 1, REPLY_OF, &400_000u64.to_le_bytes()));
            peer.next_message().unwrap();
        }
        let shared = Shared::fit(4096);
        for _ in 0..MAX_UNANNOUNCED {
            peer.send_segment(&shared.fd);
        }
        peer.publish(&Entry::session(5, 0, &[]));
    });
    attack(MemoryViolation::UnwantedDescriptors, &|peer| {
        let shared = Shared::fit(4096);
        let _ = socket::send(&peer.socket, &[1], &[shared.fd.as_fd(); 3]);
        peer.publish(&Entry::segment_add(0, 4096));
    });
    stage.attack(Terms::default(), &[&SessionError::PeerDied.to_string()], |peer| {
        peer.add_segment(8192);
        rustix::net::shutdown(&peer.socket, rustix::net::Shutdown::Write).unwrap();
    });
    let from = journal::length();
    let socket = UnixStream::connect(stage.path()).unwrap();
    let unsealed = memfd::backed(12288);
    let fds = [unsealed.as_fd(); 3];
    socket::send(&socket, &Hello::new(&Terms::default()).0, &fds).unwrap();
    assert_eq!(stage.no_session(from), HandshakeError::Descriptors(3).to_string());
    let from = journal::length();
    let socket = UnixStream::connect(stage.path()).unwrap();
    let hello = Hello::new(&Terms::default()).with(0, b"X");
    socket::send(&socket, &hello.0, &[unsealed.as_fd()]).unwrap();
    stage.no_session(from);
}
