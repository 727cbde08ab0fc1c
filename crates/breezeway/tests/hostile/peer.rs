//! The hostile peer: it speaks the ABI by hand, keeps its control segment writable, and follows no rule that it is not told to follow.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use super::abi::{control, entry, flag, kind, socket};
use super::entry::{Descriptor, Entry, Seen};
use super::hello::{Hello, Terms};
use super::memory::{Mapping, Shared};
use super::wire;

/// One end of a session whose other end is honest.
pub(crate) struct Peer {
    pub(crate) socket: OwnedFd,
    /// Its control segment. Threads of the attack hold it as well.
    pub(crate) own: Arc<Shared>,
    /// The honest side's control segment.
    pub(crate) view: Mapping,
    pub(crate) terms: Terms,
    /// What the honest side said in its hello.
    pub(crate) honest: Terms,
    /// Position of the next entry that it publishes.
    pub(crate) tail: u64,
    /// Position of the next entry that it reads.
    pub(crate) head: u64,
    /// Entries that were compared with the honest side's intent.
    rung: u64,
    /// Its payload segments.
    pub(crate) payload: Vec<Arc<Shared>>,
    /// The honest side's payload segments that were announced.
    pub(crate) foreign: Vec<Mapping>,
    /// Descriptors of segments that were not announced yet.
    sent: VecDeque<OwnedFd>,
}

/// Section 5: whether an advance crosses an index.
fn crossed(index: u64, old: u64, new: u64) -> bool {
    new.wrapping_sub(index).wrapping_sub(1) < new.wrapping_sub(old)
}

/// A control segment as its owner leaves it before the hello.
pub(crate) fn control_segment(terms: &Terms) -> Shared {
    let shared = Shared::fit(control::size(terms.ring_capacity));
    shared.map.write(control::MAGIC_AT, control::MAGIC);
    shared.map.store(control::VERSION_AT, 1);
    shared.map.store(control::CAPACITY_AT, terms.ring_capacity.into());
    shared.map.store(control::LENDS_AT, terms.lend_count.into());
    shared.map.store(control::DATA_WAKE_AT, control::NO_WAKE);
    shared.map.store(control::SPACE_WAKE_AT, control::NO_WAKE);
    shared
}

impl Peer {
    /// A client of the server that listens at `path`.
    pub(crate) fn connect(path: &Path, terms: Terms) -> Self {
        Self::client(UnixStream::connect(path).expect("connect").into(), terms)
    }

    /// A client on a connected socket, with a hello that follows the rules.
    pub(crate) fn client(socket: OwnedFd, terms: Terms) -> Self {
        wire::be_patient(&socket);
        let own = control_segment(&terms);
        wire::send(&socket, &Hello::new(&terms).0, &[own.fd.as_fd()]).expect("send the hello");
        let answer = wire::receive_hello(&socket);
        Self::agreed(socket, own, terms, answer)
    }

    /// A server on a connected socket, which answers by the rules.
    pub(crate) fn server(socket: OwnedFd, terms: Terms) -> Self {
        wire::be_patient(&socket);
        let offer = wire::receive_hello(&socket);
        let own = control_segment(&terms);
        wire::send(&socket, &Hello::new(&terms).0, &[own.fd.as_fd()]).expect("send the hello");
        Self::agreed(socket, own, terms, offer)
    }

    /// A session with the side that sent this hello.
    pub(crate) fn agreed(
        socket: OwnedFd,
        own: Shared,
        terms: Terms,
        hello: wire::Received,
    ) -> Self {
        assert_eq!(hello.fds.len(), 1, "no session: {:?}", String::from_utf8_lossy(&hello.bytes));
        let honest = Terms::read(&hello.bytes);
        let view = Mapping::foreign(&hello.fds[0]);
        assert_eq!(view.len(), control::size(honest.ring_capacity));
        Self {
            socket,
            own: Arc::new(own),
            view,
            terms,
            honest,
            tail: 0,
            head: 0,
            rung: 0,
            payload: Vec::new(),
            foreign: Vec::new(),
            sent: VecDeque::new(),
        }
    }

    // ---- writing ----

    /// Where an entry of ours lies.
    pub(crate) fn slot(&self, position: u64) -> usize {
        let capacity = u64::from(self.terms.ring_capacity);
        control::RING_AT + entry::SIZE * (position % capacity) as usize
    }

    /// Writes an entry without committing it.
    pub(crate) fn write(&self, position: u64, entry: &Entry) {
        for (index, word) in entry.words().into_iter().enumerate() {
            self.own.map.store(self.slot(position) + 8 * (index + 1), word);
        }
    }

    /// Writes a sequence word, right or wrong.
    pub(crate) fn commit(&self, position: u64, sequence: u64) {
        self.own.map.store(self.slot(position), sequence);
    }

    /// Publishes an entry by the rules, and rings if the honest side wants that.
    pub(crate) fn publish(&mut self, entry: &Entry) {
        self.publish_silently(entry);
        fence(Ordering::SeqCst);
        if crossed(self.view.load(control::DATA_WAKE_AT), self.rung, self.tail) {
            self.ring();
        }
        self.rung = self.tail;
    }

    /// Publishes an entry without the doorbell.
    pub(crate) fn publish_silently(&mut self, entry: &Entry) {
        self.write(self.tail, entry);
        self.commit(self.tail, self.tail + 1);
        self.tail += 1;
    }

    /// Says by the rules how much was consumed, and rings if the honest side wants that.
    pub(crate) fn consume(&self) {
        let before = self.own.map.load(control::CONSUMED_AT);
        self.own.map.store(control::CONSUMED_AT, self.head);
        fence(Ordering::SeqCst);
        if crossed(self.view.load(control::SPACE_WAKE_AT), before, self.head) {
            self.ring();
        }
    }

    /// Sends a doorbell byte, wanted or not. A full socket or an ended session is no matter.
    pub(crate) fn ring(&self) {
        let _ = wire::send(&self.socket, &[socket::DOORBELL], &[]);
    }

    /// Sends a segment's descriptor, without announcing it.
    pub(crate) fn send_segment(&self, fd: impl AsFd) {
        let _ = wire::send(&self.socket, &[socket::SEGMENT], &[fd.as_fd()]);
    }

    /// Adds a payload segment by the rules.
    pub(crate) fn add_segment(&mut self, size: usize) -> Arc<Shared> {
        let shared = Arc::new(Shared::fit(size));
        self.send_segment(&shared.fd);
        self.publish(&Entry::segment_add(self.payload.len() as u32, size as u64));
        self.payload.push(Arc::clone(&shared));
        shared
    }

    // ---- reading ----

    /// The next entry of the honest side, if it is there.
    pub(crate) fn try_next(&mut self) -> Option<Seen> {
        let capacity = u64::from(self.honest.ring_capacity);
        let slot = control::RING_AT + entry::SIZE * (self.head % capacity) as usize;
        if self.view.load(slot) != self.head + 1 {
            return None;
        }
        self.head += 1;
        Some(Seen(self.view.read(slot..slot + entry::SIZE)))
    }

    /// Waits for the next entry of the honest side; `None` at the end of the session.
    pub(crate) fn next(&mut self) -> Option<Seen> {
        loop {
            self.own.map.store(control::DATA_WAKE_AT, self.head);
            fence(Ordering::SeqCst);
            if let Some(seen) = self.try_next() {
                return Some(seen);
            }
            if !self.listen() {
                return self.try_next();
            }
        }
    }

    /// Waits for bytes on the socket; false at the end of the session.
    fn listen(&mut self) -> bool {
        let received = wire::receive(&self.socket, 1);
        self.sent.extend(received.fds);
        !received.bytes.is_empty()
    }

    /// Waits for the next message, mapping the segments that come before it, and says that all of it was consumed.
    pub(crate) fn next_message(&mut self) -> Option<Seen> {
        loop {
            let seen = self.next()?;
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

    fn map_segment(&mut self) {
        while self.sent.is_empty() {
            assert!(self.listen(), "a segment was announced but not sent");
        }
        let fd = self.sent.pop_front().expect("just looked");
        self.foreign.push(Mapping::foreign(&fd));
    }

    /// The bytes of a message.
    pub(crate) fn bytes(&self, seen: &Seen) -> Vec<u8> {
        match seen.descriptor() {
            None => seen.body().to_vec(),
            Some(Descriptor { segment, offset, len, .. }) => {
                self.foreign[segment as usize].read(offset as usize..(offset + len) as usize)
            }
        }
    }

    /// Says by its bit that a payload of the honest side is no longer looked at.
    pub(crate) fn release(&self, lend: u32) {
        let at = control::RELEASED_AT + 8 * (lend as usize / 64);
        self.own.map.store(at, self.own.map.load(at) ^ 1 << (lend % 64));
    }

    /// Makes a call by the rules and gives the reply's bytes.
    pub(crate) fn call(&mut self, stream: u32, method: u32, body: &[u8]) -> Vec<u8> {
        self.publish(&Entry::request(stream, method, body));
        let seen = self.next_message().expect("the session ended instead of a reply");
        assert_eq!((seen.stream(), seen.flags() & !flag::LENT), (stream, flag::FIN), "{seen:?}");
        let bytes = self.bytes(&seen);
        if let Some(descriptor) = seen.descriptor() {
            self.release(descriptor.lend);
        }
        bytes
    }

    /// Waits until the honest side says that it consumed `count` entries.
    pub(crate) fn wait_consumed(&mut self, count: u64) {
        if count == 0 {
            return;
        }
        loop {
            self.own.map.store(control::SPACE_WAKE_AT, count - 1);
            fence(Ordering::SeqCst);
            if self.view.load(control::CONSUMED_AT) >= count {
                return;
            }
            assert!(self.listen(), "the session ended");
        }
    }

    /// Waits until the honest side ends the session.
    pub(crate) fn wait_for_end(&self) {
        while !wire::receive(&self.socket, 4096).is_end() {}
    }
}
