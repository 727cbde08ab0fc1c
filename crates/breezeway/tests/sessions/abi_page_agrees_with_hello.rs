//! `docs/abi.md` is normative: both sides' hellos, captured from real handshakes, match its table.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;

use breezeway::{
    ConnectError, ExclusiveServerSession, ExclusiveSession, HandshakeError, Refusal, SessionOptions,
};
use breezeway_adversary::abi_page::{bytes, number, table};
use breezeway_adversary::socket::{self, Received};

/// The bytes of a field, by the page.
fn field<'a>(hello: &'a [u8], name: &str) -> &'a [u8] {
    let rows = table("hello");
    let row = rows.iter().find(|row| row[2] == name).unwrap_or_else(|| panic!("no field {name}"));
    let (offset, size) = (number(row[0]), number(row[1]));
    &hello[offset..offset + size]
}

fn field_number(hello: &[u8], name: &str) -> u64 {
    let mut bytes = [0; 8];
    let field = field(hello, name);
    bytes[..field.len()].copy_from_slice(field);
    u64::from_le_bytes(bytes)
}

/// A client's hello and, as it is passed on, the server's answer.
fn capture(client: &SessionOptions, server: &SessionOptions) -> (Received, Received) {
    let (client_end, near_client) = UnixStream::pair().unwrap();
    let (server_end, near_server) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let client = scope.spawn(|| ExclusiveSession::from_socket(client_end.into(), client));
        let server = scope.spawn(|| ExclusiveServerSession::from_socket(server_end.into(), server));
        let offer = socket::receive(&near_client, 8192);
        pass(&near_server, &offer);
        let answer = socket::receive(&near_server, 8192);
        pass(&near_client, &answer);
        // Both have agreed, so both hellos are whole. The sessions are kept until then, because
        // neither sends more.
        let (client, server) = (client.join().unwrap(), server.join().unwrap());
        assert!(client.is_ok() && server.is_ok());
        (offer, answer)
    })
}

fn pass(socket: &UnixStream, captured: &Received) {
    let fds: Vec<_> = captured.fds.iter().map(AsFd::as_fd).collect();
    assert_eq!(socket::send(socket, &captured.bytes, &fds), Ok(captured.bytes.len()));
}

fn options(ring_capacity: u32, cap: u64) -> SessionOptions {
    SessionOptions::new().ring_capacity(ring_capacity).cap(cap)
}

#[test]
fn the_fields_lie_one_behind_the_other() {
    let rows = table("hello");
    let names: Vec<&str> = rows.iter().map(|row| row[2]).collect();
    let expected = [
        "magic",
        "version",
        "length",
        "features",
        "ring_capacity",
        "lend_count",
        "control_size",
        "payload_cap",
        "status",
        "stream_messages",
        "stream_bytes",
        "max_streams",
        "service",
        "max_metadata",
    ];
    assert_eq!(names, expected);
    let mut end = 0;
    for row in rows {
        let (offset, size) = (number(row[0]), number(row[1]));
        assert_eq!(offset, end, "{}", row[2]);
        end += size;
    }
    assert_eq!(end, 64);
}

#[test]
fn hellos_match_the_abi_page() {
    let (offer, answer) = capture(&options(32, 1 << 20), &options(128, 1 << 30));
    let rows = table("hello");
    let magic = bytes(rows[0][3]);
    let captures = [(&offer, 1, 32, 1 << 20), (&answer, 0, 128, 1 << 30)];
    for (captured, features, ring_capacity, payload_cap) in captures {
        let hello = &captured.bytes;
        assert_eq!(hello.len(), 64);
        assert_eq!(captured.fds.len(), 1, "one descriptor, the control segment");
        assert_eq!(field(hello, "magic"), magic);
        assert_eq!(field_number(hello, "version").to_string(), rows[1][3]);
        assert_eq!(field_number(hello, "length"), 64);
        assert_eq!(field_number(hello, "features"), features);
        assert_eq!(field_number(hello, "ring_capacity"), ring_capacity);
        let lend_count = field_number(hello, "lend_count");
        assert!(lend_count.is_multiple_of(64) && (64..=1024).contains(&lend_count));
        let size = (4096 + 128 * ring_capacity).next_multiple_of(4096);
        assert_eq!(field_number(hello, "control_size"), size);
        assert_eq!(rustix::fs::fstat(&captured.fds[0]).unwrap().st_size as u64, size);
        assert_eq!(field_number(hello, "payload_cap"), payload_cap);
        assert_eq!(field_number(hello, "status"), 0);
        assert_eq!(field_number(hello, "stream_messages"), 64);
        assert_eq!(field_number(hello, "stream_bytes"), 1 << 20);
        assert_eq!(field_number(hello, "service"), 0);
        assert_eq!(field_number(hello, "max_streams"), 0, "plain calls only");
        assert_eq!(field_number(hello, "max_metadata"), 0, "plain calls only");
    }
}

#[test]
fn the_limits_of_the_page_are_those_of_the_options() {
    let rows = table("hello");
    assert!(rows[4][3].contains("8..=65536"), "{}", rows[4][3]);
    assert!(rows[2][3].contains("64..=4096"), "{}", rows[2][3]);
    assert!(rows[5][3].contains("64..=1024"), "{}", rows[5][3]);
    for (capacity, allowed) in [(4, false), (8, true), (65_536, true), (131_072, false)] {
        let (one, other) = UnixStream::pair().unwrap();
        drop(other);
        let outcome = ExclusiveSession::from_socket(one.into(), &options(capacity, 4096)).map(drop);
        let refused = matches!(outcome, Err(ConnectError::Option(_)));
        assert_eq!(refused, !allowed, "{capacity}: {outcome:?}");
    }
}

/// Written by hand from the page: a ring of 64, 512 lend numbers, 12288 bytes of control segment, a
/// cap of 64 MiB; windows of 64 messages and 1 MiB, no streams and no metadata taken.
const GOLDEN: &str = "
    42 52 5a 57 48 45 4c 4f   02 00   40 00   00 00 00 00
    40 00 00 00   00 02 00 00   00 30 00 00 00 00 00 00
    00 00 00 04 00 00 00 00   00 00 00 00   40 00 00 00
    00 00 10 00 00 00 00 00   00 00   00 00 00 00 00 00
";

#[test]
fn a_hello_byte_for_byte() {
    let golden: Vec<u8> =
        GOLDEN.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    let (offer, answer) = capture(&options(64, 64 << 20), &options(64, 64 << 20));
    assert_eq!(answer.bytes, golden);
    // Clients also set the feature bit for go-away entries.
    let mut offered = golden;
    offered[12] = 1;
    assert_eq!(offer.bytes, offered);
}

#[test]
fn the_statuses_of_a_refusal() {
    let rows = table("refusal");
    let found: Vec<(u32, &str)> = rows
        .iter()
        .map(|row| (row[0].parse().unwrap(), row[1].split(':').next().unwrap()))
        .collect();
    let expected = [
        (Refusal::Version as u32, "version"),
        (Refusal::Denied as u32, "denied"),
        (Refusal::Busy as u32, "busy"),
        (Refusal::NoMemory as u32, "no memory"),
        (Refusal::Violation as u32, "violation"),
        (Refusal::Carrier as u32, "carrier"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_refusal_byte_for_byte() {
    let (hostile, honest) = UnixStream::pair().unwrap();
    let serving =
        thread::spawn(|| ExclusiveServerSession::from_socket(honest.into(), &options(64, 4096)));
    let mut hello: Vec<u8> =
        GOLDEN.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    // Version 7, from a client without a descriptor.
    hello[8] = 7;
    pass(&hostile, &Received { bytes: hello, fds: Vec::new() });
    let Err(ConnectError::Handshake(error @ HandshakeError::Hello(_))) = serving.join().unwrap()
    else {
        panic!("not refused")
    };
    let refusal = socket::receive(&hostile, 8192);
    let reason = error.to_string();
    let mut expected = b"BRZWHELO".to_vec();
    expected.extend([2, 0]);
    expected.extend((64 + reason.len() as u16).to_le_bytes());
    expected.extend([0; 28]);
    expected.extend([1, 0, 0, 0]);
    expected.extend([0; 20]);
    expected.extend(reason.as_bytes());
    assert_eq!(refusal.bytes, expected);
    assert!(refusal.fds.is_empty());
}
