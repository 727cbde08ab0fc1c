//! A whole shared session in shared memory, step by step: a hostile peer writes in its segments and
//! on the socket between any two steps of the honest side, which calls, serves and streams.

use std::os::unix::net::UnixStream;

use arbitrary::Arbitrary;
use breezeway::{ServerSession, Session};

use crate::typed;
use crate::using::{Honest, Use, options};
use crate::writing::{Peer, Write};

#[derive(Arbitrary, Debug)]
enum Step {
    Peer(Write),
    Honest(Use),
    /// The usual reaction to the received entries.
    Turn,
    HangUp,
}

#[derive(Arbitrary, Debug)]
struct Input {
    to_server: bool,
    steps: Vec<Step>,
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some(input) = typed::<Input>(data) else { return };
    let (honest, socket) = UnixStream::pair().unwrap();
    let mut peer = Peer::new(socket, input.to_server);
    let (honest, options) = (honest.into(), options());
    let mut honest = match input.to_server {
        true => Honest::server(ServerSession::from_socket_driven(honest, &options).unwrap()),
        false => Honest::client(Session::from_socket_driven(honest, &options).unwrap()),
    };
    for step in input.steps.iter().take(300) {
        let goes_on = match step {
            Step::Peer(write) => {
                peer.apply(write);
                true
            }
            Step::Honest(usage) => honest.apply(usage),
            Step::Turn => honest.apply(&Use::Turn) && honest.apply(&Use::Accept),
            Step::HangUp => {
                let _ = peer.socket.shutdown(std::net::Shutdown::Both);
                true
            }
        };
        if !goes_on {
            break;
        }
    }
}
