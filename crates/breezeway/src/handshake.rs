//! Exchanging hellos over the session socket: the only part of a session's life in which bytes and
//! descriptors cross the socket together.

mod memory;
mod receiver;

use std::io;
use std::os::fd::BorrowedFd;

use breezeway_os::scm;
use breezeway_os::{ForeignDescriptor, MemoryAccount, Waiting};
use breezeway_proto::connection::StreamTerms;
use breezeway_proto::hello::{Greeting, Hello, Refusal, encode_refusal};
use breezeway_proto::throttle::Throttle;
use breezeway_proto::validate::max_in_flight;
use breezeway_shm::statistics::{Description, Meter, Role};
use breezeway_shm::{ForeignControl, Limits, SEND_BUFFER};
use rustix::io::Errno;
use rustix::net::SendFlags;

use crate::carrier::plain::Write;
use crate::carrier::wire::{Wire, only};
use crate::carrier::{Carrier, MemoryLink, SocketLink};
use crate::connect;
use crate::error::{HandshakeError, SMALLEST_SEND_BUFFER, SegmentError, describe};
use crate::link::Link;
use crate::options::SessionOptions;
use memory::OwnMemory;

pub(crate) use memory::ReadyControl;
pub(crate) use receiver::GreetingReceiver;

/// The largest ring that a server creates to match a client's.
const LARGEST_MIRRORED_RING: u32 = 1024;
/// A hello, with the descriptor that came with it.
pub(crate) type Received = (Greeting, Option<ForeignDescriptor>);

/// A session that both sides agreed on.
pub(crate) struct Agreed {
    pub(crate) link: Link,
    /// The smaller `payload_cap`. A link may take less in one message.
    pub(crate) cap: u64,
    pub(crate) max_in_flight: usize,
    /// Terms for streams of this side, and of the peer.
    pub(crate) streams: [StreamTerms; 2],
    /// Length of the longest metadata block that this side, and that the peer, accepts.
    pub(crate) max_metadata: [u32; 2],
    /// Service number of the peer, from its hello.
    pub(crate) service: u16,
    /// True if the peer supports go-away entries.
    pub(crate) knows_go_away: bool,
    /// Limit on messages without replies in flight.
    pub(crate) throttle: Throttle,
}

impl Agreed {
    /// Returns true if this side's hello accepts streams or metadata.
    pub(crate) fn takes_streams(&self) -> bool {
        self.streams[0].max_streams > 0 || self.max_metadata[0] > 0
    }
}

/// Performs the client's side: sends the hello, and waits for the answer.
pub(crate) fn connect(
    wire: impl Into<Wire>,
    carrier: Carrier,
    options: &SessionOptions,
) -> Result<Agreed, HandshakeError> {
    let mut wire = wire.into();
    match greet(&mut wire, carrier, options) {
        Ok(settled) => Ok(settled.on(wire)),
        Err(error) => {
            // Closes it with all that a hostile server has sent, which may be slow.
            wire.close();
            Err(error)
        }
    }
}

fn greet(
    wire: &mut Wire,
    carrier: Carrier,
    options: &SessionOptions,
) -> Result<Settled, HandshakeError> {
    let terms = Hello { go_away: true, ..options.hello(carrier) };
    let own = OwnMemory::create(&terms, MemoryAccount::default(), &mut ReadyControl::default());
    let mut own = own.map_err(SegmentError)?;
    match send_greeting(wire, &terms.encode(), own.as_ref().map(OwnMemory::descriptor)) {
        // A server that refuses may have closed already; its answer can still be read.
        Ok(()) | Err(Errno::PIPE | Errno::CONNRESET) => {}
        Err(errno) => return Err(io::Error::from(errno).into()),
    }
    if let Some(own) = &mut own {
        // Done while the server is busy.
        own.prefault(options, terms.payload_cap);
    }
    let (greeting, fd) = GreetingReceiver::new(carrier).wait(wire, options.handshake_timeout)?;
    match greeting {
        Greeting::Welcome(peer_terms) => {
            let (theirs, ours) = (peer_terms.service, terms.service);
            if theirs != ours && theirs != 0 && ours != 0 {
                return Err(HandshakeError::Service { theirs, ours });
            }
            let agreement = Agreement { role: Role::Client, carrier, options, terms, peer_terms };
            let mut settled = agreement.settle(wire, own, fd)?;
            settled.prefault(options);
            Ok(settled)
        }
        Greeting::Refused { status, reason } => Err(HandshakeError::Refused { status, reason }),
    }
}

/// Performs the server's side, and waits for the client.
pub(crate) fn accept(
    wire: impl Into<Wire>,
    carrier: Carrier,
    options: &SessionOptions,
) -> Result<Agreed, HandshakeError> {
    let mut wire = wire.into();
    let received = GreetingReceiver::new(carrier).wait(&mut wire, options.handshake_timeout);
    let (account, mut ready) = (MemoryAccount::default(), ReadyControl::default());
    welcome(wire, carrier, options, account, &mut ready, received)
}

/// Performs the server's side once the client's hello has arrived, or has failed: answers, or
/// refuses with the reason. Memory of the session is charged to `account`; the segment in `ready`
/// may be used for it.
pub(crate) fn welcome(
    mut wire: Wire,
    carrier: Carrier,
    options: &SessionOptions,
    account: MemoryAccount,
    ready: &mut ReadyControl,
    received: Result<Received, HandshakeError>,
) -> Result<Agreed, HandshakeError> {
    let offer = Offer { carrier, options, account, ready };
    match received.and_then(|(greeting, fd)| offer.answer(&mut wire, greeting, fd)) {
        Ok(settled) => Ok(settled.on(wire)),
        Err(error) => {
            if let Some(refusal) = error.refusal() {
                refuse(&mut wire, refusal, &describe(&error));
            }
            wire.close();
            Err(error)
        }
    }
}

/// Inputs of a server's answer to a client.
struct Offer<'o> {
    carrier: Carrier,
    options: &'o SessionOptions,
    account: MemoryAccount,
    ready: &'o mut ReadyControl,
}

impl Offer<'_> {
    fn answer(
        self,
        wire: &mut Wire,
        greeting: Greeting,
        fd: Option<ForeignDescriptor>,
    ) -> Result<Settled, HandshakeError> {
        let Self { carrier, options, account, ready } = self;
        let Greeting::Welcome(peer_terms) = greeting else {
            return Err(HandshakeError::ClientRefuses);
        };
        let offer = options.hello(carrier);
        if peer_terms.memory != offer.memory {
            return Err(HandshakeError::Carrier(carrier));
        }
        let mirrored = peer_terms.ring_capacity.min(LARGEST_MIRRORED_RING);
        let terms = Hello { ring_capacity: mirrored.max(offer.ring_capacity), ..offer };
        let own = OwnMemory::create(&terms, account, ready).map_err(SegmentError)?;
        let agreement = Agreement { role: Role::Server, carrier, options, terms, peer_terms };
        let mut settled = agreement.settle(wire, own, fd)?;
        send_greeting(wire, &terms.encode(), settled.descriptor()).map_err(io::Error::from)?;
        // Done while the client is busy.
        settled.prefault(options);
        Ok(settled)
    }
}

/// Terms of both hellos.
struct Agreement<'o> {
    role: Role,
    carrier: Carrier,
    options: &'o SessionOptions,
    terms: Hello,
    peer_terms: Hello,
}

/// A session without its socket: no later step can fail.
struct Settled {
    memory: Option<(OwnMemory, ForeignControl)>,
    carrier: Carrier,
    limits: Limits,
    waiting: Waiting,
    throttle: Throttle,
    meter: Meter,
    max_in_flight: usize,
    streams: [StreamTerms; 2],
    max_metadata: [u32; 2],
    service: u16,
    knows_go_away: bool,
}

impl Agreement<'_> {
    fn settle(
        self,
        socket: &Wire,
        own: Option<OwnMemory>,
        fd: Option<ForeignDescriptor>,
    ) -> Result<Settled, HandshakeError> {
        let meter = self.meter(socket);
        let Self { carrier, options, terms, peer_terms, .. } = self;
        if terms.memory != peer_terms.memory {
            return Err(HandshakeError::Carrier(carrier));
        }
        let memory = match (own, fd) {
            (Some(own), Some(fd)) => {
                let (capacity, lends) = (peer_terms.ring_capacity, peer_terms.lend_count);
                let peer = ForeignControl::accept(fd, capacity, lends).map_err(SegmentError)?;
                let size = scm::widen_send_buffer(socket, SEND_BUFFER).map_err(io::Error::from)?;
                if size < SMALLEST_SEND_BUFFER {
                    return Err(HandshakeError::SendBuffer(size));
                }
                Some((own, peer))
            }
            (None, None) => None,
            (_, fd) => return Err(HandshakeError::Descriptors(fd.iter().len())),
        };
        Ok(Settled {
            memory,
            carrier,
            limits: options.limits(
                terms.payload_cap.min(peer_terms.payload_cap),
                [terms, peer_terms].iter().any(|hello| hello.streams.max_streams > 0),
            ),
            waiting: options.waiting(),
            throttle: Throttle::new(options.most_in_flight()),
            meter,
            max_in_flight: max_in_flight([terms.ring_capacity, peer_terms.ring_capacity]),
            streams: [terms, peer_terms].map(|hello| hello.streams),
            max_metadata: [terms, peer_terms].map(|hello| hello.max_metadata),
            service: peer_terms.service,
            knows_go_away: peer_terms.go_away || peer_terms.streams.max_streams > 0,
        })
    }

    /// Creates the meter of the session's counters.
    fn meter(&self, socket: &Wire) -> Meter {
        let [own, peer] = [&self.terms, &self.peer_terms];
        let rings = [own.ring_capacity, peer.ring_capacity];
        Meter::new(&Description {
            role: self.role,
            carrier: self.carrier.number(),
            policy: self.options.waiting().policy,
            shared: own.streams.max_streams > 0 || own.max_metadata > 0,
            peer: connect::peer(socket, self.carrier).ok(),
            cap: own.payload_cap.min(peer.payload_cap),
            rings: if own.memory { rings } else { [0; 2] },
            max_in_flight: max_in_flight(rings) as u64,
        })
    }
}

impl Settled {
    /// Creates payload memory in advance, up to the agreed cap.
    fn prefault(&mut self, options: &SessionOptions) {
        if let Some((own, _)) = &mut self.memory {
            own.prefault(options, self.limits.cap);
        }
    }

    /// Returns the descriptor that is sent with this side's hello.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.memory.as_ref().map(|(own, _)| own.descriptor())
    }

    /// Creates the session on its socket.
    fn on(self, wire: Wire) -> Agreed {
        let Self { memory, carrier, limits, waiting, meter, max_in_flight, .. } = self;
        let cap = limits.cap;
        let link = match (memory, wire) {
            (Some((own, peer)), Wire::Plain(socket)) => {
                let endpoint = own.into_endpoint(socket.into_owned(), peer, limits, meter);
                Link::in_memory(MemoryLink::new(endpoint, waiting))
            }
            (_, wire) => Link::on_socket(SocketLink::new(wire, carrier, cap, waiting, meter)),
        };
        let Self { streams, max_metadata, service, knows_go_away, throttle, .. } = self;
        Agreed { link, cap, max_in_flight, streams, max_metadata, service, knows_go_away, throttle }
    }
}

/// Sends a client the reason of its refusal. Best effort: the client may be gone, or may speak
/// another protocol.
pub(crate) fn refuse(wire: &mut Wire, refusal: Refusal, reason: &str) {
    let _ = send_greeting(wire, &encode_refusal(refusal, reason), None);
}

/// Sends a hello in one piece: a new socket has room for it.
fn send_greeting(wire: &mut Wire, bytes: &[u8], fd: Option<BorrowedFd<'_>>) -> Result<(), Errno> {
    let sent = match wire {
        Wire::Plain(socket) => {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            scm::send(socket, bytes, fd.as_slice(), flags)?
        }
        Wire::Tls(tls) => match tls.write(&only(bytes))? {
            Write::Bytes(len) => len,
            Write::Full => 0,
            Write::End => return Err(Errno::PIPE),
        },
    };
    if sent == bytes.len() { Ok(()) } else { Err(Errno::MSGSIZE) }
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotConnected {
            // The socket was connected a moment ago.
            return Self::Closed;
        }
        Self::Socket(error)
    }
}
