//! Bytes, descriptors and shortages on the session socket.

use std::os::unix::net::UnixStream;

use super::*;

use breezeway_adversary::socket;
use breezeway_os::segment;
use rustix::io::ioctl_fionread;
use rustix::net::send;

/// Cap of all sessions in these tests.
const CAP: u64 = 64 * 4096;

fn pair() -> (Doorbell, Doorbell) {
    let (one, other) = UnixStream::pair().unwrap();
    (Doorbell::new(one.into(), CAP), Doorbell::new(other.into(), CAP))
}

fn send_segments(ringing: &Doorbell, count: usize) {
    let (_mapping, fd) = segment::create(4096).unwrap();
    for _ in 0..count {
        ringing.send_segment(fd.as_fd()).unwrap();
    }
}

fn take(hearing: &mut Doorbell) -> Result<(), SocketError> {
    assert_eq!(hearing.take_segment()?.size(), 4096);
    Ok(())
}

#[test]
fn any_number_of_doorbell_bytes_mean_nothing_more_than_one() {
    let (mut ringing, mut hearing) = pair();
    for _ in 0..10_000 {
        ringing.ring().unwrap();
    }
    hearing.drain().unwrap();
    assert!(!hearing.is_closed());
    assert_eq!(ioctl_fionread(&hearing).unwrap(), 0);
}

#[test]
fn sleeper_is_woken_by_new_bytes_only() {
    let (mut ringing, mut hearing) = pair();
    for _ in 0..3 * MAX_PEEKED {
        ringing.ring().unwrap();
        hearing.sleep().unwrap();
        assert!(ioctl_fionread(&hearing).unwrap() <= MAX_PEEKED as u64);
    }
    let timeout = Duration::from_millis(20);
    let start = std::time::Instant::now();
    hearing.sleep_for(timeout).unwrap();
    assert!(start.elapsed() >= timeout, "woken by what was read before");
    ringing.ring().unwrap();
    hearing.sleep_for(Duration::from_secs(100)).unwrap();
    drop(ringing);
    hearing.sleep().unwrap();
    assert!(hearing.is_closed());
}

#[test]
fn bytes_of_event_take_one_read_until_enough_are_peeked() {
    let (mut ringing, mut hearing) = pair();
    for rung in 1..=3 * MAX_PEEKED {
        ringing.ring().unwrap();
        assert!(hearing.read_event().unwrap());
        assert_eq!(ioctl_fionread(&hearing).unwrap() as usize, rung % MAX_PEEKED);
    }
    // Urgent bytes and the end of file are not looked for: the event would have reported them.
    ringing.ring().unwrap();
    send(&ringing, &[DOORBELL], SendFlags::OOB).unwrap();
    ringing.ring().unwrap();
    assert!(hearing.read_event().unwrap());
    assert_eq!(hearing.peeked, 1);
    drop(ringing);
    assert!(hearing.read_event().unwrap() && hearing.drain().unwrap());
    assert!(hearing.is_closed());
    assert_eq!(ioctl_fionread(&hearing).unwrap(), 0);
}

#[test]
fn event_may_hide_the_end_where_urgent_bytes_are_not_reported() {
    let (mut ringing, mut hearing) = pair();
    hearing.short_peek_is_last = false;
    ringing.ring().unwrap();
    send(&ringing, &[DOORBELL], SendFlags::OOB).unwrap();
    drop(ringing);
    assert!(hearing.read_event().unwrap());
    assert!(hearing.is_closed());
}

#[test]
fn segments_between_bytes_of_event_are_all_read() {
    let (mut ringing, mut hearing) = pair();
    for _ in 0..MAX_PENDING_SEGMENTS {
        ringing.ring().unwrap();
        send_segments(&ringing, 1);
    }
    ringing.ring().unwrap();
    assert!(hearing.read_event().unwrap());
    assert_eq!(ioctl_fionread(&hearing).unwrap(), 1, "the last doorbell, which was peeked");
    for _ in 0..MAX_PENDING_SEGMENTS {
        take(&mut hearing).unwrap();
    }
}

#[test]
fn end_of_file_is_seen_behind_earlier_bytes() {
    let (ringing, mut hearing) = pair();
    send_segments(&ringing, 1);
    drop(ringing);
    hearing.drain().unwrap();
    assert!(hearing.is_closed());
    take(&mut hearing).unwrap();
    assert!(matches!(take(&mut hearing), Err(SocketError::Violation(Violation::SegmentMissing))));
}

#[test]
fn an_announced_segment_behind_a_flood_of_doorbells_is_given_up() {
    let (ringing, mut hearing) = pair();
    let flood = [DOORBELL; 6 * MAX_READS * READ];
    let sent = send(&ringing, &flood, SendFlags::DONTWAIT).unwrap();
    assert!(sent > 2 * MAX_READS * READ, "{sent} bytes");
    assert!(matches!(take(&mut hearing), Err(SocketError::Violation(Violation::SegmentMissing))));
    let left = ioctl_fionread(&hearing).unwrap() as usize;
    assert!(left >= sent - MAX_READS * READ, "{left} of {sent} bytes are left");
}

#[test]
fn segment_behind_a_full_read_of_doorbells_arrives() {
    for drain in [Doorbell::drain, Doorbell::read_event] {
        for doorbells in READ - 1..READ + 2 {
            let (ringing, mut hearing) = pair();
            send(&ringing, &vec![DOORBELL; doorbells], SendFlags::DONTWAIT).unwrap();
            send_segments(&ringing, 1);
            ringing.bell.ring().unwrap();
            assert!(drain(&mut hearing).unwrap());
            take(&mut hearing).unwrap();
            assert_eq!(ioctl_fionread(&hearing).unwrap() as usize, hearing.peeked);
        }
    }
}

#[test]
fn another_byte_is_a_violation() {
    for bytes in [&b"GET / HTTP/1.1\r\n"[..], &[0, 0, 2], &[1], &[0, 1, 0]] {
        let (ringing, mut hearing) = pair();
        send(&ringing, bytes, SendFlags::empty()).unwrap();
        assert!(matches!(hearing.drain(), Err(SocketError::Violation(_))), "{bytes:?}");
    }
}

/// Counts the descriptors of this process that are memfds.
fn memfds() -> usize {
    let entries = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = entries.filter_map(|entry| entry.unwrap().path().read_link().ok());
    targets.filter(|target| target.to_string_lossy().contains("memfd:")).count()
}

#[test]
fn pending_segments_leave_nothing_unread_and_take_no_descriptor() {
    let before = memfds();
    let (mut ringing, mut hearing) = pair();
    send_segments(&ringing, MAX_PENDING_SEGMENTS);
    ringing.ring().unwrap();
    assert!(hearing.drain().unwrap());
    assert_eq!(ioctl_fionread(&hearing).unwrap(), 0, "the doorbell behind them");
    // Other tests have memfds of their own at the same time.
    assert!(memfds() < before + MAX_PENDING_SEGMENTS / 2);
    for _ in 0..MAX_PENDING_SEGMENTS {
        take(&mut hearing).unwrap();
    }
    send_segments(&ringing, MAX_PENDING_SEGMENTS);
    drop(ringing);
    hearing.drain().unwrap();
    assert!(hearing.is_closed(), "the end is seen whatever is before it");
}

#[test]
fn pending_segments_beyond_the_limit_are_a_violation() {
    let (ringing, mut hearing) = pair();
    send_segments(&ringing, MAX_PENDING_SEGMENTS + 1);
    let outcome = hearing.drain();
    assert!(
        matches!(
            outcome,
            Err(SocketError::Violation(Violation::PendingSegments { count: 65, .. }))
        ),
        "{outcome:?}"
    );
}

#[test]
fn pending_segments_beyond_twice_the_cap_are_a_violation() {
    let (ringing, mut hearing) = pair();
    let (_mapping, large) = segment::create(CAP as usize).unwrap();
    for _ in 0..2 {
        ringing.send_segment(large.as_fd()).unwrap();
    }
    assert!(hearing.drain().unwrap());
    send_segments(&ringing, 1);
    let outcome = hearing.drain();
    assert!(
        matches!(outcome, Err(SocketError::Violation(Violation::PendingSegments { count: 3, .. }))),
        "{outcome:?}"
    );
}

fn is_not_sealed<T>(outcome: &Result<T, SocketError>) -> bool {
    matches!(outcome, Err(SocketError::Violation(Violation::Segment(SegmentError::NotSealed(0)))))
}

#[test]
fn own_end_behind_pending_segments_is_a_violation() {
    type Read = fn(&mut Doorbell) -> Result<(), SocketError>;
    let ways: [Read; 5] = [
        |hearing| hearing.drain().map(drop),
        |hearing| hearing.read_event().map(drop),
        |hearing| (0..=MAX_PENDING_SEGMENTS).try_for_each(|_| hearing.sleep()),
        |hearing| {
            let shortly = Duration::from_millis(1);
            (0..=MAX_PENDING_SEGMENTS).try_for_each(|_| hearing.sleep_for(shortly))
        },
        |hearing| {
            let (other, _writer) = std::io::pipe().unwrap();
            let beside = |hearing: &mut Doorbell| {
                hearing.sleep_beside(other.as_fd(), Deadline::after(Duration::from_millis(1)))
            };
            (0..=MAX_PENDING_SEGMENTS).try_for_each(|_| beside(hearing))
        },
    ];
    for (number, read) in ways.into_iter().enumerate() {
        for before in [0, 8, MAX_PENDING_SEGMENTS] {
            let (ringing, mut hearing) = pair();
            send_segments(&ringing, before);
            ringing.send_segment(ringing.as_fd()).unwrap();
            let outcome = read(&mut hearing);
            assert!(is_not_sealed(&outcome), "way {number}, {before} before: {outcome:?}");
        }
    }
}

#[test]
fn a_descriptor_that_is_no_segment_is_not_kept() {
    let (one, other) = UnixStream::pair().unwrap();
    // The peer sends its own end: a process that keeps it never sees the end of the connection.
    scm::send(&one, &[SEGMENT], &[one.as_fd()], SendFlags::empty()).unwrap();
    let mut hearing = Doorbell::new(other.into(), CAP);
    let outcome = hearing.drain();
    assert!(is_not_sealed(&outcome), "{outcome:?}");
    drop(one);
    assert!(ready(&hearing, PollFlags::RDHUP, Deadline::after(Duration::from_secs(10))).unwrap());
}

#[test]
fn a_descriptor_with_a_doorbell_byte_is_a_violation() {
    let (ringing, mut hearing) = pair();
    let stdin = std::io::stdin();
    scm::send(&ringing, &[DOORBELL], &[stdin.as_fd()], SendFlags::empty()).unwrap();
    assert!(matches!(hearing.drain(), Err(SocketError::Violation(Violation::UnwantedDescriptors))));
}

#[test]
fn urgent_byte_is_read_with_its_descriptor() {
    let (ringing, mut hearing) = pair();
    let (_mapping, fd) = segment::create(4096).unwrap();
    scm::send(&ringing, &[SEGMENT], &[fd.as_fd()], SendFlags::OOB).unwrap();
    send(&ringing, &[DOORBELL], SendFlags::empty()).unwrap();
    take(&mut hearing).unwrap();
}

#[test]
fn an_urgent_byte_ends_one_sleep_like_any_other() {
    let (ringing, mut hearing) = pair();
    send(&ringing, &[DOORBELL], SendFlags::OOB).unwrap();
    hearing.sleep_for(Duration::from_secs(100)).unwrap();
    hearing.drain().unwrap();
    assert!(
        !ready(&hearing, PollFlags::IN, Deadline::after(Duration::ZERO)).unwrap(),
        "it is still there"
    );
}

#[test]
fn message_with_many_descriptors_stays_in_the_socket() {
    let (one, other) = UnixStream::pair().unwrap();
    let (pipe, _writer) = std::io::pipe().unwrap();
    socket::send(&one, &[SEGMENT], &[pipe.as_fd(); socket::MAX_DESCRIPTORS]).unwrap();
    let mut hearing = Doorbell::new(other.into(), CAP);
    assert!(matches!(hearing.drain(), Err(SocketError::Violation(Violation::UnwantedDescriptors))));
    assert_eq!(ioctl_fionread(&hearing).unwrap(), 1);
}
