//! The line by which a server announces its address.

use std::fmt::Display;
use std::io::Write as _;

/// Prints the address. A parent process that does not read it causes no error.
pub(crate) fn announce(address: &impl Display) {
    let _ = writeln!(std::io::stdout(), "listening on {address}");
}
