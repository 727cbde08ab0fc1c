//! A whole session by hand.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::buffers::{self, Buffers, SliceHeader};
use super::handshake::{self, dial};
use super::message::{HEADER_LEN, WAKE, kind, message};
use super::queue::{self, Ring};
use super::region;
use crate::socket::PATIENCE;

/// One end of a session with full access to every byte. The other end is honest.
#[derive(Debug)]
pub struct Peer {
    /// The session's socket.
    pub socket: UnixStream,
    /// The queue region.
    pub queue: Arc<OwnedFd>,
    /// The buffer region.
    pub buffer: Arc<OwnedFd>,
    /// The ring that the peer puts elements in.
    pub outgoing: Ring,
    /// The ring that the honest side puts elements in.
    pub incoming: Ring,
    /// The slices in the buffer region.
    pub slices: Buffers,
}

impl Peer {
    /// Connects a client with an ordinary session.
    pub fn connect(path: &Path) -> Self {
        let peer = Self::offer(path, queue::region(), buffers::region(), "same name");
        handshake::expect(&peer.socket, &message(3, kind::ACK_SHARE_MEMORY, &[]));
        peer
    }

    /// Connects a client that has offered these regions; the server's answer is still to be read.
    pub fn offer(path: &Path, queue: OwnedFd, buffer: OwnedFd, name: &str) -> Self {
        let socket = dial(path);
        handshake::offer(&socket, &queue, &buffer, name);
        let (queue, buffer) = (Arc::new(queue), Arc::new(buffer));
        // The regions may be smaller than a session needs.
        let half = queue::SIZE / 2;
        let outgoing = Ring::of_capacity(&queue, 0, queue::CAPACITY);
        let incoming = Ring::of_capacity(&queue, half, queue::CAPACITY);
        let slices = Buffers::new(&buffer);
        Self { socket, queue, buffer, outgoing, incoming, slices }
    }

    /// Returns a server that has accepted the offer of the client on this socket by the rules.
    pub fn server(socket: UnixStream) -> Self {
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let (queue, buffer) = handshake::accept(&socket);
        let (queue, buffer) = (Arc::new(queue), Arc::new(buffer));
        let half = region::size(&queue) / 2;
        let (incoming, outgoing) = (Ring::new(&queue, 0), Ring::new(&queue, half));
        let slices = Buffers::new(&buffer);
        Self { socket, queue, buffer, outgoing, incoming, slices }
    }

    /// Wakes the honest side, which may have ended the session already.
    pub fn wake(&mut self) {
        let _ = self.socket.write_all(&WAKE);
    }

    /// Puts an element and wakes the honest side.
    pub fn put(&mut self, stream: u32, offset: u32, status: u32) {
        self.outgoing.put(stream, offset, status);
        self.wake();
    }

    /// Sends `bytes` on `stream` in one slice.
    pub fn send(&mut self, stream: u32, bytes: &[u8]) {
        let slice = self.slices.take_slice();
        self.slices.fill(slice, SliceHeader::of(bytes), bytes);
        self.put(stream, slice, 0);
    }

    /// Waits until the honest side has put `count` elements in all, and takes none.
    pub fn wait_for_replies(&self, count: u32) {
        let start = Instant::now();
        while self.incoming.tail() != count {
            assert!(start.elapsed() < PATIENCE, "no reply {count}");
            std::thread::yield_now();
        }
    }

    /// Waits for an element of the honest side's: stream, offset, status.
    pub fn take(&mut self) -> [u32; 3] {
        loop {
            if let Some(element) = self.incoming.try_take() {
                return element;
            }
            let mut wake = [0; HEADER_LEN];
            self.socket.read_exact(&mut wake).expect("an element");
            self.incoming.sleep();
        }
    }

    /// Waits until the honest side ends the session.
    pub fn wait_for_end(mut self) {
        handshake::read_to_end(&mut self.socket);
    }
}
