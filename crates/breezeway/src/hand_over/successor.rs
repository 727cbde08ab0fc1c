//! The side of the successor.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use breezeway_os::{Connection, Deadline, Peer, connect, handed_listener};
use rustix::net::{Shutdown, shutdown};

use super::error::TakeOverError;
use super::wire;
use crate::address::Place;

/// Time limit for each answer of a predecessor, which answers at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// The sockets that a predecessor offers.
pub(crate) struct Offering {
    pub(crate) sockets: Vec<Offer>,
    /// The admin socket.
    pub(crate) admin: OwnedFd,
    connection: Connection,
}

/// A listening socket.
pub(crate) struct Offer {
    pub(crate) place: Place,
    /// True if a service manager keeps it.
    pub(crate) kept: bool,
    /// `None` once it is taken.
    pub(crate) socket: Option<OwnedFd>,
}

/// Asks the server with the admin socket at `path` for its sockets; returns `None` if there is no
/// server. That server continues to serve until [`Offering::commit`].
pub(crate) fn ask(path: &Path) -> Result<Option<Offering>, TakeOverError> {
    let deadline = Deadline::after(PATIENCE);
    let connection = match connect::unix(path, deadline) {
        Ok(connection) => Connection::from(connection),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => return Ok(None),
            io::ErrorKind::TimedOut => return Err(TakeOverError::Silent),
            _ => return Err(error.into()),
        },
    };
    let peer = Peer::of(&connection)?;
    if !peer.is_same_user() {
        return Err(TakeOverError::OtherUser(peer.uid));
    }
    wire::send(&connection, &wire::ASK, None)?;
    let (mut sockets, mut admin) = (Vec::new(), None);
    while let Some((kind, place, descriptor)) = wire::receive_socket(&connection, deadline)? {
        let listens = TakeOverError::Garbled("a descriptor that does not listen");
        let socket = handed_listener(descriptor).ok_or(listens)?;
        if kind == wire::ADMIN {
            admin = Some(socket);
            continue;
        }
        let place = place.parse().map_err(|_| TakeOverError::Garbled("a place that is none"))?;
        sockets.push(Offer { place, kept: kind == wire::KEPT, socket: Some(socket) });
        if sockets.len() > u64::BITS as usize {
            return Err(TakeOverError::Garbled("too many sockets"));
        }
    }
    let admin = admin.ok_or(TakeOverError::Garbled("no admin socket"))?;
    Ok(Some(Offering { sockets, admin, connection }))
}

impl Offering {
    /// Takes the socket that listens at `place`, if there is one. (If any port will do, the
    /// predecessor's does too.)
    pub(crate) fn take(&mut self, place: &Place) -> Option<(Place, bool, OwnedFd)> {
        let is_it = |offer: &&mut Offer| match (&offer.place, place) {
            (Place::Tcp { host, .. }, Place::Tcp { host: wanted, port: 0 })
            | (Place::Tls { host, .. }, Place::Tls { host: wanted, port: 0 }) => host == wanted,
            (offered, wanted) => offered == wanted,
        };
        let offer = self.sockets.iter_mut().filter(|offer| offer.socket.is_some()).find(is_it)?;
        Some((offer.place.clone(), offer.kept, offer.socket.take()?))
    }

    /// Announces that this process serves: the predecessor accepts no more clients.
    pub(crate) fn commit(self) -> Result<(), TakeOverError> {
        let deadline = Deadline::after(PATIENCE);
        let taken = self.sockets.iter().enumerate().filter(|(_, offer)| offer.socket.is_none());
        let taken = taken.fold(0u64, |bits, (number, _)| bits | 1 << number);
        let mut ready = [0; 9];
        ready[0] = wire::READY;
        ready[1..].copy_from_slice(&taken.to_le_bytes());
        wire::send(&self.connection, &ready, None)?;
        let mut answer = [0];
        let mut receive =
            |deadline| wire::receive(&self.connection, &mut answer, &mut Vec::new(), deadline);
        receive(deadline).or_else(|error| {
            // From here on the predecessor cannot confirm the hand-over, and continues to serve. It
            // may have confirmed just before.
            let _ = shutdown(&self.connection, Shutdown::Both);
            receive(Deadline::after(Duration::ZERO)).map_err(|_| error)
        })?;
        if answer == [wire::DONE] { Ok(()) } else { Err(TakeOverError::Garbled("no confirmation")) }
    }
}
