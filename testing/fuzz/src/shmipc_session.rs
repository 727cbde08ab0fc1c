//! A shmipc session, step by step: a hostile peer rewrites queue, lists and slices, puts elements,
//! writes on the socket and truncates its memory between any two steps of the honest side.

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use arbitrary::Arbitrary;
use breezeway_adversary::shmipc::buffers::{FIRST_SLICE, SLICE_HEADER_LEN, SMALL_LISTS};
use breezeway_adversary::shmipc::message::{WAKE, kind, message, names};
use breezeway_adversary::shmipc::region::{set, size};
use breezeway_adversary::shmipc::{Buffers, Ring, SliceHeader, buffers, queue};
use breezeway_adversary::socket;
use breezeway_shmipc::{
    ClientOptions, Deadline, ServerOptions, Session, SessionOptions, Stream, StreamError, Trust,
    WaitPolicy, WhenExhausted, WhenFull,
};
use rustix::fs::ftruncate;

use crate::typed;

#[derive(Arbitrary, Debug)]
enum Step {
    SetQueue {
        word: u8,
        value: Value,
    },
    SetList {
        list: u8,
        word: u8,
        value: Value,
    },
    SetSlice {
        slice: u8,
        word: u8,
        value: Value,
    },
    /// Takes a slice off the free list, by the rules, and sends bytes in it.
    Send {
        stream: u8,
        len: u8,
        status: u8,
    },
    Put {
        stream: u8,
        slice: u8,
        size: u16,
        start: u8,
        next: Option<u8>,
        flags: u8,
        status: u8,
    },
    PutAny {
        stream: Value,
        offset: Value,
        status: Value,
    },
    /// As many of the honest side's elements as there are, or as its queue holds: the peer may have
    /// written how many there are itself.
    TakeAll,
    Sleep,
    Wake,
    Fallback {
        stream: u8,
        status: u8,
        bytes: Vec<u8>,
    },
    Close {
        stream: u8,
    },
    Message {
        kind: u8,
        version: u8,
        body: Vec<u8>,
    },
    Bytes(Vec<u8>),
    ReadSocket,
    Truncate {
        queue: bool,
        len: u16,
    },
    HangUp,

    Accept,
    Open,
    Peek {
        which: u8,
        release: u16,
    },
    SendBack {
        which: u8,
        len: u16,
    },
    Reserve {
        which: u8,
        len: u16,
        fill: u16,
        grow: Option<u16>,
        commit: bool,
    },
    Forward(u8),
    Shutdown(u8),
    DropStream(u8),
    Look,
    CloseSession,
}

/// A number that is likely to matter.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Value {
    Small(u8),
    Slice(u8),
    Relative(u8),
    Near(u16),
    Last(u8),
    Any(u32),
}

/// Returns the offset of a slice of the peer's region: of both lists, in turn, or one behind the
/// last.
fn slice(which: u8) -> u32 {
    let (header, count, capacity) = SMALL_LISTS[usize::from(which % 2)];
    let index = u32::from(which / 2) % (count + 1);
    header as u32 + (FIRST_SLICE - 8) + index * (SLICE_HEADER_LEN + capacity)
}

impl Value {
    fn number(self) -> u32 {
        match self {
            Self::Small(value) => value.into(),
            Self::Slice(which) => slice(which),
            Self::Relative(which) => slice(which) - slice(which % 2),
            Self::Near(value) => value.into(),
            Self::Last(less) => u32::MAX - u32::from(less),
            Self::Any(value) => value,
        }
    }
}

#[derive(Arbitrary, Debug)]
struct Input {
    to_server: bool,
    fails_when_exhausted: bool,
    steps: Vec<Step>,
}

/// Returns options under which nothing waits.
pub(crate) fn session_options() -> SessionOptions {
    SessionOptions::new()
        .wait(WaitPolicy::Park)
        .when_full(WhenFull::Fail)
        .patience(Duration::ZERO)
        .max_streams(4)
        .fallback_limit(4096)
}

/// Small regions.
pub(crate) fn client_options() -> ClientOptions {
    ClientOptions::new(Trust::SameUser)
        .queue_capacity(queue::CAPACITY)
        .slices([(65_536, 50), (131_072, 50)])
}

struct Peer {
    socket: UnixStream,
    queue: Arc<OwnedFd>,
    buffer: Arc<OwnedFd>,
    outgoing: Ring,
    incoming: Ring,
    slices: Buffers,
}

/// Returns a server. Its client has offered its regions.
fn serve(options: SessionOptions) -> (Session, Peer) {
    let (honest, socket) = UnixStream::pair().unwrap();
    let (queue, buffer) = (Arc::new(queue::region()), Arc::new(buffers::small_region()));
    let say = |bytes: &[u8]| socket::send(&socket, bytes, &[]).unwrap();
    say(&message(3, kind::EXCHANGE_PROTOCOL_VERSION, &[]));
    say(&message(3, kind::SHARE_MEMORY_BY_MEMFD, &names("queue", "buffer")));
    socket::send(&socket, &[0], &[buffer.as_fd(), queue.as_fd()]).unwrap();
    let options = ServerOptions::new(Trust::SameUser).session(options);
    let session = Session::accept_over(honest.into(), &options).expect("a good handshake");
    let half = queue::SIZE / 2;
    let peer = Peer {
        socket,
        outgoing: Ring::new(&queue, 0),
        incoming: Ring::new(&queue, half),
        slices: Buffers::new(&buffer),
        queue,
        buffer,
    };
    (session, peer)
}

/// Returns a client. Its server has mapped its regions.
fn connect(options: SessionOptions) -> (Session, Peer) {
    let (honest, socket) = UnixStream::pair().unwrap();
    for kind in
        [kind::EXCHANGE_PROTOCOL_VERSION, kind::ACK_READY_RECEIVE_FD, kind::ACK_SHARE_MEMORY]
    {
        socket::send(&socket, &message(3, kind, &[]), &[]).unwrap();
    }
    let options = client_options().session(options);
    let session = Session::connect_over(honest.into(), &options).expect("a good handshake");
    let mut fds = Vec::new();
    while fds.is_empty() {
        fds = socket::receive(&socket, 1).fds;
    }
    let [buffer, queue]: [OwnedFd; 2] = fds.try_into().expect("two descriptors");
    let (queue, buffer) = (Arc::new(queue), Arc::new(buffer));
    let half = size(&queue) / 2;
    let peer = Peer {
        socket,
        outgoing: Ring::new(&queue, half),
        incoming: Ring::new(&queue, 0),
        slices: Buffers::new(&buffer),
        queue,
        buffer,
    };
    (session, peer)
}

struct Honest {
    session: Session,
    streams: Vec<Stream>,
    bytes: Vec<u8>,
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some(input) = typed::<Input>(data) else { return };
    let exhausted =
        if input.fails_when_exhausted { WhenExhausted::Fail } else { WhenExhausted::UseSocket };
    let options = session_options().when_exhausted(exhausted);
    let (session, mut peer) = if input.to_server { serve(options) } else { connect(options) };
    peer.socket.set_nonblocking(true).unwrap();
    let mut honest = Honest { session, streams: Vec::new(), bytes: vec![9; 1 << 16] };
    for step in input.steps.iter().take(200) {
        if !peer.step(step) {
            honest.step(step);
        }
    }
}

impl Peer {
    /// As much as the socket takes.
    fn send(&self, bytes: &[u8]) {
        let _ = socket::send(&self.socket, bytes, &[]);
    }

    /// Writes a word of a region, if it has so many.
    fn set(fd: &OwnedFd, at: u64, value: u32) {
        if at + 4 <= size(fd) {
            set(fd, at, value);
        }
    }

    /// Does a step of the peer's; returns false if it is the honest side's.
    fn step(&mut self, step: &Step) -> bool {
        match step {
            Step::SetQueue { word, value } => {
                Self::set(&self.queue, 4 * u64::from(*word), value.number());
            }
            Step::SetList { list, word, value } => {
                let (header, ..) = SMALL_LISTS[usize::from(list % 2)];
                Self::set(&self.buffer, header + 4 * u64::from(word % 9), value.number());
            }
            Step::SetSlice { slice: which, word, value } => {
                let at = u64::from(slice(*which)) + 4 * u64::from(word % 6);
                Self::set(&self.buffer, at, value.number());
            }
            Step::Send { stream, len, status } => {
                let at = FIRST_SLICE;
                let bytes = vec![7; usize::from(*len) % 61];
                self.fill(at, SliceHeader { capacity: 60, ..SliceHeader::of(&bytes) });
                self.put((*stream).into(), at, (*status).into());
                self.send(&WAKE);
            }
            Step::Put { stream, slice: which, size, start, next, flags, status } => {
                let capacity = SMALL_LISTS[usize::from(which % 2)].2;
                let header = SliceHeader {
                    capacity,
                    size: (*size).into(),
                    start: (*start).into(),
                    next: next.map_or(0, slice),
                    flags: (*flags).into(),
                };
                self.fill(slice(*which), header);
                self.put((*stream).into(), slice(*which), (*status).into());
            }
            Step::PutAny { stream, offset, status } => {
                self.put(stream.number(), offset.number(), status.number());
            }
            Step::TakeAll => {
                if self.is_whole() {
                    for _ in 0..queue::CAPACITY {
                        if self.incoming.try_take().is_none() {
                            break;
                        }
                    }
                }
            }
            Step::Sleep => {
                if self.is_whole() {
                    self.incoming.sleep();
                }
            }
            Step::Wake => self.send(&WAKE),
            Step::Fallback { stream, status, bytes } => {
                let (stream, status) = (u32::from(*stream), u32::from(*status));
                let body = [&stream.to_be_bytes()[..], &status.to_be_bytes(), bytes].concat();
                self.send(&message(3, kind::FALLBACK_DATA, &body));
            }
            Step::Close { stream } => {
                let stream = u32::from(*stream).to_be_bytes();
                self.send(&message(3, kind::STREAM_CLOSE, &stream));
            }
            Step::Message { kind, version, body } => self.send(&message(*version, *kind, body)),
            Step::Bytes(bytes) => self.send(bytes),
            Step::ReadSocket => {
                let _ = self.socket.read(&mut [0; 4096]);
            }
            Step::Truncate { queue, len } => {
                let fd = if *queue { &self.queue } else { &self.buffer };
                // Sealed ones stay as they are.
                let _ = ftruncate(fd, (*len).into());
            }
            Step::HangUp => {
                let _ = self.socket.shutdown(std::net::Shutdown::Both);
            }
            _ => return false,
        }
        true
    }

    /// Returns true if the queue was not truncated.
    fn is_whole(&self) -> bool {
        size(&self.queue) >= queue::SIZE
    }

    fn put(&mut self, stream: u32, offset: u32, status: u32) {
        if self.is_whole() {
            self.outgoing.put(stream, offset, status);
        }
    }

    fn fill(&self, at: u32, header: SliceHeader) {
        let end = u64::from(at) + u64::from(SLICE_HEADER_LEN);
        if end <= size(&self.buffer) {
            self.slices.fill(at, header, b"");
        }
    }
}

/// Checks that an error has a message.
fn judged<T>(outcome: Result<T, StreamError>) -> Option<T> {
    outcome.inspect_err(|error| assert!(!error.to_string().is_empty())).ok()
}

impl Honest {
    fn hold(&mut self, stream: Option<Stream>) {
        let Some(mut stream) = stream else { return };
        stream.set_read_timeout(Some(Duration::ZERO));
        stream.set_write_timeout(Some(Duration::ZERO));
        self.streams.push(stream);
    }

    fn step(&mut self, step: &Step) {
        let count = self.streams.len();
        let stream = |which: &u8| usize::from(*which).checked_rem(count);
        match step {
            Step::Accept => {
                let accepted = self.session.accept_until(Deadline::after(Duration::ZERO));
                self.hold(judged(accepted));
            }
            Step::Open => {
                let opened = self.session.open();
                self.hold(judged(opened));
            }
            Step::Peek { which, release } => {
                let Some(index) = stream(which) else { return };
                let stream = &mut self.streams[index];
                if let Some(Some(peeked)) = judged(stream.try_peek()) {
                    let len = peeked.to_vec().len();
                    stream.release(len.min((*release).into()));
                }
                stream.is_at_end();
            }
            Step::SendBack { which, len } => {
                let Some(index) = stream(which) else { return };
                judged(self.streams[index].send(&self.bytes[..usize::from(*len)]));
            }
            Step::Reserve { which, len, fill, grow, commit } => {
                let Some(index) = stream(which) else { return };
                let Some(mut space) = judged(self.streams[index].reserve((*len).into())) else {
                    return;
                };
                space.write(&self.bytes[..usize::from(*fill)]);
                if let Some(len) = grow {
                    judged(space.grow((*len).into()));
                }
                if *commit {
                    judged(space.commit());
                }
            }
            Step::Forward(which) => {
                let Some(index) = stream(which) else { return };
                let (reader, writer) = self.streams[index].halves();
                judged(writer.forward(reader));
            }
            Step::Shutdown(which) => {
                let Some(index) = stream(which) else { return };
                judged(self.streams[index].shutdown());
            }
            Step::DropStream(which) => {
                let Some(index) = stream(which) else { return };
                drop(self.streams.swap_remove(index));
            }
            Step::Look => {
                let looked = self.session.statistics();
                assert!(looked.streams <= 4 && looked.queue_depth <= queue::CAPACITY);
            }
            Step::CloseSession => self.session.close(),
            _ => unreachable!("the peer's steps are done elsewhere"),
        }
    }
}
