//! The lines by which a server announces its addresses.

use std::fmt::Display;
use std::io::Write as _;

/// Prints the address. A parent process that does not read it causes no error.
pub(crate) fn announce(address: &impl Display) {
    let _ = writeln!(std::io::stdout(), "listening on {address}");
}

/// Prints the address of the figures, before that of the server.
#[cfg(feature = "metrics")]
pub(crate) fn announce_metrics(address: std::net::SocketAddr) {
    let _ = writeln!(std::io::stdout(), "metrics at http://{address}/metrics");
}
