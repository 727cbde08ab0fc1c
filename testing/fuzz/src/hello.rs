//! Any bytes and descriptors for a hello, in pieces, to a client or a server: the hello's parser is
//! private, so it is reached over a socket.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use arbitrary::Arbitrary;
use breezeway::{ExclusiveServerSession, ExclusiveSession, SessionOptions, WaitPolicy};
use breezeway_adversary::native::{Hello, Terms, control_segment, layout};
use breezeway_adversary::offered::File;
use breezeway_adversary::socket::send;

use crate::typed;

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
    /// A true hello with fields behind its fixed part, of which the last may lose bytes.
    Extended {
        features: u32,
        fields: Vec<(u16, Vec<u8>)>,
        cut: u8,
    },
}

#[derive(Arbitrary, Debug)]
enum With {
    Nothing,
    Control,
    Others(Vec<File>),
}

#[derive(Arbitrary, Debug)]
struct Input {
    to_server: bool,
    bytes: Bytes,
    with: With,
    piece: u8,
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some(input) = typed::<Input>(data) else { return };
    let (honest, socket) = UnixStream::pair().unwrap();
    let (bytes, terms) = bytes(&input.bytes);
    let fds: Vec<OwnedFd> = match &input.with {
        With::Nothing => Vec::new(),
        With::Control => vec![control_segment(&terms).another_fd()],
        With::Others(others) => others.iter().take(10).map(|fd| fd.open()).collect(),
    };
    let piece = usize::from(input.piece).max(bytes.len() / 100 + 1);
    for (index, bytes) in bytes.chunks(piece).enumerate() {
        let fds = if index == 0 { &fds[..] } else { &[] };
        let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        // The honest side may have refused what came before.
        let _ = send(&socket, bytes, &fds);
    }
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let options =
        SessionOptions::new().wait(WaitPolicy::Park).handshake_timeout(Duration::from_secs(60));
    // Nothing more can come, so nothing is waited for.
    if input.to_server {
        match ExclusiveServerSession::from_socket(honest.into(), &options) {
            Ok(session) => {
                let ended = session.serve(&|call: breezeway::Call<'_>| call.done());
                assert!(ended.is_err(), "an end without a shutdown entry");
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    } else {
        match ExclusiveSession::from_socket(honest.into(), &options) {
            Ok(mut session) => assert!(session.call(0, b"ping").is_err()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn bytes(bytes: &Bytes) -> (Vec<u8>, Terms) {
    let terms = |capacity| Terms { ring_capacity: capacity, lend_count: 64, payload_cap: 4096 };
    match bytes {
        Bytes::Any(bytes) => (bytes.clone(), terms(8)),
        Bytes::Nearly { capacity, changes, behind, length } => {
            let terms = terms(8 << (capacity % 6));
            let len = layout::hello::LEN;
            let length = length.unwrap_or((len + behind.len()).min(layout::hello::MAX_LEN) as u16);
            let length_at = layout::hello::LENGTH_AT;
            let mut hello = Hello::new(&terms).with(length_at, &length.to_le_bytes()).0;
            for &(at, value) in changes.iter().take(4) {
                hello[usize::from(at) % len] = value;
            }
            hello.extend(behind);
            (hello, terms)
        }
        Bytes::Extended { features, fields, cut } => {
            let terms = terms(8);
            let features_at = layout::hello::FEATURES_AT;
            let mut hello = Hello::new(&terms).with(features_at, &features.to_le_bytes());
            for (kind, value) in fields.iter().take(8) {
                hello = hello.with_field(*kind, &value[..value.len().min(255)]);
            }
            let behind = &hello.0[layout::hello::LEN..];
            let behind = behind[..behind.len().saturating_sub(usize::from(*cut))].to_vec();
            (hello.with_behind(&behind).0, terms)
        }
    }
}
