//! Connections for peers that speak by hand, to and from an address.

use std::io;

use breezeway::{Address, Place};
use breezeway_adversary::{Connection, Listener};

/// Connects to the first place of an address.
#[track_caller]
pub(crate) fn connect(address: &Address) -> Connection {
    try_connect(address).expect("somebody listens")
}

pub(crate) fn try_connect(address: &Address) -> io::Result<Connection> {
    match &address.places()[0] {
        Place::Tcp { host, port } | Place::Tls { host, port } => Connection::tcp(host, *port),
        place => Connection::unix(place.path().expect("a file")),
    }
}

/// Listens at the first place of an address.
#[track_caller]
pub(crate) fn listen(address: &Address) -> Listener {
    match &address.places()[0] {
        Place::Tcp { host, port } | Place::Tls { host, port } => {
            Listener::tcp(host, *port).expect("a free port")
        }
        place => Listener::unix(place.path().expect("a file")).expect("a path"),
    }
}
