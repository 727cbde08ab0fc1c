//! A peer by hand that plays one side of a conversation, and notes the entries of both.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use breezeway::Carrier;
use breezeway_adversary::native::layout::{control, flag, hello, kind};
use breezeway_adversary::native::{
    self, Descriptor, Hello, Peer, Terms, control_segment, frame, receive_hello,
};
use breezeway_adversary::{Connection, Shared, socket};

use crate::support::{PATIENCE, eventually};

/// The longest body that lies in an entry.
const INLINE_MAX: usize = 104;
/// Bodies up to this length are noted byte by byte, and as text up to that one.
const SHOWN: usize = 16;
const TEXT: usize = 200;
/// Bytes of the peer's payload segment.
const SEGMENT: usize = 512 << 10;

const KINDS: [(u8, &str); 8] = [
    (kind::MESSAGE, "message"),
    (kind::RESET, "reset"),
    (kind::CANCEL, "cancel"),
    (kind::WINDOW, "window"),
    (kind::SEGMENT_ADD, "segment-add"),
    (kind::SEGMENT_RETIRE, "segment-retire"),
    (kind::GO_AWAY, "go-away"),
    (kind::SHUTDOWN, "shutdown"),
];

const FLAGS: [(u8, &str); 8] = [
    (flag::OPEN, "OPEN"),
    (flag::FIN, "FIN"),
    (flag::LENT, "LENT"),
    (flag::ERROR, "ERROR"),
    (flag::NO_REPLY, "NO_REPLY"),
    (flag::METADATA, "METADATA"),
    (flag::EMPTY, "EMPTY"),
    (flag::STREAM, "STREAM"),
];

/// One entry, whatever carries it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entry {
    kind: u8,
    flags: u8,
    pub(super) stream: u32,
    tag: u32,
    time: u16,
    /// The lend number that is released.
    released: Option<u32>,
    body: Vec<u8>,
    place: Option<Descriptor>,
}

/// Entries that the peer may send.
impl Entry {
    fn of(kind: u8, stream: u32, tag: u32, body: &[u8]) -> Self {
        Self { kind, stream, tag, body: body.to_vec(), ..Self::default() }
    }

    fn message(flags: u8, stream: u32, tag: u32, body: &[u8]) -> Self {
        Self { flags, ..Self::of(kind::MESSAGE, stream, tag, body) }
    }

    pub(super) fn request(stream: u32, method: u32, body: &[u8]) -> Self {
        Self::message(flag::OPEN | flag::FIN, stream, method, body)
    }

    pub(super) fn one_way(stream: u32, method: u32, body: &[u8]) -> Self {
        Self::message(flag::OPEN | flag::FIN | flag::NO_REPLY, stream, method, body)
    }

    /// A reply, or the last message of a stream.
    pub(super) fn reply(stream: u32, body: &[u8]) -> Self {
        Self::message(flag::FIN, stream, 0, body)
    }

    pub(super) fn failure(stream: u32, code: u32, reason: &[u8]) -> Self {
        Self::message(flag::FIN | flag::ERROR, stream, code, reason)
    }

    pub(super) fn open(stream: u32, method: u32, body: &[u8]) -> Self {
        Self::message(flag::OPEN | flag::STREAM, stream, method, body)
    }

    pub(super) fn next(stream: u32, body: &[u8]) -> Self {
        Self::message(0, stream, 0, body)
    }

    /// The last entry of a stream, without a message.
    pub(super) fn fin(stream: u32) -> Self {
        Self::message(flag::FIN | flag::EMPTY, stream, 0, &[])
    }

    /// Returns the same message as the last of its side.
    pub(super) fn last(self) -> Self {
        Self { flags: self.flags | flag::FIN, ..self }
    }

    pub(super) fn window(stream: u32, messages: u32, bytes: u64) -> Self {
        Self::of(kind::WINDOW, stream, messages, &bytes.to_le_bytes())
    }

    pub(super) fn reset(stream: u32, code: u32) -> Self {
        Self::of(kind::RESET, stream, code, &[])
    }

    pub(super) fn cancel(stream: u32) -> Self {
        Self::of(kind::CANCEL, stream, 0, &[])
    }

    pub(super) fn go_away() -> Self {
        Self::of(kind::GO_AWAY, 0, 0, &[])
    }

    pub(super) fn shutdown() -> Self {
        Self::of(kind::SHUTDOWN, 0, 0, &[])
    }

    pub(super) fn metadata(self, block: &[u8]) -> Self {
        let len = (block.len() as u16).to_le_bytes();
        let body = [&len[..], block, &self.body].concat();
        Self { flags: self.flags | flag::METADATA, body, ..self }
    }

    pub(super) fn time(self, coded: u16) -> Self {
        Self { time: coded, ..self }
    }

    /// Releases a lend number of the honest side with this entry, where there is one.
    pub(super) fn releasing(self, of: &Self) -> Self {
        Self { released: of.place.map(|place| place.lend), ..self }
    }

    fn lend(&self) -> u32 {
        self.place.expect("it was lent").lend
    }

    /// The body as a number.
    fn number(&self) -> String {
        let bytes = self.body[..].try_into().expect("8 bytes");
        u64::from_le_bytes(bytes).to_string()
    }

    /// Returns true if two entries differ in their numbers at most.
    fn is_like(&self, other: &Self) -> bool {
        Self { stream: other.stream, ..self.clone() } == *other
    }

    fn line(&self) -> String {
        let names = |table: &[(u8, &'static str)], is: &dyn Fn(u8) -> bool| {
            let found = table.iter().filter(|(value, _)| is(*value)).map(|(_, name)| *name);
            found.collect::<Vec<_>>().join("|")
        };
        let mut line = names(&KINDS, &|kind| kind == self.kind);
        assert!(!line.is_empty(), "kind {}", self.kind);
        let flags = names(&FLAGS, &|flag| self.flags & flag != 0);
        if !flags.is_empty() {
            line = format!("{line} {flags}");
        }
        let mut field = |name: &str, value: u32| {
            if value != 0 {
                write!(line, " {name} {value}").expect("a string takes everything");
            }
        };
        field("stream", self.stream);
        field("tag", self.tag);
        field("time", self.time.into());
        if let Some(lend) = self.released {
            line = format!("{line} releases {lend}");
        }
        let body = match self.kind {
            kind::WINDOW | kind::SEGMENT_ADD => self.number(),
            _ => bytes(&self.body),
        };
        line = format!("{line}: {body}");
        if let Some(Descriptor { segment, lend, offset, .. }) = self.place {
            line = format!("{line} at {segment}+{offset} lend {lend}");
        }
        line
    }
}

/// A body as it is noted.
fn bytes(body: &[u8]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match body.len() {
        0 => "-".to_owned(),
        1..=TEXT if body.iter().all(|byte| matches!(byte, b' '..=b'~')) => {
            format!("\"{}\"", String::from_utf8_lossy(body))
        }
        1..=SHOWN => hex(body),
        len => format!("{len} bytes, fnv {:016x}", fnv(body)),
    }
}

/// The checksum FNV-1a of 64 bits.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Bytes of a message that differs from those of other seeds.
pub(super) fn pattern(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|at| seed.wrapping_mul(31).wrapping_add((at % 251) as u8)).collect()
}

/// The peer's hello.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub(super) ring: u32,
    pub(super) cap: u64,
    /// Streams that the peer may open.
    pub(super) streams: u16,
    /// Messages and bytes of a stream's window.
    pub(super) window: (u32, u64),
    pub(super) metadata: u32,
    pub(super) features: u32,
}

impl Offer {
    /// Offer of a peer that takes plain calls only.
    pub(super) const PLAIN: Self =
        Self { ring: 64, cap: 1 << 20, streams: 0, window: (0, 0), metadata: 0, features: 1 };
    /// Offer of a peer that takes streams.
    pub(super) const STREAMS: Self =
        Self { streams: 2, window: (4, 1000), metadata: 64, ..Self::PLAIN };

    fn terms(self) -> Terms {
        Terms { ring_capacity: self.ring, payload_cap: self.cap, ..Terms::default() }
    }

    fn hello(self, carrier: Carrier) -> Hello {
        let said = Hello::new(&self.terms())
            .with(hello::FEATURES_AT, &self.features.to_le_bytes())
            .with(hello::STREAM_MESSAGES_AT, &self.window.0.to_le_bytes())
            .with(hello::STREAM_BYTES_AT, &self.window.1.to_le_bytes())
            .with(hello::MAX_STREAMS_AT, &self.streams.to_le_bytes())
            .with(hello::MAX_METADATA_AT, &self.metadata.to_le_bytes());
        if carrier == Carrier::Shm { said } else { said.with(hello::CONTROL_SIZE_AT, &[0; 8]) }
    }
}

/// Carrier of the peer's entries.
enum Wire {
    Memory(Box<Peer>),
    Socket(Connection),
}

use Wire::{Memory, Socket};

/// A peer with its session.
pub(super) struct Script {
    wire: Wire,
    is_client: bool,
    lines: String,
    /// Entries since the last line that are like it but for their numbers.
    alike: usize,
    /// True once the peer has ended the connection.
    has_ended: bool,
    /// The honest side's release bits as they were noted last.
    bits: [u64; control::RELEASED_LEN / 8],
    /// The peer's payload segment, and the next offset and lend number in it.
    payload: Option<(Arc<Shared>, usize, u32)>,
}

impl Script {
    /// A server, once the client's hello has come.
    pub(super) fn server(connection: Connection, carrier: Carrier, offer: Offer) -> Self {
        connection.set_read_timeout(PATIENCE);
        connection.set_write_timeout(PATIENCE);
        let received = receive_hello(&connection);
        let theirs = received.bytes.clone();
        let wire = if carrier == Carrier::Shm {
            let socket = OwnedFd::from(connection);
            let own = control_segment(&offer.terms());
            socket::send(&socket, &offer.hello(carrier).0, &[own.fd.as_fd()]).expect("an answer");
            Memory(Box::new(Peer::agreed(socket, own, offer.terms(), received)))
        } else {
            (&connection).write_all(&offer.hello(carrier).0).expect("an answer");
            Socket(connection)
        };
        Self::of(wire, false, &theirs)
    }

    /// A client, once the server's hello has come.
    pub(super) fn client(connection: Connection, carrier: Carrier, offer: Offer) -> Self {
        connection.set_read_timeout(PATIENCE);
        connection.set_write_timeout(PATIENCE);
        if carrier != Carrier::Shm {
            (&connection).write_all(&offer.hello(carrier).0).expect("a hello");
            let theirs = receive_hello(&connection).bytes;
            return Self::of(Socket(connection), true, &theirs);
        }
        let socket = OwnedFd::from(connection);
        let own = control_segment(&offer.terms());
        socket::send(&socket, &offer.hello(carrier).0, &[own.fd.as_fd()]).expect("a hello");
        let received = receive_hello(&socket);
        let theirs = received.bytes.clone();
        Self::of(
            Memory(Box::new(Peer::agreed(socket, own, offer.terms(), received))),
            true,
            &theirs,
        )
    }

    fn of(wire: Wire, is_client: bool, theirs: &[u8]) -> Self {
        let mut script = Self {
            wire,
            is_client,
            lines: String::new(),
            alike: 0,
            has_ended: false,
            bits: Default::default(),
            payload: None,
        };
        let hex: String = theirs.iter().map(|byte| format!("{byte:02x}")).collect();
        script.note(!is_client, &format!("hello {hex}"));
        script
    }

    pub(super) fn is_shm(&self) -> bool {
        matches!(self.wire, Memory(_))
    }

    pub(super) fn into_lines(mut self) -> String {
        std::mem::take(&mut self.lines)
    }

    fn note(&mut self, by_client: bool, line: &str) {
        if self.alike > 0 {
            writeln!(self.lines, "  and {} alike", self.alike).expect("a string takes everything");
            self.alike = 0;
        }
        let direction = if by_client { '>' } else { '<' };
        writeln!(self.lines, "{direction} {line}").expect("a string takes everything");
    }

    /// Sends an entry. In shared memory a long body is lent.
    pub(super) fn sends(&mut self, entry: Entry) {
        let mut entry = entry;
        match &mut self.wire {
            Socket(_) => entry.released = None,
            Memory(_) if entry.body.len() > INLINE_MAX => {
                let place = self.place(&entry.body);
                (entry.place, entry.flags) = (Some(place), entry.flags | flag::LENT);
            }
            Memory(_) => {}
        }
        self.note(self.is_client, &entry.line());
        self.publish(&entry);
    }

    fn publish(&mut self, entry: &Entry) {
        let &Entry { kind, flags, stream, tag, time, .. } = entry;
        match &mut self.wire {
            Memory(peer) => {
                let body = entry.place.map_or_else(|| entry.body.clone(), |place| place.bytes());
                let (len, released) = (body.len() as u16, entry.released);
                let released = released.map_or(0, |lend| lend as u16 + 1);
                peer.publish(&native::Entry {
                    kind,
                    flags,
                    len,
                    stream,
                    tag,
                    released,
                    time,
                    body,
                });
            }
            Socket(connection) => {
                let len = entry.body.len() as u32;
                let header = frame::Header { len, kind, flags, time, stream, tag };
                let sent = [&header.bytes()[..], &entry.body].concat();
                connection.write_all(&sent).expect("the peer reads");
            }
        }
    }

    /// Writes a body where no other lies.
    fn place(&mut self, body: &[u8]) -> Descriptor {
        let Memory(peer) = &mut self.wire else { unreachable!("sockets lend nothing") };
        if self.payload.is_none() {
            self.payload = Some((peer.add_segment(SEGMENT), 0, 0));
            let line = Entry::of(kind::SEGMENT_ADD, 0, 0, &(SEGMENT as u64).to_le_bytes()).line();
            self.note(self.is_client, &line);
        }
        let (segment, offset, lend) = self.payload.as_mut().expect("it is there now");
        segment.write(*offset, body);
        let len = body.len() as u64;
        let place = Descriptor { segment: 0, lend: *lend, offset: *offset as u64, len };
        (*offset, *lend) = (*offset + body.len().next_multiple_of(128), *lend + 1);
        place
    }

    /// Waits for the next entry of the honest side; `None` at its end.
    fn next(&mut self) -> Option<Entry> {
        match &mut self.wire {
            Memory(peer) => {
                let seen = peer.next_entry()?;
                peer.consume();
                if seen.kind() == kind::SEGMENT_ADD {
                    peer.map_segment();
                }
                let place = (seen.kind() == kind::MESSAGE).then(|| seen.descriptor()).flatten();
                let body = if place.is_some() { peer.bytes(&seen) } else { seen.body().to_vec() };
                let released = seen.released().checked_sub(1).map(u32::from);
                Some(Entry {
                    kind: seen.kind(),
                    flags: seen.flags(),
                    stream: seen.stream(),
                    tag: seen.tag(),
                    time: seen.time(),
                    released,
                    body,
                    place,
                })
            }
            Socket(connection) => {
                let (header, body) = frame::next(connection).expect("the honest side is silent")?;
                let frame::Header { kind, flags, time, stream, tag, .. } = header;
                Some(Entry { kind, flags, stream, tag, time, body, ..Entry::default() })
            }
        }
    }

    /// Reads so many entries of the honest side, and gives the last. Those about segments, of which
    /// there are none on sockets, come on top.
    #[track_caller]
    pub(super) fn reads(&mut self, count: usize) -> Entry {
        let mut last = Entry::default();
        let mut left = count;
        while left > 0 {
            let Some(entry) = self.next() else { panic!("{left} entries are missing") };
            self.note(!self.is_client, &entry.line());
            left -= usize::from(!matches!(entry.kind, kind::SEGMENT_ADD | kind::SEGMENT_RETIRE));
            last = entry;
        }
        last
    }

    /// Reads so many entries that differ in their numbers at most, but for those about segments,
    /// and notes how many lie between these.
    pub(super) fn reads_alike(&mut self, count: usize) {
        let first = self.reads(1);
        let mut left = count - 1;
        while left > 0 {
            let entry = self.next().expect("as many as are waited for");
            if entry.is_like(&first) {
                self.alike += 1;
                left -= 1;
            } else {
                self.note(!self.is_client, &entry.line());
            }
        }
    }

    /// Sends an entry that differs from the one before in its number at most.
    pub(super) fn sends_alike(&mut self, entry: &Entry) {
        self.publish(entry);
        self.alike += 1;
    }

    /// Reads entries up to the end of the connection.
    pub(super) fn reads_end(&mut self) {
        if self.has_ended {
            return; // The last entries of the honest side may come too late to be seen.
        }
        while let Some(entry) = self.next() {
            self.note(!self.is_client, &entry.line());
        }
        self.note(!self.is_client, "end");
    }

    /// Ends the connection.
    pub(super) fn ends(&mut self) {
        self.has_ended = true;
        self.note(self.is_client, "end");
        match &self.wire {
            Memory(peer) => rustix::net::shutdown(&peer.socket, rustix::net::Shutdown::Both)
                .expect("a connection"),
            Socket(connection) => connection.shutdown(Shutdown::Both).expect("a connection"),
        }
    }

    /// Releases by its bit what the honest side has lent with this entry.
    pub(super) fn releases(&mut self, entry: &Entry) {
        if let Memory(peer) = &mut self.wire {
            let lend = entry.lend();
            peer.release(lend);
            self.note(self.is_client, &format!("bit {lend}"));
        }
    }

    /// Notes which bits the honest side has flipped since this was asked last.
    pub(super) fn notes_bits(&mut self) {
        for lend in self.flipped() {
            self.bits[lend / 64] ^= 1 << (lend % 64);
            self.note(!self.is_client, &format!("bit {lend}"));
        }
    }

    /// Waits until the honest side has flipped a bit, and notes it.
    pub(super) fn awaits_bit(&mut self) {
        if self.is_shm() {
            eventually("a release", || !self.flipped().is_empty());
            self.notes_bits();
        }
    }

    fn flipped(&self) -> Vec<usize> {
        let Memory(peer) = &self.wire else { return Vec::new() };
        let word = |at: usize| peer.view.load(control::RELEASED_AT + 8 * at) ^ self.bits[at];
        (0..64 * self.bits.len()).filter(|lend| word(lend / 64) & 1 << (lend % 64) != 0).collect()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("so far:\n{}", self.lines);
        }
    }
}

/// Runs the peer's part on another thread while the honest side waits for it on this one.
pub(super) fn meanwhile<T>(
    peer: &mut Script,
    plays: impl FnOnce(&mut Script) + Send,
    waits: impl FnOnce() -> T,
) -> T {
    std::thread::scope(|scope| {
        let playing = scope.spawn(|| plays(peer));
        let outcome = waits();
        playing.join().expect("the script");
        outcome
    })
}
