//! A relay between clients and a server that alters what both hellos offer (sections 2.1 and 2.2).

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread;

use rustix::io::Errno;

use super::layout::hello;
use super::{Hello, receive_hello};
use crate::abi_page::{number, table};
use crate::socket::{receive, send};
use crate::{Connection, Listener};

/// Bytes that the relay reads at once where no descriptor belongs to a byte.
const PIECE: usize = 64 * 1024;

/// Offer that both hellos make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// No feature, and no field.
    Nothing,
    /// Features that the page gives no meaning, and unknown fields up to the longest hello.
    Everything,
}

impl Offer {
    fn make(self, hello: Hello) -> Hello {
        let at = hello::FEATURES_AT;
        let offered = u32::from_le_bytes([0, 1, 2, 3].map(|byte| hello.0[at + byte]));
        match self {
            Self::Nothing => hello.with(at, &[0; 4]).with_behind(&[]),
            Self::Everything => hello
                .with(at, &(offered | !assigned()).to_le_bytes())
                .with_field(0x8000, b"")
                .with_field(0x8001, &[0xff])
                .longest(),
        }
    }
}

/// Returns the features that the page gives a meaning.
fn assigned() -> u32 {
    let bits = table("feature").into_iter().filter(|row| row[1] != "none");
    bits.fold(0, |bits, row| bits | number(row[0]) as u32)
}

/// Relays every connection that `listener` accepts to one that `connect` makes, and alters the
/// hello of either side. Bytes may arrive later than what their sender has written to shared
/// memory, so a session over shared memory must send no payload segment.
pub fn relay_offering(
    listener: Listener,
    connect: impl Fn() -> io::Result<Connection> + Send + 'static,
    offer: Offer,
) {
    thread::spawn(move || {
        while let Ok(client) = listener.accept() {
            let Ok(server) = connect() else { return };
            let (client, server) = (Arc::new(client), Arc::new(server));
            for (from, to) in [(&client, &server), (&server, &client)] {
                let (from, to) = (Arc::clone(from), Arc::clone(to));
                thread::spawn(move || pass(&from, &to, offer));
            }
        }
    });
}

/// Passes a hello, altered, and then every byte with its descriptors.
fn pass(from: &Connection, to: &Connection, offer: Offer) {
    let hello = receive_hello(from);
    if hello.bytes.len() < hello::LEN {
        let _ = to.shutdown(Shutdown::Both);
        return;
    }
    let has_memory = hello.bytes[hello::CONTROL_SIZE_AT..][..8] != [0; 8];
    let room = if has_memory { 1 } else { PIECE };
    let (mut bytes, mut fds) = (offer.make(Hello(hello.bytes)).0, hello.fds);
    while !bytes.is_empty() && give(to, &bytes, &fds) {
        let next = receive(from, room);
        (bytes, fds) = (next.bytes, next.fds);
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Sends all bytes; returns false at the end of the connection.
fn give(to: &Connection, mut bytes: &[u8], fds: &[OwnedFd]) -> bool {
    let mut fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
    while !bytes.is_empty() {
        match send(to, bytes, &fds) {
            Ok(sent) => {
                bytes = &bytes[sent..];
                fds.clear();
            }
            Err(Errno::AGAIN | Errno::INTR) => thread::yield_now(),
            Err(_) => return false,
        }
    }
    true
}
