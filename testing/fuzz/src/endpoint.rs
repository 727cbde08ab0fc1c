//! One honest endpoint against a peer that rewrites its control segment between any two steps.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use arbitrary::Arbitrary;
use breezeway_adversary::native::layout::{control, entry, flag, kind};
use breezeway_adversary::native::{Descriptor, Entry, Ring, Terms};
use breezeway_adversary::offered::{File, Number};
use breezeway_adversary::{Shared, socket};
use breezeway_os::Deadline;
use breezeway_shm::{
    Body, ControlSegment, Endpoint, ForeignBytes, ForeignControl, Head, Limits, Message, SendError,
    SocketError, Space, Want,
};

use crate::typed;

/// Steps of the peer, and of the honest side.
#[derive(Arbitrary, Debug)]
enum Step {
    SetByte { at: u16, value: u8 },
    SetHeader { word: u8, value: Number },
    SetReleased { word: u8, value: u64 },
    SetConsumed { less: u8 },
    SetSequence { ahead: i8, value: Number, near: bool },
    Entry(Entry),
    UsedEntry { kind: u8, entry: Entry },
    Lend { flags: u8, stream: u32, descriptor: Descriptor },
    AddSegment { large: bool },
    SegmentEntry { kind: u8, number: u8, size: Number },
    Socket { bytes: [u8; 3], len: u8, fds: Vec<File> },
    HangUp,

    Take,
    Read { slice: (u16, u16), at: Number },
    ReleaseBody,
    Finish,
    Detach,
    ReadKept { index: u8, slice: (u16, u16), at: Number },
    EndLease { index: u8, elsewhere: bool },
    Reserve { len: u32 },
    Abandon,
    Write { body: bool },
    SendBack { stream: u32 },
    PublishSpace { stream: u32 },
    Publish { kind: u8, len: u8 },
    Flush,
    Refresh,
    PrepareSleep { want: u8, count: u8 },
    Sleep,
    Drain,
    Has { count: u8 },
}

#[derive(Arbitrary, Debug)]
struct Input {
    large_ring: bool,
    many_lends: bool,
    cap: u8,
    /// Bytes that the control segment begins with.
    head: Vec<u8>,
    steps: Vec<Step>,
}

struct Session {
    endpoint: Endpoint,
    ring: Ring,
    socket: UnixStream,
    segments: u32,
    space: Space,
    kept: Vec<Message>,
    cap: usize,
    capacity: u64,
}

/// The session is over, as it should be.
struct Over;

impl From<SocketError> for Over {
    fn from(error: SocketError) -> Self {
        assert!(!error.to_string().is_empty());
        Self
    }
}

impl From<breezeway_shm::Violation> for Over {
    fn from(violation: breezeway_shm::Violation) -> Self {
        assert!(!violation.to_string().is_empty());
        Self
    }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some(input) = typed::<Input>(data) else { return };
    let capacity = if input.large_ring { 64 } else { 8 };
    let lends = if input.many_lends { 1024 } else { 64 };
    let cap = [4096, 65_536, 1 << 20, 4 << 20][usize::from(input.cap % 4)];
    let (honest, socket) = UnixStream::pair().unwrap();
    let ring =
        Ring::new(&Terms { ring_capacity: capacity, lend_count: lends, payload_cap: cap as u64 });
    let head = &input.head[..input.head.len().min(ring.shared.len())];
    ring.shared.write(0, head);
    let (own, _fd) = ControlSegment::create(capacity, lends).unwrap();
    let fd = ring.shared.another_fd();
    let peer = ForeignControl::accept(fd, capacity, lends).unwrap();
    let endpoint = Endpoint::new(honest.into(), own, peer, Limits::new(cap as u64));
    let mut session = Session {
        endpoint,
        ring,
        socket,
        segments: 0,
        space: Space::none(),
        kept: Vec::new(),
        cap,
        capacity: capacity.into(),
    };
    // Fewer than fill the socket, which an honest side may wait a moment for.
    for step in input.steps.iter().take(200) {
        if session.step(step).is_err() {
            break;
        }
    }
}

/// Sends bytes with descriptors. A full socket, or one that the honest side closed, is ignored.
fn send(socket: &UnixStream, bytes: &[u8], fds: &[impl AsFd]) {
    let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
    let _ = socket::send(socket, bytes, &fds);
}

impl Session {
    fn step(&mut self, step: &Step) -> Result<(), Over> {
        let ring = &mut self.ring;
        match step {
            Step::SetByte { at, value } => {
                ring.shared.store_byte(usize::from(*at) % ring.shared.len(), *value);
            }
            Step::SetHeader { word, value } => {
                let words = [
                    control::CONSUMED_AT,
                    control::DATA_WAKE_AT,
                    control::SPACE_WAKE_AT,
                    control::CPU_AT,
                    control::RELEASE_WAKE_AT,
                ];
                ring.shared.store(words[usize::from(word % 5)], value.0);
            }
            Step::SetReleased { word, value } => {
                ring.shared.store(control::RELEASED_AT + 8 * usize::from(word % 16), *value);
            }
            Step::SetConsumed { less } => {
                let count = self.endpoint.published().saturating_sub((*less).into());
                ring.shared.store(control::CONSUMED_AT, count);
            }
            Step::SetSequence { ahead, value, near } => {
                let position = ring.tail.saturating_add_signed((*ahead).into());
                ring.commit(position, if *near { position + 1 } else { value.0 });
            }
            Step::Entry(entry) => ring.publish(entry),
            Step::UsedEntry { kind, entry } => {
                let likely = [kind::MESSAGE, kind::MESSAGE, kind::MESSAGE, kind::CANCEL];
                let kind = likely.get(usize::from(kind % 5)).copied().unwrap_or(kind::SHUTDOWN);
                let len = entry.len % (entry::BODY_MAX as u16 + 1);
                ring.publish(&Entry { kind, len, ..entry.clone() });
            }
            Step::Lend { flags, stream, descriptor } => {
                let message = Entry::request(*stream, 0, &[]).lending(*descriptor);
                ring.publish(&Entry { flags: flags | flag::LENT, ..message });
            }
            Step::AddSegment { large } => {
                let shared = Shared::fit(if *large { 65_536 } else { 4096 });
                send(&self.socket, &[1], &[&shared.fd]);
                ring.publish(&Entry::segment_add(self.segments, shared.len() as u64));
                self.segments += 1;
            }
            Step::SegmentEntry { kind, number, size } => {
                let kind = [kind::SEGMENT_ADD, kind::SEGMENT_RETIRE][usize::from(kind % 2)];
                ring.publish(&Entry::session(kind, (*number).into(), &size.0.to_le_bytes()));
            }
            Step::Socket { bytes, len, fds } => {
                let fds: Vec<_> = fds.iter().take(4).map(|fd| fd.open()).collect();
                send(&self.socket, &bytes[..1 + usize::from(len % 3)], &fds);
            }
            Step::HangUp => drop(self.socket.shutdown(std::net::Shutdown::Both)),
            honest => return self.honest_step(honest),
        }
        Ok(())
    }

    fn honest_step(&mut self, step: &Step) -> Result<(), Over> {
        let endpoint = &mut self.endpoint;
        match step {
            Step::Take => {
                if endpoint.take()? {
                    assert!(endpoint.entry().inline().len() <= 104);
                    assert!(endpoint.body().len() <= self.cap.max(104));
                }
            }
            Step::Read { slice, at } => read(endpoint.body(), *slice, at.0 as usize),
            Step::ReleaseBody => endpoint.release(),
            Step::Finish => endpoint.finish()?,
            Step::Detach => {
                if endpoint.has_current() {
                    let len = endpoint.body().len();
                    let message = endpoint.detach();
                    assert_eq!(message.len(), len);
                    self.kept.push(message);
                }
            }
            Step::ReadKept { index, slice, at } => {
                if let Some(message) = self.kept.get(usize::from(*index)) {
                    read(message.bytes(), *slice, at.0 as usize);
                }
            }
            Step::EndLease { index, elsewhere } => {
                if usize::from(*index) < self.kept.len() {
                    let message = self.kept.swap_remove(usize::from(*index));
                    if *elsewhere {
                        std::thread::spawn(|| drop(message)).join().unwrap();
                    }
                }
            }
            Step::Reserve { len } => {
                endpoint.abandon(&mut self.space);
                self.space = match endpoint.reserve(*len as usize % (self.cap + 2)) {
                    Ok(space) => space,
                    Err(SendError::Socket(error)) => return Err(error.into()),
                    Err(_) => Space::none(),
                };
            }
            Step::Abandon => endpoint.abandon(&mut self.space),
            Step::Write { body } => {
                let len = self.space.len();
                if *body && endpoint.body().len() <= len {
                    endpoint.fill(&mut self.space).write_received(0);
                } else {
                    endpoint.fill(&mut self.space).into_bytes().fill(0xa5);
                }
            }
            Step::SendBack { stream } => {
                sent(endpoint.send(head(kind::MESSAGE, *stream), Body::Received))?;
            }
            Step::PublishSpace { stream } => {
                if !self.space.is_empty() {
                    let head = head(kind::MESSAGE, *stream);
                    sent(endpoint.send(head, Body::Space(&mut self.space)))?;
                }
            }
            Step::Publish { kind, len } => {
                let kind = [kind::MESSAGE, kind::CANCEL, kind::SHUTDOWN][usize::from(kind % 3)];
                let body = [0x5a; 104];
                let body = Body::Bytes(&body[..usize::from(len % 105)]);
                sent(endpoint.send(head(kind, 1), body))?;
            }
            Step::Flush => endpoint.flush()?,
            Step::Refresh => endpoint.refresh()?,
            Step::PrepareSleep { want: wanted, count } => {
                endpoint.prepare_sleep(want(*wanted, *count), None)?;
            }
            Step::Sleep => endpoint.sleep(Deadline::after(Duration::ZERO))?,
            Step::Drain => endpoint.drain()?,
            Step::Has { count } => {
                endpoint.has(want(*count, *count))?;
                endpoint.shares_cpu();
                endpoint.is_closed();
            }
            _ => unreachable!("the peer's steps are done elsewhere"),
        }
        let held = self.endpoint.published() - self.endpoint.known_consumed();
        assert!(held <= self.capacity, "more entries than the ring holds");
        Ok(())
    }
}

/// A send that fails otherwise than by the socket has found no room.
fn sent(outcome: Result<(), SendError>) -> Result<(), Over> {
    if let Err(SendError::Socket(error)) = outcome { Err(error.into()) } else { Ok(()) }
}

fn head(kind: u8, stream: u32) -> Head {
    Head { kind, flags: flag::OPEN | flag::FIN, stream, tag: 0, time: 0 }
}

fn want(want: u8, count: u8) -> Want {
    let count = count.into();
    let memory = Want::Memory { consumed: count, back: count };
    [Want::Data, Want::Consumed(count), memory][usize::from(want % 3)]
}

/// Reads a body in every way there is.
fn read(body: ForeignBytes<'_>, (start, len): (u16, u16), at: usize) {
    let all = body.to_vec();
    assert_eq!(all.len(), body.len());
    let start = usize::from(start).min(all.len());
    let end = (start + usize::from(len)).min(all.len());
    assert_eq!(body.slice(start..end).to_vec(), all[start..end]);
    let inside = at.checked_add(8).is_some_and(|end| end <= all.len());
    assert_eq!(body.u64_le_at(at).is_some(), inside);
    let mut copy = vec![0; all.len()];
    body.copy_to(&mut copy);
    assert_eq!(copy, all);
    let mut read = Vec::new();
    body.reader().read_to_end(&mut read).unwrap();
    assert_eq!(read, all);
}
