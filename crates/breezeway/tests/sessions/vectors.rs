//! `docs/vectors/conversations.txt`: what a server answers to the bytes that a client sends, as
//! every implementation reads it.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use breezeway::{Address, Server};

const CONVERSATIONS: &str = include_str!("../../../../docs/vectors/conversations.txt");

/// The frame with which a server may take its leave.
const SHUTDOWN: [u8; 16] = [0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

fn bytes_of(hex: &str) -> Vec<u8> {
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    assert!(rest.is_empty(), "half a byte in {hex}");
    let byte = |pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    pairs.iter().map(|pair| byte(pair)).collect()
}

/// Reads as many bytes as are expected.
fn read(socket: &mut UnixStream, len: usize, line: &str) -> Vec<u8> {
    let mut bytes = vec![0; len];
    socket.read_exact(&mut bytes).unwrap_or_else(|error| panic!("{line}: {error}"));
    bytes
}

/// Reads a hello, and gives its status.
fn status(socket: &mut UnixStream, line: &str) -> u32 {
    let hello = read(socket, 64, line);
    assert_eq!(&hello[..8], b"BRZWHELO", "{line}");
    let len = usize::from(u16::from_le_bytes([hello[10], hello[11]]));
    read(socket, len - 64, line);
    u32::from_le_bytes(hello[40..44].try_into().unwrap())
}

fn expect_end(socket: &mut UnixStream, line: &str) {
    let mut rest = Vec::new();
    match socket.read_to_end(&mut rest) {
        // It had not read all that was sent.
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        outcome => assert!(outcome.is_ok(), "{line}: {outcome:?}"),
    }
    assert!(rest.is_empty() || rest == SHUTDOWN, "{line}: got {rest:02x?}");
}

fn play(path: &Path, conversation: &str) {
    let (name, lines) = conversation.split_once('\n').expect("a conversation has lines");
    let mut socket = UnixStream::connect(path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    for line in lines.lines().filter(|line| !line.is_empty()) {
        let (direction, what) = line.split_once(' ').expect("a line has a direction");
        let line = &format!("{name}: {line}");
        match (direction, what) {
            // A server that refuses at once may have closed; what it said is still read.
            (">", hex) => drop(socket.write_all(&bytes_of(hex))),
            ("<", "hello") => assert_eq!(status(&mut socket, line), 0, "{line}"),
            ("<", "end") => expect_end(&mut socket, line),
            ("<", what) => match what.strip_prefix("refusal ") {
                Some(refusal) => {
                    assert_eq!(status(&mut socket, line), refusal.parse().unwrap(), "{line}");
                }
                None => {
                    let expected = bytes_of(what);
                    assert_eq!(read(&mut socket, expected.len(), line), expected, "{line}");
                }
            },
            _ => panic!("{line} says nothing"),
        }
    }
}

#[test]
fn a_server_answers_as_the_vectors_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors");
    let server = Server::bind(&Address::unix(path.clone())).unwrap();
    let stopper = server.stopper();
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(|call: breezeway::Call<'_>| call.echo()));
        let conversations: Vec<_> = CONVERSATIONS.split("conversation ").skip(1).collect();
        let played = std::panic::catch_unwind(|| {
            conversations.iter().for_each(|conversation| play(&path, conversation));
        });
        stopper.stop();
        serving.join().unwrap().unwrap();
        played.unwrap();
    });
    assert!(CONVERSATIONS.contains("ends the session"), "violations are part of it");
}
