//! Hot restart: a server announces to its clients that another one has taken its address.

use std::sync::Arc;
use std::time::Duration;

use breezeway_os::Deadline;

use super::{Shared, living};
use crate::core::Core;
use crate::lock::lock;
use crate::wire::{self, MessageType};

/// Interval at which a hot restart polls for acknowledgements, for sessions without a receiving
/// thread.
const POLL_EVERY: Duration = Duration::from_millis(10);

/// Result of a hot restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartReport {
    /// Number of sessions that their clients have replaced by one with the new server.
    pub acknowledged: usize,
    /// Number of sessions whose client did not acknowledge in time, or is gone.
    pub missing: usize,
}

/// A hot restart that was announced, for clients whose handshake was in progress then.
#[derive(Clone, Copy)]
pub(super) struct Restarted {
    pub(super) epoch: u64,
    /// Ticket of the first connection that was accepted later. A client that connects that late has
    /// found the address without a new server behind it, and would be sent back here again and
    /// again.
    pub(super) next_ticket: u64,
}

impl Shared {
    /// Announces a new server to all clients, and waits until each has a session there.
    pub(super) fn hot_restart(&self, epoch: u64, timeout: Duration) -> RestartReport {
        let live = self.begin_restart(epoch);
        let announced: Vec<_> = live.iter().filter(|core| announce_restart(core, epoch)).collect();
        let deadline = Deadline::after(timeout);
        let acknowledged =
            announced.iter().filter(|core| await_acknowledgement(core, epoch, deadline)).count();
        RestartReport { acknowledged, missing: live.len() - acknowledged }
    }

    /// Returns the sessions that must get the announcement; those still in their handshake get it
    /// later.
    fn begin_restart(&self, epoch: u64) -> Vec<Arc<Core>> {
        let mut state = lock(&self.state);
        state.restarted = Some(Restarted { epoch, next_ticket: state.next_ticket });
        let sessions = state.held_sessions();
        drop(state);
        living(sessions)
    }
}

pub(super) fn announce_restart(core: &Core, epoch: u64) -> bool {
    core.ended().is_none()
        && core.send(&wire::hot_restart(MessageType::HotRestart, core.version, epoch)).is_ok()
}

/// Returns true if the client acknowledges in time.
fn await_acknowledgement(core: &Core, epoch: u64, deadline: Deadline) -> bool {
    loop {
        let until = deadline.min(Deadline::after(POLL_EVERY));
        if core.restart.wait_acknowledged(epoch, until, || core.ended().is_some()) {
            return true;
        }
        if deadline.has_passed() || core.ended().is_some() {
            return false;
        }
        core.help_receive();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::address::Address;
    use crate::options::{ServerOptions, Trust};
    use crate::server::Server;
    use crate::session::Session;

    /// Returns the announcement of a hot restart that a client got.
    fn announced_to(client: &Session, deadline: Deadline) -> Option<u64> {
        loop {
            client.core.help_receive();
            let announced = client.core.restart.take_announced();
            if announced.is_some() || deadline.has_passed() {
                return announced;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn hot_restart_is_announced_to_handshakes_in_progress() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sock");
        let options = ServerOptions::new(Trust::SameUser);
        let server = Server::bind(&Address::Unix(path.clone()), options).unwrap();
        let patience = Deadline::after(Duration::from_secs(30));
        let connect = || UnixStream::connect(&path).unwrap();
        let early = connect();
        while lock(&server.shared.state).half_open.is_empty() {
            assert!(!patience.has_passed());
            std::thread::yield_now();
        }
        let report = server.hot_restart(7, Duration::ZERO);
        assert_eq!(report, RestartReport { acknowledged: 0, missing: 0 });
        let shake_hands = |socket: UnixStream| {
            Session::connect_over(socket.into(), &crate::ClientOptions::new(Trust::SameUser))
                .unwrap()
        };
        assert_eq!(announced_to(&shake_hands(early), patience), Some(7));
        let late = shake_hands(connect());
        assert!(server.accept().is_some() && server.accept().is_some());
        assert_eq!(announced_to(&late, Deadline::after(Duration::ZERO)), None);
    }
}
