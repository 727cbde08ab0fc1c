//! Receives the peer's hello, piece by piece.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use breezeway_os::{Deadline, ForeignDescriptor, ready, scm};
use breezeway_proto::hello::{FIXED_LEN, HelloError, HelloReader, LONGEST, MAGIC};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::Received;
use crate::carrier::Carrier;
use crate::carrier::plain::Read;
use crate::carrier::tls::TlsError;
use crate::carrier::wire::Wire;
use crate::error::HandshakeError;

/// Error for a peer that sends much without a hello.
const NO_HELLO: &str = "the peer sends records without plaintext, and no hello";
/// Limit on bytes of records without a part of the hello: more than the records that a server may
/// send to a client unasked (tickets) and than the hello's own record.
const MAX_WITHOUT_PLAINTEXT: usize = 32 * 1024;

/// Receives a hello and its descriptor.
#[derive(Debug)]
pub(crate) struct GreetingReceiver {
    carrier: Carrier,
    reader: HelloReader,
    descriptors: Vec<ForeignDescriptor>,
    /// Bytes of records without a part of the hello.
    without_plaintext: usize,
    /// True if eight bytes are waited for even if fewer show that they do not form a hello.
    keeps_foreign: bool,
}

impl GreetingReceiver {
    pub(crate) fn new(carrier: Carrier) -> Self {
        Self {
            carrier,
            reader: HelloReader::default(),
            descriptors: Vec::new(),
            without_plaintext: 0,
            keeps_foreign: false,
        }
    }

    /// Creates a receiver for clients that may speak another protocol, if `keeps_foreign`.
    pub(crate) fn of_client(carrier: Carrier, keeps_foreign: bool) -> Self {
        Self { keeps_foreign, ..Self::new(carrier) }
    }

    /// Returns true if descriptors were received.
    pub(crate) fn has_descriptors(&self) -> bool {
        !self.descriptors.is_empty()
    }

    /// Returns true if no byte was received.
    pub(crate) fn is_empty(&self) -> bool {
        self.reader.is_empty()
    }

    /// Returns all received bytes.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.reader.into_bytes()
    }

    /// Reads the bytes that have arrived, without blocking; returns `None` while the hello is
    /// incomplete.
    pub(crate) fn receive(&mut self, wire: &mut Wire) -> Result<Option<Received>, HandshakeError> {
        let mut bytes = [0; LONGEST];
        loop {
            let room = &mut bytes[..self.reader.wanted()];
            let count = match wire {
                Wire::Plain(socket) => self.receive_plain(socket, room)?,
                Wire::Tls(tls) => match tls.read(room, false) {
                    Ok(Read::Bytes { len, .. }) => Some(len),
                    Ok(Read::NoPlaintext(len)) => {
                        self.without_plaintext += len;
                        if self.without_plaintext > MAX_WITHOUT_PLAINTEXT {
                            return Err(TlsError::Protocol(NO_HELLO.to_owned()).into());
                        }
                        continue;
                    }
                    Ok(Read::Nothing) => None,
                    Ok(Read::End) => Some(0),
                    Err(error) => return Err(error.into()),
                },
            };
            let Some(count) = count else { return Ok(None) };
            if self.descriptors.len() > 1 {
                return Err(HandshakeError::Descriptors(self.descriptors.len()));
            }
            if count == 0 {
                return Err(HandshakeError::Closed);
            }
            match self.reader.take(&bytes[..count]) {
                Ok(Some(greeting)) => return Ok(Some((greeting, self.descriptors.pop()))),
                Ok(None) => {}
                Err(HelloError::Magic(first))
                    if self.keeps_foreign && first.len() < MAGIC.len() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Receives bytes and descriptors from a socket without TLS; returns `None` if there are none
    /// now. If there are too many descriptors, or this process cannot receive them, all stay in the
    /// socket.
    fn receive_plain(
        &mut self,
        socket: &OwnedFd,
        room: &mut [u8],
    ) -> Result<Option<usize>, HandshakeError> {
        let (over_tcp, flags) = (self.carrier == Carrier::Tcp, RecvFlags::DONTWAIT);
        loop {
            let received = if over_tcp {
                scm::receive(socket, room, &mut self.descriptors, flags)
            } else {
                scm::peek(socket, room, &mut self.descriptors, flags)
            };
            return match received {
                Ok(received) if received.is_cut && self.descriptors.is_empty() => {
                    Err(HandshakeError::OpenFiles)
                }
                Ok(received) if received.is_cut || received.descriptors > 1 => {
                    Err(HandshakeError::Descriptors(2))
                }
                Ok(received) => {
                    if !over_tcp
                        && !scm::consume(socket, &mut room[..received.bytes])
                            .map_err(io::Error::from)?
                        && received.descriptors > 0
                    {
                        // The descriptor belongs to bytes after the hello, and is still in the
                        // socket.
                        self.descriptors.pop();
                    }
                    Ok(Some(received.bytes))
                }
                Err(Errno::AGAIN) => Ok(None),
                Err(Errno::INTR) => continue,
                Err(Errno::CONNRESET) => Err(HandshakeError::Closed),
                Err(errno) => Err(io::Error::from(errno).into()),
            };
        }
    }

    /// Waits for the whole hello.
    pub(super) fn wait(
        mut self,
        wire: &mut Wire,
        timeout: Duration,
    ) -> Result<Received, HandshakeError> {
        let deadline = Deadline::after(timeout);
        loop {
            if let Some(received) = self.receive(wire)? {
                return Ok(received);
            }
            if !ready(&*wire, PollFlags::IN, deadline).map_err(io::Error::from)? {
                return Err(HandshakeError::Timeout(timeout));
            }
        }
    }
}

const _: () = assert!(FIXED_LEN <= LONGEST);
