//! Any bytes and descriptors for a hello, in pieces, to a client or a server: the hello's parser is private, so it is reached over a socket.
#![no_main]

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use arbitrary::Arbitrary;
use breezeway::{ServerSession, Session, SessionOptions, WaitPolicy};
use breezeway_fuzz::{Control, Descriptor, send};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Bytes {
    Any(Vec<u8>),
    /// A true hello with some bytes changed, and more behind it.
    Nearly {
        capacity: u8,
        changes: Vec<(u8, u8)>,
        behind: Vec<u8>,
        length: Option<u16>,
    },
}

#[derive(Arbitrary, Debug)]
enum With {
    Nothing,
    Control,
    Others(Vec<Descriptor>),
}

#[derive(Arbitrary, Debug)]
struct Input {
    to_server: bool,
    bytes: Bytes,
    with: With,
    piece: u8,
}

fuzz_target!(|input: Input| {
    let (honest, socket) = UnixStream::pair().unwrap();
    let (bytes, capacity) = bytes(&input.bytes);
    let fds: Vec<OwnedFd> = match &input.with {
        With::Nothing => Vec::new(),
        With::Control => vec![Control::new(capacity).shared.fd.try_clone().unwrap()],
        With::Others(others) => others.iter().take(10).map(|fd| fd.open()).collect(),
    };
    let piece = usize::from(input.piece).max(bytes.len() / 100 + 1);
    for (index, bytes) in bytes.chunks(piece).enumerate() {
        send(&socket, bytes, if index == 0 { &fds } else { &[] });
    }
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let options =
        SessionOptions::new().wait(WaitPolicy::Park).handshake_timeout(Duration::from_secs(60));
    // Nothing more can come, so nothing is waited for.
    if input.to_server {
        match ServerSession::from_socket(honest.into(), &options) {
            Ok(session) => {
                let ended = session.serve(&|call: breezeway::Call<'_>| call.done());
                assert!(ended.is_err(), "an end without a shutdown entry");
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    } else {
        match Session::from_socket(honest.into(), &options) {
            Ok(mut session) => assert!(session.call(0, b"ping").is_err()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});

fn bytes(bytes: &Bytes) -> (Vec<u8>, u32) {
    match bytes {
        Bytes::Any(bytes) => (bytes.clone(), 8),
        Bytes::Nearly { capacity, changes, behind, length } => {
            let capacity = 8u32 << (capacity % 6);
            let size = (4096 + 128 * capacity as u64).next_multiple_of(4096);
            let mut hello = b"BRZWHELO".to_vec();
            hello.extend(1u16.to_le_bytes());
            hello.extend(length.unwrap_or(64 + behind.len().min(4032) as u16).to_le_bytes());
            hello.extend([0; 4]);
            hello.extend(capacity.to_le_bytes());
            hello.extend(64u32.to_le_bytes());
            hello.extend(size.to_le_bytes());
            hello.extend(4096u64.to_le_bytes());
            hello.extend([0; 24]);
            for &(at, value) in changes.iter().take(4) {
                hello[usize::from(at) % 64] = value;
            }
            hello.extend(behind);
            (hello, capacity)
        }
    }
}
