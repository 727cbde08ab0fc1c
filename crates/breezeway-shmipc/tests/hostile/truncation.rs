//! A peer that truncates its memory (B1.1 8): its session ends, the process lives.

use breezeway_adversary::shmipc::Peer;
use breezeway_adversary::shmipc::buffers::{FIRST_SLICE, SliceHeader};
use breezeway_adversary::shmipc::message::WAKE;
use breezeway_shmipc::{Address, Server, ServerOptions, SessionEnd, StreamError, Trust, Violation};
use rustix::fs::ftruncate;

use crate::victim::Victim;

/// Checks that a truncated queue ends its session and nothing else.
pub(crate) fn is_survived() {
    let mut victim = Victim::new();
    let mut raw = Peer::connect(&victim.path);
    raw.send(2, b"hello");
    raw.take();
    ftruncate(&raw.queue, 0).unwrap();
    raw.wake();
    raw.wait_for_end();
    assert_eq!(victim.punishment(), Violation::Truncated("queue"));
    victim.is_well();
}

#[test]
fn a_queue_truncated_after_the_handshake() {
    is_survived();
}

#[test]
fn a_buffer_truncated_after_the_handshake() {
    let mut victim = Victim::new();
    let mut raw = Peer::connect(&victim.path);
    ftruncate(&raw.buffer, 0).unwrap();
    // The wake-up alone touches the queue only.
    raw.put(2, FIRST_SLICE, 0);
    raw.wait_for_end();
    assert_eq!(victim.punishment(), Violation::Truncated("buffer"));
    victim.is_well();
}

#[test]
fn memory_truncated_while_peeked_reads_as_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sock");
    let server =
        Server::bind(&Address::Unix(path.clone()), ServerOptions::new(Trust::SameUser)).unwrap();
    let mut raw = Peer::connect(&path);
    let session = server.accept().unwrap();
    let bytes = [7; 1000];
    raw.slices.fill(FIRST_SLICE, SliceHeader::of(&bytes), &bytes);
    raw.put(2, FIRST_SLICE, 0);
    let mut stream = session.accept().unwrap();
    let peeked = stream.peek().unwrap().unwrap();
    ftruncate(&raw.buffer, 0).unwrap();
    assert_eq!(peeked.to_vec(), [0; 1000], "zeros in place of a fault");
    let _ = stream.send(b"x");
    let ended = stream.peek_at_least(2000).err().unwrap();
    let lost = SessionEnd::Violation(Violation::Truncated("buffer"));
    assert!(
        matches!(&ended, StreamError::Session(end) if end.to_string() == lost.to_string()),
        "{ended}"
    );
}

#[test]
fn memory_truncated_again_and_again_while_it_is_used() {
    let mut victim = Victim::new();
    for _ in 0..20 {
        let mut raw = Peer::connect(&victim.path);
        let buffer = raw.buffer.try_clone().unwrap();
        let queue = raw.queue.try_clone().unwrap();
        let truncating = std::thread::spawn(move || {
            ftruncate(&buffer, 4096).unwrap();
            ftruncate(&queue, 0).unwrap();
        });
        for _ in 0..10 {
            use std::io::Write;
            let _ = raw.socket.write_all(&WAKE);
        }
        truncating.join().unwrap();
        let _ = std::io::Write::write_all(&mut raw.socket, &WAKE);
        raw.wait_for_end();
        assert!(matches!(victim.punishment(), Violation::Truncated(_)));
    }
    victim.is_well();
}
