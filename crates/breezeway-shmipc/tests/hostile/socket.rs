//! Invalid messages on the socket (B1.1, B1.2).

use std::io::Write;

use breezeway_adversary::shmipc::Peer;
use breezeway_adversary::shmipc::message::{message, message_of_length};
use breezeway_shmipc::Violation;

use crate::victim::Victim;

#[track_caller]
fn ends_the_session(rule: &Violation, bytes: &[u8]) {
    let mut victim = Victim::new();
    let mut raw = Peer::connect(&victim.path);
    raw.socket.write_all(bytes).unwrap();
    raw.wait_for_end();
    assert_eq!(victim.punishment(), *rule);
    victim.is_well();
}

#[test]
fn fallback_data_declaring_less_than_its_header() {
    for length in [0, 7, 8, 9, 15] {
        let rule = Violation::MessageLength { kind: 3, length };
        ends_the_session(&rule, &message_of_length(length, 3, 3, &[0; 16]));
    }
}

#[test]
fn a_hot_restart_sent_by_a_client() {
    ends_the_session(&Violation::MessageType(8), &message(3, 8, &[1; 8]));
}

#[test]
fn unrequested_restart_acknowledgement_is_ignored() {
    let mut victim = Victim::new();
    let mut raw = Peer::connect(&victim.path);
    raw.socket.write_all(&message(3, 9, &[1; 8])).unwrap();
    raw.send(2, b"still here");
    let [stream, offset, status] = raw.take();
    assert_eq!((stream, status, raw.slices.payload(offset)), (2, 0, b"still here".to_vec()));
    victim.is_well();
}

#[test]
fn types_that_have_no_place_after_the_handshake() {
    for kind in [0, 4, 5, 6, 7, 10, 255] {
        ends_the_session(&Violation::MessageType(kind), &message(3, kind, &[]));
    }
}

#[test]
fn a_wrong_magic_and_version_zero() {
    ends_the_session(&Violation::Magic(0x7759), &[0, 0, 0, 8, 0x77, 0x59, 3, 1]);
    ends_the_session(&Violation::VersionZero, &[0, 0, 0, 8, 0x77, 0x58, 0, 1]);
}

#[test]
fn fallback_data_that_declares_four_gigabytes_allocates_nothing() {
    let mut victim = Victim::new();
    let mut raw = Peer::connect(&victim.path);
    let before = private_memory();
    raw.socket.write_all(&message_of_length(u32::MAX, 3, 3, &[0, 0, 0, 2, 0, 0, 0, 0])).unwrap();
    raw.socket.write_all(b"some of them").unwrap();
    let mut echoed = [0; 8 + 16 + 12];
    std::io::Read::read_exact(&mut raw.socket, &mut echoed).unwrap();
    assert_eq!(&echoed[24..], b"some of them");
    // Less than half of the declared length: other tests run at the same time.
    assert!(private_memory() < before + (2 << 30));
    victim.is_well();
}

#[test]
fn unread_fallback_data_stays_in_the_socket() {
    use breezeway_shmipc::{ClientOptions, ServerOptions, Session, SessionOptions, Trust};
    let limit = SessionOptions::new().fallback_limit(1 << 20);
    let server = ServerOptions::new(Trust::SameUser).session(limit);
    let client = ClientOptions::new(Trust::SameUser).buffer_size(1 << 20).slices([(1004, 100)]);
    let (client, server) = Session::pair(&client, &server).unwrap();
    let mut stream = client.open().unwrap();
    stream.set_write_timeout(Some(std::time::Duration::from_millis(50)));
    let receiving = {
        let server = server.clone();
        std::thread::spawn(move || {
            let unread = server.accept();
            // Receives for all streams until the session ends.
            (unread, server.accept().is_err())
        })
    };
    // Fills the region, then goes over the socket until that takes no more.
    let chunk = vec![7; 100_000];
    let start = std::time::Instant::now();
    let held = loop {
        let sent = stream.send(&chunk).is_ok();
        let held = server.statistics().fallback_bytes;
        // A slow receiver also lets a send time out.
        if !sent && held >= 1 << 20 {
            break held;
        }
        assert!(start.elapsed() < crate::victim::PATIENCE, "{held} bytes");
    };
    assert!(held < (1 << 20) + (32 << 10), "{held} bytes");
    client.close();
    let (unread, ended) = receiving.join().unwrap();
    assert!(unread.is_ok() && ended);
}

/// Returns the bytes that this process has allocated, touched or not.
fn private_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let data = status.lines().find_map(|line| line.strip_prefix("VmData:")).unwrap();
    data.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
