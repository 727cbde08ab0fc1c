//! Entry points for this project's own fuzz targets: ends of sessions in one thread, on either
//! carrier. **Nothing here keeps its form from one release to the next.**

use std::os::fd::OwnedFd;

use crate::call::Handler;
use crate::carrier::Carrier;
use crate::error::ConnectError;
use crate::offload;
use crate::options::SessionOptions;
use crate::session::{Driver, OwnedCall, ServerSession, Session};

/// Creates a client like [`Session::from_socket_driven`], on any carrier.
pub fn client(
    socket: OwnedFd,
    carrier: Carrier,
    options: &SessionOptions,
) -> Result<(Session, Driver), ConnectError> {
    Session::over_socket_driven(socket, carrier, options)
}

/// Creates a server like [`ServerSession::from_socket_driven`], on any carrier.
pub fn server(
    socket: OwnedFd,
    carrier: Carrier,
    options: &SessionOptions,
) -> Result<(ServerSession, Driver), ConnectError> {
    ServerSession::over_socket_driven(socket, carrier, options)
}

/// Serves a call as a worker of a server does.
pub fn serve(call: OwnedCall, handler: &impl Handler) {
    offload::serve(call, handler, None);
}
