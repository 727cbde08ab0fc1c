//! The sockets that a server listens on: new ones, those of a predecessor, or those of a service
//! manager.

use std::ffi::OsString;
use std::net::ToSocketAddrs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use breezeway_os::socket_file::{LONGEST_PATH, SocketFile};
use breezeway_os::{
    MemoryLedger, MemoryLimits, Notifier, inherited_listeners, make_room_for_descriptors, segment,
};
use breezeway_shm::statistics;
use rustix::net::{SocketAddrUnix, getsockname};

use super::half_open;
use crate::address::{Address, Place};
use crate::carrier::Carrier;
use crate::carrier::tls::Tls;
use crate::error::{SegmentError, ServeError};
use crate::hand_over::{self, ClosedDoor, Door, Offering};
use crate::listener::Listener;
use crate::options::ServerOptions;

/// Descriptors of a session: its socket, duplicated for the driver, and the one that reports the
/// exit of the client's process.
const DESCRIPTORS_OF_SESSION: u64 = 3;
/// The permission bits of an admin socket.
const ADMIN_MODE: u32 = 0o600;

/// The listening sockets of a server.
pub(super) struct Listening {
    pub(super) listeners: Vec<Listener>,
    /// Set if a successor may take over.
    pub(super) succession: Option<Succession>,
}

/// A server's place in a sequence of servers that take over from each other.
pub(super) struct Succession {
    path: PathBuf,
    admin: SocketFile,
    /// The predecessor, which is notified when this server serves.
    predecessor: Option<Offering>,
}

impl Listening {
    /// Listens at all places of an address, if the options are valid.
    pub(super) fn at(address: &Address, options: &ServerOptions) -> Result<Self, ServeError> {
        options.validate()?;
        statistics::make_file().map_err(SegmentError)?;
        if address.places().iter().any(|place| place.carrier() == Carrier::Shm) {
            segment::probe().map_err(SegmentError)?;
            if options.memory != MemoryLimits::default() {
                MemoryLedger::probe().map_err(SegmentError)?;
            }
        }
        if address.places().iter().any(|place| place.carrier() == Carrier::Tls) {
            Tls::check_server(options.session.own_tls())?;
        }
        let listening = if options.take_over {
            Self::taken_over(address, options)?
        } else {
            let bind = |place| Listener::bind(place, options.socket_mode);
            let listeners = address.places().iter().map(bind).collect::<Result<_, _>>()?;
            Self { listeners, succession: None }
        };
        listening.make_room(options);
        Ok(listening)
    }

    /// Grows the table of descriptors in advance, so that many clients at once do not delay others.
    fn make_room(&self, options: &ServerOptions) {
        let sessions = DESCRIPTORS_OF_SESSION.saturating_mul(options.max_sessions as u64);
        let count = sessions.saturating_add(half_open::most() as u64);
        if let Some(listener) = self.listeners.first()
            && let Err(error) = make_room_for_descriptors(listener, count)
        {
            tracing::warn!(%error, count, "no room for as many descriptors as clients may need");
        }
    }

    fn taken_over(address: &Address, options: &ServerOptions) -> Result<Self, ServeError> {
        let path = admin_path(address, options)?;
        let failed = |source| ServeError::TakeOver { path: path.clone(), source };
        let mut predecessor = hand_over::ask(&path).map_err(failed)?;
        let listen = |place| {
            let from_predecessor = predecessor.as_mut().and_then(|offering| offering.take(place));
            if let Some((place, kept, socket)) = from_predecessor {
                return Ok(Listener::adopt(socket, place, kept));
            }
            match inherited_listeners().iter().find(|socket| listens_at(socket, place)) {
                Some(found) => {
                    let copy = found.try_clone().map_err(|error| failed(error.into()))?;
                    Ok(Listener::adopt(copy, place.clone(), true))
                }
                None => Listener::bind(place, options.socket_mode),
            }
        };
        let listeners = address.places().iter().map(listen).collect::<Result<_, _>>()?;
        let admin = match &mut predecessor {
            Some(offering) => {
                let copy = offering.admin.try_clone();
                SocketFile::adopt(copy.map_err(|error| failed(error.into()))?, &path)
            }
            None => Listener::file(&Place::Unix(path.clone()), &path, ADMIN_MODE)?,
        };
        Ok(Self { listeners, succession: Some(Succession { path, admin, predecessor }) })
    }
}

impl Succession {
    /// Begins accepting: a predecessor leaves the sockets to this server, and a successor may
    /// connect. `handed_over` is notified when one has taken over.
    pub(super) fn begin(
        mut self,
        listeners: &mut [Listener],
        handed_over: &Notifier,
    ) -> Result<Door, ServeError> {
        let offered = listeners.iter().map(Listener::offer).collect::<Result<_, _>>()?;
        let door = ClosedDoor::new(offered, handed_over.clone())?;
        if let Some(predecessor) = self.predecessor.take() {
            let path = self.path;
            predecessor.commit().map_err(|source| ServeError::TakeOver { path, source })?;
            // Nothing may fail from here on: only this process serves.
            listeners.iter_mut().for_each(Listener::own);
            self.admin.own();
        }
        Ok(door.open(self.admin))
    }
}

/// Returns the path of a server's admin socket.
fn admin_path(address: &Address, options: &ServerOptions) -> Result<PathBuf, ServeError> {
    let path = match (&options.admin_socket, address.places().iter().find_map(Place::path)) {
        (Some(path), _) => path.clone(),
        (None, Some(socket)) => {
            let mut path = OsString::from(socket);
            path.push(".admin");
            path.into()
        }
        (None, None) => return Err(ServeError::NoAdminSocket),
    };
    if path.as_os_str().len() > LONGEST_PATH {
        return Err(ServeError::AdminPathTooLong { path });
    }
    Ok(path)
}

/// Returns true if a socket listens at a place.
fn listens_at(socket: &OwnedFd, place: &Place) -> bool {
    let Ok(bound) = getsockname(socket) else { return false };
    match place {
        Place::Shm(path) | Place::Unix(path) => SocketAddrUnix::try_from(bound)
            .is_ok_and(|bound| bound.path_bytes() == Some(path.as_os_str().as_encoded_bytes())),
        Place::Tcp { host, port } | Place::Tls { host, port } => {
            let bound = std::net::SocketAddr::try_from(bound);
            let mut wanted = (host.as_str(), *port).to_socket_addrs().into_iter().flatten();
            bound.is_ok_and(|bound| wanted.any(|wanted| wanted == bound))
        }
    }
}

/// Returns the address that these listeners listen at.
pub(super) fn address_of(listeners: &[Listener]) -> Address {
    listeners.iter().map(|listener| listener.place().clone()).collect()
}
