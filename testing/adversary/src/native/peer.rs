//! A whole session by hand, over shared memory.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use super::descriptor::Descriptor;
use super::entry::{Entry, Seen};
use super::hello::{Hello, Terms, receive_hello};
use super::layout::{self, control, flag, kind, socket as byte};
use super::ring::{Ring, control_segment};
use super::view::View;
use crate::memory::{Mapping, Shared};
use crate::socket::{self, Received};

/// One end of a session with an honest peer: a client or a server.
///
/// Methods do everything by the rules, so that an attack breaks one rule and no other. Fields give
/// access to all memory and the socket.
#[derive(Debug)]
pub struct Peer {
    /// The session socket.
    pub socket: OwnedFd,
    /// Control segment of the peer, with its ring.
    pub ring: Ring,
    /// The honest side's control segment.
    pub view: View,
    /// Values of the peer's own hello.
    pub terms: Terms,
    /// Values of the honest side's hello.
    pub honest: Terms,
    /// Payload segments of the peer.
    pub payload: Vec<Arc<Shared>>,
    /// The honest side's payload segments that were announced.
    pub foreign: Vec<Mapping>,
    /// Descriptors of segments that were not announced yet.
    unannounced: VecDeque<OwnedFd>,
    /// Entries that were compared with the honest side's intent.
    rung: u64,
    /// The honest side's wait for a release that was last rung for.
    rung_wait: u64,
}

/// Section 5: whether an advance crosses an index.
fn crossed(index: u64, old: u64, new: u64) -> bool {
    new.wrapping_sub(index).wrapping_sub(1) < new.wrapping_sub(old)
}

/// Constructors, which begin a session.
impl Peer {
    /// A client of the server that listens at `path`.
    pub fn connect(path: &Path, terms: Terms) -> Self {
        Self::client(UnixStream::connect(path).expect("connect").into(), terms)
    }

    /// Connects like [`Self::connect`] as a client that takes streams itself, so that the server
    /// may offer some, and that allows `window` messages in flight to it on each.
    pub fn connect_with_streams(path: &Path, terms: Terms, window: u32) -> Self {
        let socket = UnixStream::connect(path).expect("connect").into();
        Self::client_with_streams(socket, terms, window)
    }

    /// Connects like [`Self::connect_with_streams`], on a connected socket.
    pub fn client_with_streams(socket: OwnedFd, terms: Terms, window: u32) -> Self {
        let hello = Hello::new(&terms)
            .with(layout::hello::MAX_STREAMS_AT, &8u16.to_le_bytes())
            .with(layout::hello::STREAM_MESSAGES_AT, &window.to_le_bytes())
            .with(layout::hello::STREAM_BYTES_AT, &(1u64 << 20).to_le_bytes());
        Self::greeting(socket, terms, &hello)
    }

    /// A client on a connected socket, with a hello that follows the rules.
    pub fn client(socket: OwnedFd, terms: Terms) -> Self {
        Self::greeting(socket, terms, &Hello::new(&terms))
    }

    fn greeting(socket: OwnedFd, terms: Terms, hello: &Hello) -> Self {
        socket::be_patient(&socket);
        let own = control_segment(&terms);
        socket::send(&socket, &hello.0, &[own.fd.as_fd()]).expect("send the hello");
        let answer = receive_hello(&socket);
        Self::agreed(socket, own, terms, answer)
    }

    /// A server on a connected socket, which answers by the rules.
    pub fn server(socket: OwnedFd, terms: Terms) -> Self {
        socket::be_patient(&socket);
        let offer = receive_hello(&socket);
        let own = control_segment(&terms);
        socket::send(&socket, &Hello::new(&terms).0, &[own.fd.as_fd()]).expect("send the hello");
        Self::agreed(socket, own, terms, offer)
    }

    /// A session with the side that sent this hello.
    pub fn agreed(socket: OwnedFd, own: Shared, terms: Terms, hello: Received) -> Self {
        assert_eq!(hello.fds.len(), 1, "no session: {:?}", String::from_utf8_lossy(&hello.bytes));
        let honest = Terms::read(&hello.bytes);
        Self {
            socket,
            ring: Ring::within(own, &terms),
            view: View::new(&hello.fds[0], &honest),
            terms,
            honest,
            payload: Vec::new(),
            foreign: Vec::new(),
            unannounced: VecDeque::new(),
            rung: 0,
            rung_wait: 0,
        }
    }
}

/// Writing.
impl Peer {
    /// Publishes an entry by the rules, and rings if the honest side requests a doorbell.
    pub fn publish(&mut self, entry: &Entry) {
        self.publish_silently(entry);
        fence(Ordering::SeqCst);
        if crossed(self.view.load(control::DATA_WAKE_AT), self.rung, self.ring.tail) {
            self.ring_doorbell();
        }
        self.rung = self.ring.tail;
    }

    /// Publishes an entry without the doorbell.
    pub fn publish_silently(&mut self, entry: &Entry) {
        self.ring.publish(entry);
    }

    /// Returns true if the ring has room for the next entry.
    pub fn has_room(&self) -> bool {
        self.ring.has_room(self.view.consumed())
    }

    /// Publishes the consumed count by the rules, and rings if the honest side requests a doorbell.
    pub fn consume(&self) {
        let before = self.ring.shared.load(control::CONSUMED_AT);
        self.ring.shared.store(control::CONSUMED_AT, self.view.head);
        fence(Ordering::SeqCst);
        if crossed(self.view.load(control::SPACE_WAKE_AT), before, self.view.head) {
            self.ring_doorbell();
        }
    }

    /// Sends a doorbell byte, requested or not. A full socket or an ended session is ignored.
    pub fn ring_doorbell(&self) {
        let _ = socket::send(&self.socket, &[byte::DOORBELL], &[]);
    }

    /// Sends a segment's descriptor, without announcing it.
    pub fn send_segment(&self, fd: impl AsFd) {
        let _ = socket::send(&self.socket, &[byte::SEGMENT], &[fd.as_fd()]);
    }

    /// Adds a payload segment by the rules.
    pub fn add_segment(&mut self, size: usize) -> Arc<Shared> {
        let shared = Arc::new(Shared::fit(size));
        self.send_segment(&shared.fd);
        self.publish(&Entry::segment_add(self.payload.len() as u32, size as u64));
        self.payload.push(Arc::clone(&shared));
        shared
    }

    /// Releases a payload of the honest side by its bit, and rings if the honest side waits for
    /// that.
    pub fn release(&mut self, lend: u32) {
        let at = control::RELEASED_AT + 8 * (lend as usize / 64);
        self.ring.shared.store(at, self.ring.shared.load(at) ^ 1 << (lend % 64));
        fence(Ordering::SeqCst);
        let wait = self.view.load(control::RELEASE_WAKE_AT);
        if wait != 0 && wait != self.rung_wait {
            self.rung_wait = wait;
            self.ring_doorbell();
        }
    }
}

/// Reading.
impl Peer {
    /// Waits for the next entry of the honest side; `None` at the end of the session.
    pub fn next_entry(&mut self) -> Option<Seen> {
        loop {
            self.ring.shared.store(control::DATA_WAKE_AT, self.view.head);
            fence(Ordering::SeqCst);
            if let Some(seen) = self.view.try_next() {
                return Some(seen);
            }
            if !self.wait_for_bytes() {
                return self.view.try_next();
            }
        }
    }

    /// Waits for bytes on the socket; false at the end of the session.
    fn wait_for_bytes(&mut self) -> bool {
        let received = socket::receive(&self.socket, 1);
        self.unannounced.extend(received.fds);
        !received.bytes.is_empty()
    }

    /// Waits for the next message, mapping the segments that come before it, and publishes that all
    /// of it was consumed.
    pub fn next_message(&mut self) -> Option<Seen> {
        loop {
            let seen = self.next_entry()?;
            self.consume();
            match seen.kind() {
                kind::MESSAGE => return Some(seen),
                kind::SEGMENT_ADD => self.map_segment(),
                kind::SEGMENT_RETIRE => {}
                kind::SHUTDOWN => return None,
                other => panic!("the honest side publishes kind {other}"),
            }
        }
    }

    /// Maps the segment of the `segment add` entry that was read last.
    pub fn map_segment(&mut self) {
        let fd = loop {
            match self.unannounced.pop_front() {
                Some(fd) => break fd,
                None => assert!(self.wait_for_bytes(), "a segment was announced but not sent"),
            }
        };
        self.foreign.push(Mapping::foreign(&fd));
    }

    /// The bytes of a message.
    pub fn bytes(&self, seen: &Seen) -> Vec<u8> {
        match seen.descriptor() {
            None => seen.body().to_vec(),
            Some(Descriptor { segment, offset, len, .. }) => {
                self.foreign[segment as usize].read(offset as usize..(offset + len) as usize)
            }
        }
    }

    /// Makes a call by the rules and gives the reply's bytes.
    pub fn call(&mut self, stream: u32, method: u32, body: &[u8]) -> Vec<u8> {
        self.publish(&Entry::request(stream, method, body));
        let seen = self.next_message().expect("the session ended instead of a reply");
        assert_eq!((seen.stream(), seen.flags() & !flag::LENT), (stream, flag::FIN), "{seen:?}");
        let bytes = self.bytes(&seen);
        if let Some(descriptor) = seen.descriptor() {
            self.release(descriptor.lend);
        }
        bytes
    }

    /// Waits until the honest side has consumed `count` entries.
    pub fn wait_consumed(&mut self, count: u64) {
        if count == 0 {
            return;
        }
        loop {
            self.ring.shared.store(control::SPACE_WAKE_AT, count - 1);
            fence(Ordering::SeqCst);
            if self.view.consumed() >= count {
                return;
            }
            assert!(self.wait_for_bytes(), "the session ended");
        }
    }

    /// Waits until the honest side ends the session.
    pub fn wait_for_end(&self) {
        while !socket::receive(&self.socket, 4096).is_end() {}
    }
}
