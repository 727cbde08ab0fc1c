//! A link that is short of memory.

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use breezeway_os::WaitPolicy;
use breezeway_os::segment::SegmentError;
use breezeway_proto::{Flags, Head, Kind, frame};
use breezeway_shm::statistics::Description;

use super::send_buffer::LARGE;
use super::*;
use crate::carrier::{Body, LinkError, Notice};

const CAP: usize = 1 << 20;

/// Returns a link whose patience with a shortage is over, and its peer.
fn impatient() -> (SocketLink, UnixStream) {
    let (own, peer) = UnixStream::pair().unwrap();
    let wire = Wire::from(OwnedFd::from(own));
    let waiting = Waiting { policy: WaitPolicy::Park, spin_bound: Duration::ZERO };
    let meter = Meter::new(&Description::of_worker(WaitPolicy::Park));
    let mut link = SocketLink::new(wire, Carrier::Unix, CAP as u64, waiting, meter);
    link.short_until = Some(Deadline::after(Duration::ZERO));
    (link, peer)
}

fn frame_of(body: &[u8]) -> Vec<u8> {
    let head = Head { kind: Kind::Message, flags: Flags::FIN, stream: 1, tag: 2, time: 0 };
    [&frame::encode(head, body.len())[..], body].concat()
}

fn no_memory() -> SegmentError {
    SegmentError::Private { size: CAP }
}

#[test]
fn shortage_before_a_header_leaves_bytes_in_the_socket() {
    let (mut link, mut peer) = impatient();
    peer.write_all(&frame_of(b"small")).unwrap();
    assert!(matches!(link.lacks_memory(no_memory()), Err(LinkError::Shortage(_))));
    assert!(!link.closed);
    // There is memory again.
    assert!(link.take().unwrap());
    link.finish();
    assert_eq!(link.short_until, None);
}

#[test]
fn shortage_before_a_header_of_a_dead_peer_ends_the_session() {
    let (mut link, mut peer) = impatient();
    peer.write_all(&frame_of(b"small")).unwrap();
    drop(peer);
    link.lacks_memory(no_memory()).unwrap();
    assert!(link.closed && link.unreceived.is_none());
}

#[test]
fn shortage_behind_a_header_drops_the_frame() {
    let (mut link, mut peer) = impatient();
    let frame = frame_of(&[7; 1000]);
    peer.write_all(&frame[..500]).unwrap();
    link.read(false).unwrap();
    link.short_until = Some(Deadline::after(Duration::ZERO));
    link.lacks_memory(no_memory()).unwrap();
    assert!(matches!(link.take(), Err(LinkError::Unreceived(Unreceived { frame: (_, 1000), .. }))));
    peer.write_all(&frame[500..]).unwrap();
    link.notice(Notice::Readable);
    assert!(!link.take().unwrap());
    assert_eq!(link.received.missing(CAP), frame::HEADER_LEN);
}

#[test]
fn kept_message_ends_its_shortage() {
    let (mut link, mut peer) = impatient();
    peer.write_all(&frame_of(&[7; 2 * LARGE])).unwrap();
    assert!(link.take().unwrap());
    link.short_until = Some(Deadline::after(Duration::ZERO));
    link.keep_messages();
    assert!(link.take().unwrap());
    assert_eq!(link.short_until, None);
}

#[test]
fn shortage_beside_a_current_message_takes_no_patience() {
    let (mut link, mut peer) = impatient();
    peer.write_all(&frame_of(b"small")).unwrap();
    assert!(link.take().unwrap());
    assert!(matches!(link.lacks_memory(no_memory()), Err(LinkError::Shortage(_))));
    assert_eq!(link.short_until, None);
}

#[test]
fn space_truncated_to_nothing_gives_memory_back_and_is_sent() {
    let (mut link, _peer) = impatient();
    link.reserve(CAP).unwrap();
    link.truncate(0);
    assert!(link.unsent.spare().capacity() >= CAP);
    let head = Head { kind: Kind::Message, flags: Flags::FIN, stream: 1, tag: 2, time: 0 };
    link.send(head, Body::Space).unwrap();
    assert_eq!(link.unsent.len(), frame::HEADER_LEN);
}
