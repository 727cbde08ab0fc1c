//! Agreeing on a session: who connected makes and names the regions, who accepted maps them.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use breezeway_os::Peer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, getsockname, recv, recvmsg, send, sendmsg,
};

use crate::core::Parts;
use crate::created::CreatedFiles;
use crate::error::HandshakeError;
use crate::options::{ClientOptions, Memory, ServerOptions};
use crate::queue::{Consumer, Producer};
use crate::receiver::Receiver;
use crate::regions::{ForeignRegions, OwnRegions, open_foreign};
use crate::table::Role;
use crate::violation::Violation;
use crate::wire::{self, HEADER, Header, Kind, V2, V3};

/// Room for descriptors: more than the two that are allowed, so that surplus ones are seen.
const DESCRIPTOR_ROOM: usize = 8;

/// The client's part.
pub(crate) fn connect(
    socket: OwnedFd,
    regions: OwnRegions,
    options: &ClientOptions,
) -> Result<Parts, HandshakeError> {
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
        exchange.expect(Kind::Mapped)?;
    }
    let [to_server, to_client] = regions.rings;
    let receiver = Receiver::new(Consumer::new(Arc::clone(&regions.queue), to_client));
    let producer = Producer::new(Arc::clone(&regions.queue), to_server);
    // A server of version 3 has both files open now; one of version 2 says nothing, so its first
    // message must tell.
    let created = regions.created.filter(|_| version == V2);
    let OwnRegions { queue, buffer, layout, .. } = regions;
    let role = Role::Client;
    Ok(Parts { role, version, socket, peer, queue, buffer, layout, producer, receiver, created })
}

/// A client that names a higher version than 3 gets no answer from upstream, so 3 is what we say,
/// and all that can be agreed on.
fn agree_on_version(exchange: &Exchange<'_>) -> Result<(), HandshakeError> {
    exchange.send(&wire::bare(Kind::Version, V3))?;
    let answer = exchange.expect(Kind::Version)?;
    if answer.version < V3 {
        return Err(Violation::Version(answer.version).into());
    }
    Ok(())
}

fn offer_files(
    exchange: &Exchange<'_>,
    regions: &OwnRegions,
    version: u8,
) -> Result<u8, HandshakeError> {
    let names = &regions.names;
    exchange.send(&wire::names(Kind::Files, version, &names.queue, &names.buffer))?;
    Ok(version)
}

fn offer_memfds(exchange: &Exchange<'_>, regions: &OwnRegions) -> Result<u8, HandshakeError> {
    let names = &regions.names;
    exchange.send(&wire::names(Kind::Memfds, V3, &names.queue, &names.buffer))?;
    exchange.expect(Kind::ReadyForDescriptors)?;
    if let Some([queue, buffer]) = &regions.memfds {
        // The opposite order of the names.
        exchange.send_descriptors(&[buffer.as_fd(), queue.as_fd()])?;
    }
    Ok(V3)
}

/// The server's part.
pub(crate) fn accept(socket: OwnedFd, options: &ServerOptions) -> Result<Parts, HandshakeError> {
    let exchange = Exchange::new(&socket, options.session.handshake_timeout);
    let peer = judge_peer(&socket, |peer| options.trust.covers(peer))?;
    let first = exchange.receive_header()?;
    let (version, offer) = match (first.version, first.kind) {
        (V2, Kind::Files) => (V2, first),
        (V3, Kind::Version) => {
            exchange.send(&wire::bare(Kind::Version, V3))?;
            (V3, exchange.receive_header()?)
        }
        (V2 | V3, kind) => return Err(Violation::MessageType(kind as u8).into()),
        (version, _) => return Err(Violation::Version(version).into()),
    };
    let (regions, created) = match offer.kind {
        Kind::Files => accept_files(&exchange, &offer, peer.as_ref(), options)?,
        Kind::Memfds if version == V3 => (accept_memfds(&exchange, &offer, options)?, None),
        kind => return Err(Violation::MessageType(kind as u8).into()),
    };
    if version == V3 {
        exchange.send(&wire::bare(Kind::Mapped, V3))?;
    }
    let ForeignRegions { queue, buffer, rings: [to_server, to_client], layout } = regions;
    let receiver = Receiver::new(Consumer::new(Arc::clone(&queue), to_server));
    let producer = Producer::new(Arc::clone(&queue), to_client);
    let role = Role::Server;
    Ok(Parts { role, version, socket, peer, queue, buffer, layout, producer, receiver, created })
}

fn accept_files(
    exchange: &Exchange<'_>,
    offer: &Header,
    peer: Option<&Peer>,
    options: &ServerOptions,
) -> Result<(ForeignRegions, Option<CreatedFiles>), HandshakeError> {
    let body = exchange.receive(wire::names_len(offer)?)?;
    let (queue, buffer) = wire::decode_names(&body)?;
    let owner = peer.and_then(|peer| peer.uid);
    let queue = open_foreign(&queue, owner, options)?;
    let buffer = open_foreign(&buffer, owner, options)?;
    let regions = ForeignRegions::accept(&queue.file, &buffer.file, options)?;
    // Only what was found to be regions, and to belong to the client's user, which may remove it
    // anyway.
    let adopted = (options.remove_files && owner.is_some()).then(|| {
        let mut adopted = CreatedFiles::new();
        adopted.adopt(queue);
        adopted.adopt(buffer);
        adopted
    });
    Ok((regions, adopted))
}

/// The names are labels, which nothing here depends on: regions belong to their connection.
fn accept_memfds(
    exchange: &Exchange<'_>,
    offer: &Header,
    options: &ServerOptions,
) -> Result<ForeignRegions, HandshakeError> {
    let body = exchange.receive(wire::names_len(offer)?)?;
    wire::decode_names(&body)?;
    exchange.send(&wire::bare(Kind::ReadyForDescriptors, V3))?;
    let [buffer, queue] = exchange.receive_descriptors()?;
    ForeignRegions::accept_passed(&queue, &buffer, options)
}

/// Who is on the other side of a unix socket, if that may be.
fn judge_peer(
    socket: &OwnedFd,
    trusted: impl Fn(Option<&Peer>) -> bool,
) -> Result<Option<Peer>, HandshakeError> {
    let address = getsockname(socket).map_err(HandshakeError::io("getsockname"))?;
    let peer = if address.address_family() == AddressFamily::UNIX {
        let peer = Peer::of(socket);
        Some(peer.map_err(|source| HandshakeError::Io { call: "getsockopt(SO_PEERCRED)", source })?)
    } else {
        None
    };
    if trusted(peer.as_ref()) { Ok(peer) } else { Err(HandshakeError::NotTrusted) }
}

/// Bytes to and fro, all of them until one moment.
struct Exchange<'a> {
    socket: &'a OwnedFd,
    deadline: Instant,
}

impl<'a> Exchange<'a> {
    fn new(socket: &'a OwnedFd, timeout: Duration) -> Self {
        let now = Instant::now();
        let deadline = now.checked_add(timeout).unwrap_or(now + Duration::from_secs(3600));
        Self { socket, deadline }
    }

    fn expect(&self, kind: Kind) -> Result<Header, HandshakeError> {
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

    /// Exactly so many bytes, which the caller has bounded.
    fn receive(&self, len: usize) -> Result<Vec<u8>, HandshakeError> {
        let mut bytes = vec![0; len];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Not one byte more than asked for: what follows belongs to the session.
    fn fill(&self, mut bytes: &mut [u8]) -> Result<(), HandshakeError> {
        while !bytes.is_empty() {
            let received = self.try_until(PollFlags::IN, || {
                recv(self.socket, &mut *bytes, RecvFlags::DONTWAIT).map(|(count, _)| count)
            })?;
            if received == 0 {
                return Err(HandshakeError::Closed);
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

    /// Descriptors travel with exactly one byte, which the other side expects.
    fn send_descriptors(&self, descriptors: &[BorrowedFd<'_>]) -> Result<(), HandshakeError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        self.try_until(PollFlags::OUT, || {
            let mut control = SendAncillaryBuffer::new(&mut space);
            control.push(SendAncillaryMessage::ScmRights(descriptors));
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            sendmsg(self.socket, &[IoSlice::new(&[0])], &mut control, flags)
        })?;
        Ok(())
    }

    fn receive_descriptors(&self) -> Result<[OwnedFd; 2], HandshakeError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_ROOM))];
        let mut byte = [0];
        let mut descriptors = Vec::new();
        let bytes = self.try_until(PollFlags::IN, || {
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
            let room = &mut [IoSliceMut::new(&mut byte)];
            let received = recvmsg(self.socket, room, &mut control, flags)?;
            for message in control.drain() {
                if let RecvAncillaryMessage::ScmRights(rights) = message {
                    descriptors.extend(rights);
                }
            }
            Ok(received.bytes)
        })?;
        if bytes == 0 {
            return Err(HandshakeError::Closed);
        }
        <[OwnedFd; 2]>::try_from(descriptors).map_err(|descriptors| {
            Violation::Descriptors { descriptors: descriptors.len(), bytes }.into()
        })
    }

    /// Tries an operation whenever the socket is ready for it.
    fn try_until<T>(
        &self,
        ready: PollFlags,
        mut operation: impl FnMut() -> Result<T, Errno>,
    ) -> Result<T, HandshakeError> {
        loop {
            match operation() {
                Err(Errno::AGAIN) => self.wait(ready)?,
                Err(Errno::INTR) => {}
                outcome => return outcome.map_err(HandshakeError::io("the handshake's socket")),
            }
        }
    }

    fn wait(&self, ready: PollFlags) -> Result<(), HandshakeError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(HandshakeError::TimedOut);
        }
        let timeout = Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut fds = [PollFd::new(self.socket, ready)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(HandshakeError::io("poll")(errno)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use rustix::io::{FdFlags, fcntl_getfd};

    use super::*;

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
}
