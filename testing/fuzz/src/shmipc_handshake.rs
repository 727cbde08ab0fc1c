//! A shmipc handshake, to a server or a client: any messages, names, descriptors and contents of
//! regions, all of it there before the honest side reads.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use arbitrary::Arbitrary;
use breezeway_adversary::offered::{File, Number};
use breezeway_adversary::shmipc::message::{kind, message, message_of_length, names};
use breezeway_adversary::shmipc::region::{set, size};
use breezeway_adversary::shmipc::{buffers, queue};
use breezeway_adversary::socket;
use breezeway_shmipc::{Deadline, ServerOptions, Session, Trust};

use crate::shmipc_session::{client_options, session_options};
use crate::typed;

#[derive(Arbitrary, Debug)]
enum Say {
    Exchange {
        version: u8,
    },
    Names {
        kind: u8,
        version: u8,
        queue: Vec<u8>,
        buffer: Vec<u8>,
    },
    Message {
        kind: u8,
        version: u8,
        body: Vec<u8>,
    },
    Lie {
        length: Number,
        version: u8,
        kind: u8,
        body: Vec<u8>,
    },
    Bytes(Vec<u8>),
    /// The message that the peer waits for at this place.
    Right,
    Files(Vec<Offered>),
    /// The descriptors of both regions as they should be, and so many others.
    Regions(u8),
}

#[derive(Arbitrary, Debug)]
enum Offered {
    Queue(Vec<(u16, Number)>),
    Buffer(Vec<(u16, Number)>),
    Other(File),
}

#[derive(Arbitrary, Debug)]
struct Input {
    to_server: bool,
    require_sealed: bool,
    says: Vec<Say>,
}

impl Offered {
    fn open(&self) -> OwnedFd {
        let (fd, changes) = match self {
            Self::Queue(changes) => (queue::region(), changes),
            Self::Buffer(changes) => (buffers::small_region(), changes),
            Self::Other(file) => return file.open(),
        };
        let words = size(&fd) / 4;
        for (at, value) in changes.iter().take(8) {
            set(&fd, 4 * (u64::from(*at) % words), value.0 as u32);
        }
        fd
    }
}

/// Returns the bytes of a step of a peer that follows the rules.
fn right(to_server: bool, step: usize) -> Vec<u8> {
    let exchange = message(3, kind::EXCHANGE_PROTOCOL_VERSION, &[]);
    match (to_server, step) {
        (_, 0) => exchange,
        (true, _) => message(3, kind::SHARE_MEMORY_BY_MEMFD, &names("queue", "buffer")),
        (false, 1) => message(3, kind::ACK_READY_RECEIVE_FD, &[]),
        (false, _) => message(3, kind::ACK_SHARE_MEMORY, &[]),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some(input) = typed::<Input>(data) else { return };
    let (honest, peer) = UnixStream::pair().unwrap();
    let mut has_said_two = false;
    for (step, say) in input.says.iter().take(16).enumerate() {
        let mut files = Vec::new();
        let bytes = match say {
            Say::Exchange { version } => message(*version, kind::EXCHANGE_PROTOCOL_VERSION, &[]),
            Say::Names { kind, version, queue, buffer } => {
                message(*version, *kind, &names(&text(queue), &text(buffer)))
            }
            Say::Message { kind, version, body } => message(*version, *kind, body),
            Say::Lie { length, version, kind, body } => {
                message_of_length(length.0 as u32, *version, *kind, body)
            }
            Say::Bytes(bytes) => bytes.clone(),
            Say::Right => right(input.to_server, step),
            Say::Files(offered) => {
                files = offered.iter().take(5).map(Offered::open).collect();
                vec![0]
            }
            Say::Regions(more) => {
                files = vec![buffers::small_region(), queue::region()];
                files.extend((0..more % 4).map(|_| queue::region()));
                vec![0]
            }
        };
        has_said_two |= files.len() == 2;
        let files: Vec<BorrowedFd<'_>> = files.iter().map(AsFd::as_fd).collect();
        // Bytes that do not fit into the socket are never read.
        let _ = socket::send(&peer, &bytes, &files);
    }
    peer.shutdown(std::net::Shutdown::Write).unwrap();
    // Nothing more can come, so nothing is waited for.
    let session = session_options().handshake_timeout(Duration::from_secs(60));
    let outcome = if input.to_server {
        let options = ServerOptions::new(Trust::SameUser)
            .session(session)
            .folders(["/nowhere"])
            .require_sealed(input.require_sealed);
        Session::accept_over(honest.into(), &options).map_err(|error| error.to_string())
    } else {
        let options = client_options().session(session);
        Session::connect_over(honest.into(), &options).map_err(|error| error.to_string())
    };
    match outcome {
        Ok(session) => {
            assert!(has_said_two || !input.to_server, "no message had the two descriptors");
            assert!(session.accept_until(Deadline::after(Duration::ZERO)).is_err());
            drop(session.statistics());
        }
        Err(error) => assert!(!error.is_empty()),
    }
}
