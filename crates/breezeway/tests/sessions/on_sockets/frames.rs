//! Peers that send what no frame may be, over both kinds of socket: written from `docs/abi.md`,
//! section 8, alone.
//!
//! The honest side ends such a session with an error that names the broken rule, or goes on; it
//! never panics, never hangs, takes no memory for what was only announced, and its other sessions
//! never notice. `BREEZEWAY_HOSTILE_SEED` repeats what was done by chance.

mod stage;

mod memory;
mod random;
mod replies;
mod requests;

use std::os::fd::AsFd;

use breezeway::Carrier;
use breezeway_adversary::{Connection, socket};

use crate::support::Role;
use crate::support::server::ECHO;

/// Roles of the other processes of these tests.
pub(crate) const ROLES: &[(&str, Role)] =
    &[("caller", memory::call_with_a_deadline), ("short caller", memory::call_short_of_memory)];

const SOCKETS: [Carrier; 2] = [Carrier::Unix, Carrier::Tcp];
/// The honest side's cap, and the cap in the hellos of the others.
const CAP: usize = 1 << 20;
const LARGE_CAP: u64 = 64 << 20;
/// An honest caller's method that the service answers with the request.
const METHOD: u32 = ECHO;

/// Sends bytes with so many descriptors.
fn send_with_descriptors(peer: &Connection, bytes: &[u8], count: usize) {
    let file = tempfile::tempfile().unwrap();
    let descriptors = vec![file.as_fd(); count];
    assert_eq!(socket::send(peer, bytes, &descriptors), Ok(bytes.len()));
}
