//! Agreeing on a session: the client creates and names the regions, the server maps them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use breezeway_os::scm::{self, Received};
use breezeway_os::{Connection, Deadline, ForeignDescriptor, Peer, ready};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, getsockname, send};

use crate::core::Parts;
use crate::core::receiver::Receiver;
use crate::error::HandshakeError;
use crate::file_claim::{FileClaim, ProcessIdentity};
use crate::named_file::{FileName, NamedFile, open_named};
use crate::options::{ClientOptions, Memory, ServerOptions};
use crate::pool::Pool;
use crate::queue::{Consumer, Producer};
use crate::regions::{ForeignRegions, OwnRegions};
use crate::table::Role;
use crate::violation::Violation;
use crate::wire::{self, HEADER, Header, MessageType, V2, V3};

/// Performs the client's part.
pub(crate) fn connect(
    socket: OwnedFd,
    mut regions: OwnRegions<'_>,
    options: &ClientOptions,
) -> Result<Parts, HandshakeError> {
    let socket = Connection::from(socket);
    let exchange = Exchange::new(&socket, options.session.handshake_timeout);
    let peer = judge_peer(&socket, |peer| options.trust.covers(peer))?;
    let version = match &options.memory {
        Memory::FilesV2(_) => offer_files(&exchange, &regions, V2)?,
        Memory::FilesV3(_) => {
            agree_on_version(&exchange)?;
            offer_files(&exchange, &regions, V3)?
        }
        Memory::Memfd => {
            agree_on_version(&exchange)?;
            offer_memfds(&exchange, &regions)?
        }
    };
    if version == V3 {
        exchange.expect(MessageType::Mapped)?;
    }
    let [to_server, to_client] = regions.rings;
    let receiver = Receiver::new(Consumer::new(Arc::clone(&regions.queue), to_client));
    let producer = Producer::new(Arc::clone(&regions.queue), to_server);
    // A server of version 3 has both files open now; one of version 2 sends no answer, so its first
    // message must show it.
    let created = regions.take_created().filter(|_| version == V2);
    let OwnRegions { queue, buffer, .. } = regions;
    let (buffer, layout, pool) =
        (Arc::clone(&buffer.region), Arc::clone(&buffer.layout), Arc::clone(&buffer.pool));
    let (role, claims) = (Role::Client, None);
    Ok(Parts {
        role,
        version,
        socket,
        peer,
        queue,
        buffer,
        layout,
        pool,
        producer,
        receiver,
        created,
        claims,
    })
}

/// Agrees on the version: upstream does not answer a client that names a higher version than 3, so
/// 3 is sent, and the only one that can be agreed on.
fn agree_on_version(exchange: &Exchange<'_>) -> Result<(), HandshakeError> {
    exchange.send(&wire::bare(MessageType::Version, V3))?;
    let answer = exchange.expect(MessageType::Version)?;
    if answer.version < V3 {
        return Err(Violation::Version(answer.version).into());
    }
    Ok(())
}

fn offer_files(
    exchange: &Exchange<'_>,
    regions: &OwnRegions<'_>,
    version: u8,
) -> Result<u8, HandshakeError> {
    let [queue, buffer] = regions.names();
    exchange.send(&wire::names(MessageType::Files, version, queue, buffer))?;
    Ok(version)
}

fn offer_memfds(exchange: &Exchange<'_>, regions: &OwnRegions<'_>) -> Result<u8, HandshakeError> {
    let [queue, buffer] = regions.names();
    exchange.send(&wire::names(MessageType::Memfds, V3, queue, buffer))?;
    exchange.expect(MessageType::ReadyForDescriptors)?;
    if let Some([queue, buffer]) = regions.memfds() {
        // The opposite order of the names.
        exchange.send_descriptors(&[buffer.as_fd(), queue.as_fd()])?;
    }
    Ok(V3)
}

/// Performs the server's part.
pub(crate) fn accept(socket: OwnedFd, options: &ServerOptions) -> Result<Parts, HandshakeError> {
    let socket = Connection::from(socket);
    let exchange = Exchange::new(&socket, options.session.handshake_timeout);
    let peer = judge_peer(&socket, |peer| options.trust.covers(peer))?;
    let first = exchange.receive_header()?;
    let (version, offer) = match (first.version, first.kind) {
        (V2, MessageType::Files) => (V2, first),
        (V3, MessageType::Version) => {
            exchange.send(&wire::bare(MessageType::Version, V3))?;
            (V3, exchange.receive_header()?)
        }
        (V2 | V3, kind) => return Err(Violation::MessageType(kind as u8).into()),
        (version, _) => return Err(Violation::Version(version).into()),
    };
    let regions = match offer.kind {
        MessageType::Files => accept_files(&exchange, &offer, peer.as_ref(), options)?,
        MessageType::Memfds if version == V3 => accept_memfds(&exchange, &offer, options)?,
        kind => return Err(Violation::MessageType(kind as u8).into()),
    };
    if version == V3 {
        exchange.send(&wire::bare(MessageType::Mapped, V3))?;
    }
    let ForeignRegions { queue, buffer, rings: [to_server, to_client], layout, claims } = regions;
    let receiver = Receiver::new(Consumer::new(Arc::clone(&queue), to_server));
    let producer = Producer::new(Arc::clone(&queue), to_client);
    let (role, created) = (Role::Server, None);
    let pool = Arc::new(Mutex::new(Pool::new(Arc::clone(&buffer), Arc::clone(&layout))));
    Ok(Parts {
        role,
        version,
        socket,
        peer,
        queue,
        buffer,
        layout,
        pool,
        producer,
        receiver,
        created,
        claims,
    })
}

fn accept_files(
    exchange: &Exchange<'_>,
    offer: &Header,
    peer: Option<&Peer>,
    options: &ServerOptions,
) -> Result<ForeignRegions, HandshakeError> {
    let body = exchange.receive(wire::names_len(offer)?)?;
    let (queue, buffer) = wire::decode_names(&body)?;
    let owner = peer.and_then(|peer| peer.uid);
    if owner.is_none() && !options.files_of_unknown_users {
        return Err(HandshakeError::UnknownUser);
    }
    let process = peer.and_then(|peer| ProcessIdentity::of_client(exchange.socket, peer));
    let (queue_path, buffer_path) = (Path::new(&queue), Path::new(&buffer));
    let queue = open_named(queue_path, owner, &options.folders)?;
    let buffer = open_named(buffer_path, owner, &options.folders)?;
    // Before any part of them is read.
    let claims = [claim(queue_path, &queue, None)?, claim(buffer_path, &buffer, process)?];
    let mut regions = ForeignRegions::accept(&queue.file, &buffer.file, options)?;
    // Only files that were found to be regions.
    if options.remove_files {
        let name = |path, file| FileName::new(path, &options.folders, file);
        claims[0].remove_at_end(name(queue_path, &queue));
        claims[1].remove_at_end(name(buffer_path, &buffer));
    }
    regions.claims = Some(claims);
    Ok(regions)
}

fn claim(
    path: &Path,
    file: &NamedFile,
    shared_by: Option<ProcessIdentity>,
) -> Result<FileClaim, HandshakeError> {
    FileClaim::take(file.identity, shared_by).ok_or_else(|| HandshakeError::Path {
        path: path.to_owned(),
        reason: "is mapped by another session",
    })
}

/// Accepts memfds. Their names are labels, which nothing here depends on: regions belong to their
/// connection.
fn accept_memfds(
    exchange: &Exchange<'_>,
    offer: &Header,
    options: &ServerOptions,
) -> Result<ForeignRegions, HandshakeError> {
    let body = exchange.receive(wire::names_len(offer)?)?;
    wire::decode_names(&body)?;
    exchange.send(&wire::bare(MessageType::ReadyForDescriptors, V3))?;
    let [buffer, queue] = exchange.receive_descriptors()?;
    ForeignRegions::accept_passed(&queue, &buffer, options)
}

/// Returns the peer of a unix socket, if it is trusted.
fn judge_peer(
    socket: &OwnedFd,
    trusted: impl Fn(Option<&Peer>) -> bool,
) -> Result<Option<Peer>, HandshakeError> {
    let address = getsockname(socket).map_err(HandshakeError::io("getsockname"))?;
    let peer = if address.address_family() == AddressFamily::UNIX {
        let peer = Peer::of(socket);
        Some(peer.map_err(|cause| HandshakeError::Io { call: "getsockopt(SO_PEERCRED)", cause })?)
    } else {
        None
    };
    if trusted(peer.as_ref()) {
        return Ok(peer);
    }
    Err(HandshakeError::NotTrusted { user: peer.and_then(|peer| peer.uid) })
}

/// Exchange of bytes, with a common deadline.
struct Exchange<'a> {
    socket: &'a OwnedFd,
    deadline: Deadline,
}

impl<'a> Exchange<'a> {
    fn new(socket: &'a OwnedFd, timeout: Duration) -> Self {
        Self { socket, deadline: Deadline::after(timeout) }
    }

    fn expect(&self, kind: MessageType) -> Result<Header, HandshakeError> {
        let header = self.receive_header()?;
        if header.kind == kind {
            Ok(header)
        } else {
            Err(Violation::MessageType(header.kind as u8).into())
        }
    }

    fn receive_header(&self) -> Result<Header, HandshakeError> {
        let mut bytes = [0; HEADER];
        self.fill(&mut bytes)?;
        Ok(Header::decode(bytes)?)
    }

    /// Receives exactly `len` bytes, which the caller has bounded.
    fn receive(&self, len: usize) -> Result<Vec<u8>, HandshakeError> {
        let mut bytes = vec![0; len];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Fills `bytes` exactly: the bytes that follow belong to the session.
    fn fill(&self, mut bytes: &mut [u8]) -> Result<(), HandshakeError> {
        let mut unexpected = Vec::new();
        while !bytes.is_empty() {
            let received = self.receive_some(bytes, &mut unexpected)?;
            if !unexpected.is_empty() {
                return Err(Violation::UnexpectedDescriptors(unexpected.len()).into());
            }
            bytes = &mut bytes[received..];
        }
        Ok(())
    }

    fn send(&self, mut bytes: &[u8]) -> Result<(), HandshakeError> {
        while !bytes.is_empty() {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let sent = self.try_until(PollFlags::OUT, || send(self.socket, bytes, flags))?;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Sends descriptors, with exactly one byte, which the peer expects.
    fn send_descriptors(&self, descriptors: &[BorrowedFd<'_>]) -> Result<(), HandshakeError> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        self.try_until(PollFlags::OUT, || scm::send(self.socket, &[0], descriptors, flags))?;
        Ok(())
    }

    fn receive_descriptors(&self) -> Result<[ForeignDescriptor; 2], HandshakeError> {
        let mut descriptors = Vec::new();
        let bytes = self.receive_some(&mut [0], &mut descriptors)?;
        <[ForeignDescriptor; 2]>::try_from(descriptors).map_err(|descriptors| {
            Violation::Descriptors { descriptors: descriptors.len(), bytes }.into()
        })
    }

    /// Receives at least one byte, and the descriptors that came with the bytes.
    fn receive_some(
        &self,
        bytes: &mut [u8],
        descriptors: &mut Vec<ForeignDescriptor>,
    ) -> Result<usize, HandshakeError> {
        let received = self.try_until(PollFlags::IN, || {
            scm::receive(self.socket, bytes, descriptors, RecvFlags::DONTWAIT)
        })?;
        match received {
            Received { is_cut: true, .. } => Err(HandshakeError::descriptor_limit()),
            Received { bytes: 0, .. } => Err(HandshakeError::Closed),
            Received { bytes, .. } => Ok(bytes),
        }
    }

    /// Tries an operation whenever the socket is ready for it.
    fn try_until<T>(
        &self,
        events: PollFlags,
        mut operation: impl FnMut() -> Result<T, Errno>,
    ) -> Result<T, HandshakeError> {
        loop {
            match operation() {
                Err(Errno::AGAIN) => self.wait(events)?,
                Err(Errno::INTR) => {}
                outcome => return outcome.map_err(HandshakeError::io("the handshake's socket")),
            }
        }
    }

    fn wait(&self, events: PollFlags) -> Result<(), HandshakeError> {
        if self.deadline.has_passed() {
            return Err(HandshakeError::TimedOut);
        }
        match ready(self.socket, events, self.deadline).map_err(HandshakeError::io("poll"))? {
            true => Ok(()),
            false => Err(HandshakeError::TimedOut),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    use rustix::io::{FdFlags, fcntl_getfd};

    use super::*;
    use crate::options::Trust;
    use crate::slow_descriptor::{LINGER, slow_to_close};

    #[test]
    fn descriptors_that_come_are_not_inherited_over_exec() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (ours, theirs) = (OwnedFd::from(ours), OwnedFd::from(theirs));
        let timeout = Duration::from_secs(20);
        let inheritable: [OwnedFd; 2] = std::array::from_fn(|_| {
            rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::empty()).unwrap()
        });
        Exchange::new(&theirs, timeout)
            .send_descriptors(&inheritable.each_ref().map(AsFd::as_fd))
            .unwrap();
        for fd in Exchange::new(&ours, timeout).receive_descriptors().unwrap() {
            assert!(fcntl_getfd(&fd).unwrap().contains(FdFlags::CLOEXEC));
        }
    }

    /// Returns the server's error for a client that sends `messages`, and with its last byte
    /// descriptors that are slow to close. The client's own copies are closed before the server
    /// reads.
    fn judge_slow(messages: &[&[u8]]) -> (HandshakeError, Duration) {
        judge_slow_with(messages, SendFlags::empty())
    }

    fn judge_slow_with(messages: &[&[u8]], flags: SendFlags) -> (HandshakeError, Duration) {
        let (client, server) = UnixStream::pair().unwrap();
        let (slow, _other) = slow_to_close();
        for message in messages {
            send(&client, message, SendFlags::empty()).unwrap();
        }
        scm::send(&client, &[0], &[slow.as_fd(), slow.as_fd()], flags).unwrap();
        drop(slow);
        let start = Instant::now();
        let accepted = accept(server.into(), &ServerOptions::new(Trust::SameUser));
        (accepted.err().unwrap(), start.elapsed())
    }

    #[test]
    fn regions_that_are_slow_to_close_do_not_hold_the_handshake() {
        let names = wire::names(MessageType::Memfds, V3, "queue", "buffer");
        let (error, took) = judge_slow(&[&wire::bare(MessageType::Version, V3), &names]);
        let rule = Violation::NotInMemory("queue");
        assert!(matches!(&error, HandshakeError::Violation(found) if *found == rule), "{error}");
        assert!(took < LINGER, "refused after {took:?}");
    }

    #[test]
    fn unread_descriptors_do_not_delay_a_refusal() {
        let (error, took) = judge_slow(&[&[0xff; HEADER]]);
        assert!(matches!(&error, HandshakeError::Violation(_)), "{error}");
        assert!(took < LINGER, "refused after {took:?}");
    }

    #[test]
    fn unexpected_descriptors_do_not_delay_the_handshake() {
        let (error, took) = judge_slow(&[]);
        let rule = Violation::UnexpectedDescriptors(2);
        assert!(matches!(&error, HandshakeError::Violation(found) if *found == rule), "{error}");
        assert!(took < LINGER, "refused after {took:?}");
    }

    #[test]
    fn descriptors_with_an_urgent_byte_do_not_hold_the_handshake() {
        let (error, took) = judge_slow_with(&[], SendFlags::OOB);
        let rule = Violation::UnexpectedDescriptors(2);
        assert!(matches!(&error, HandshakeError::Violation(found) if *found == rule), "{error}");
        assert!(took < LINGER, "refused after {took:?}");
    }
}
