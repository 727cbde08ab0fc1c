//! Peers that send what no frame may be, over both kinds of socket: written from `docs/abi.md`, section 8, alone.
//!
//! The honest side ends such a session with an error that names the broken rule, or goes on; it never panics, never hangs, takes no memory for what was only announced, and its
//! other sessions never notice. `BREEZEWAY_HOSTILE_SEED` repeats what was done by chance.

mod support;

#[path = "hostile/log.rs"]
#[allow(dead_code, reason = "this file uses a part of it")]
mod log;
#[path = "hostile_frames/stage.rs"]
mod stage;

#[path = "hostile_frames/memory.rs"]
mod memory;
#[path = "hostile_frames/random.rs"]
mod random;
#[path = "hostile_frames/replies.rs"]
mod replies;
#[path = "hostile_frames/requests.rs"]
mod requests;

use std::io::IoSlice;
use std::os::fd::AsFd;

use breezeway::Carrier;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use support::server::{self, ECHO};
use support::{Raw, play};

#[test]
#[ignore = "a process that the tests of this file start"]
fn another_process() {
    play(&[("server", server::serve), ("caller", memory::call_with_a_deadline)]);
}

const SOCKETS: [Carrier; 2] = [Carrier::Unix, Carrier::Tcp];
/// The honest side's cap, and what the others say is theirs.
const CAP: usize = 1 << 20;
const LARGE_CAP: u64 = 64 << 20;
/// An honest caller's method that the service answers with the request.
const METHOD: u32 = ECHO;

/// Sends bytes with so many descriptors.
fn send_with_descriptors(peer: &Raw, bytes: &[u8], count: usize) {
    let file = tempfile::tempfile().unwrap();
    let descriptors = vec![file.as_fd(); count];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
    let sent = sendmsg(peer, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL);
    assert_eq!(sent, Ok(bytes.len()));
}
