//! Set-up of TCP connections and listeners.

use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::listen;
use rustix::net::sockopt::{
    set_socket_keepalive, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl, set_tcp_nodelay,
    set_tcp_user_timeout,
};

use crate::socket_file::BACKLOG;

/// Idle time after which a connection is probed, the probes' interval, and their number.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_PROBES: u32 = 3;
/// Maximum time that sent data may stay unacknowledged, or the peer's window closed. A process that
/// is stopped or busy causes either as well, so this is longer than probing takes.
const USER_TIMEOUT: Duration = Duration::from_secs(120);

/// Prepares a TCP connection (tcp(7)). Messages are written whole, so none waits for more
/// (`TCP_NODELAY`). A host that has vanished ends the connection: after a minute if nothing is sent
/// (`SO_KEEPALIVE`), after two if data is (`TCP_USER_TIMEOUT`).
pub fn prepare_tcp(socket: impl AsFd) -> Result<(), Errno> {
    set_tcp_nodelay(&socket, true)?;
    set_socket_keepalive(&socket, true)?;
    set_tcp_keepidle(&socket, KEEPALIVE_IDLE)?;
    set_tcp_keepintvl(&socket, KEEPALIVE_INTERVAL)?;
    set_tcp_keepcnt(&socket, KEEPALIVE_PROBES)?;
    set_tcp_user_timeout(&socket, USER_TIMEOUT.as_millis() as u32)
}

/// Listens at a host's port, without blocking.
///
/// The backlog is as long as that of a socket file. The standard library's has 128 places, and a
/// client that finds none tries again a second later (listen(2), tcp(7)).
pub fn listen_tcp((host, port): (&str, u16)) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((host, port))?;
    listen(&listener, BACKLOG)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use rustix::net::sockopt::{
        socket_keepalive, tcp_keepcnt, tcp_keepidle, tcp_keepintvl, tcp_nodelay, tcp_user_timeout,
    };

    use super::*;
    use crate::{Deadline, connect};

    #[test]
    fn vanished_hosts_are_probed_and_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let socket = connect::tcp(&[address], Deadline::NEVER).unwrap();
        assert!(tcp_nodelay(&socket).unwrap() && socket_keepalive(&socket).unwrap());
        assert_eq!(tcp_keepidle(&socket).unwrap(), KEEPALIVE_IDLE);
        assert_eq!(tcp_keepintvl(&socket).unwrap(), KEEPALIVE_INTERVAL);
        assert_eq!(tcp_keepcnt(&socket).unwrap(), KEEPALIVE_PROBES);
        assert_eq!(tcp_user_timeout(&socket).unwrap(), USER_TIMEOUT.as_millis() as u32);
        // The user timeout also cuts probing short (tcp(7)).
        assert!(KEEPALIVE_IDLE + KEEPALIVE_PROBES * KEEPALIVE_INTERVAL < USER_TIMEOUT);
    }

    #[test]
    fn hundreds_wait_to_be_accepted_over_tcp() {
        let listener = listen_tcp(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
        let clients = 500.min(most.trim().parse().unwrap());
        // A client without a place would connect for ever: none is accepted here.
        let patience = Duration::from_secs(10);
        let connect = |_| TcpStream::connect_timeout(&address, patience).unwrap();
        assert_eq!((0..clients).map(connect).collect::<Vec<_>>().len(), clients);
    }
}
