//! Handshakes with clients, on threads of their own, and the sessions that come from them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use breezeway_os::{Deadline, scm};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};

use super::hot_restart::announce_restart;
use super::{Shared, State};
use crate::error::HandshakeError;
use crate::handshake;
use crate::listener::Listener;
use crate::lock::{lock, wait};
use crate::log_limit::warn_limited;
use crate::session::Session;

/// Time that accepting rests when the process is out of descriptors or memory.
const REST: Duration = Duration::from_millis(20);
/// Time that a thread waits for the next handshake after one.
const HANDSHAKE_REST: Duration = Duration::from_secs(1);

impl Shared {
    pub(super) fn accept_connections(self: &Arc<Self>, listener: &Listener) {
        loop {
            let mut fds = [
                PollFd::new(listener, PollFlags::IN),
                PollFd::from_borrowed_fd(self.stop.as_fd(), PollFlags::IN),
            ];
            let _ = poll(&mut fds, None);
            if lock(&self.state).stopped {
                return;
            }
            match self.accept_all(listener) {
                Ok(()) => {}
                Err(error) => {
                    warn_limited!(%error, "cannot accept a shmipc client");
                    std::thread::sleep(REST);
                }
            }
        }
    }

    /// Takes every waiting connection, so that the backlog has room.
    fn accept_all(self: &Arc<Self>, listener: &Listener) -> io::Result<()> {
        while let Some(socket) = listener.accept()? {
            if is_closed(&socket) {
                tracing::debug!("a shmipc client left before it sent anything");
            } else {
                self.begin(socket);
            }
        }
        Ok(())
    }

    /// Starts a handshake on a thread that has ended another one, or on a new one; at the limit the
    /// oldest unfinished handshake is ended.
    fn begin(self: &Arc<Self>, socket: OwnedFd) {
        let Some(ticket) = self.register(&socket) else {
            return scm::close_connection(socket);
        };
        let mut state = lock(&self.state);
        state.accepted.push_back((socket, ticket));
        if state.resting >= state.accepted.len() {
            drop(state);
            self.accepted_more.notify_one();
            return;
        }
        drop(state);
        let own = Arc::clone(self);
        let spawned = std::thread::Builder::new()
            .name("shmipc-handshake".to_owned())
            .spawn(move || own.shake_all_hands());
        if let Err(error) = spawned {
            warn_limited!(%error, "no thread for a shmipc handshake");
            self.give_up(ticket);
        }
    }

    /// Closes a connection for lack of a thread, unless a resting one has taken it.
    fn give_up(&self, ticket: u64) {
        let mut state = lock(&self.state);
        let place = state.accepted.iter().position(|(_, other)| *other == ticket);
        let accepted = place.and_then(|place| state.accepted.remove(place));
        drop(state);
        if let Some((socket, _)) = accepted {
            self.unregister(ticket);
            scm::close_connection(socket);
        }
    }

    /// Performs one handshake after the other, until none has come for a while.
    fn shake_all_hands(&self) {
        while let Some((socket, ticket)) = self.next_accepted() {
            self.shake_hands(socket, ticket);
        }
    }

    fn next_accepted(&self) -> Option<(OwnedFd, u64)> {
        let until = Deadline::after(HANDSHAKE_REST);
        let mut state = lock(&self.state);
        state.resting += 1;
        let next = loop {
            if let Some(next) = state.accepted.pop_front() {
                break Some(next);
            }
            if state.stopped || until.has_passed() {
                break None;
            }
            state = wait(&self.accepted_more, state, until);
        };
        state.resting -= 1;
        next
    }

    fn register(&self, socket: &OwnedFd) -> Option<u64> {
        let copy = socket.try_clone().inspect_err(|error| {
            warn_limited!(%error, "a shmipc client is refused: its socket cannot be duplicated");
        });
        let copy = copy.ok()?;
        let mut state = lock(&self.state);
        if !self.has_room(&mut state) {
            return None;
        }
        if state.half_open.len() >= self.options.max_half_open
            && let Some((_, oldest)) = state.half_open.pop_front()
        {
            let limit = self.options.max_half_open;
            warn_limited!(limit, "the oldest unfinished shmipc handshake is ended: max_half_open");
            let _ = shutdown(&oldest, Shutdown::Both);
        }
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.half_open.push_back((ticket, copy));
        Some(ticket)
    }

    /// Returns true if `max_sessions` permits one more session.
    fn has_room(&self, state: &mut State) -> bool {
        state.forget_ended();
        let limit = self.options.max_sessions;
        let has_room = state.sessions.len() < limit;
        if !has_room {
            warn_limited!(limit, "a shmipc client is refused: raise max_sessions");
        }
        has_room
    }

    /// Removes a ticket, before the socket is passed on, so that closing it closes the connection
    /// at once.
    fn unregister(&self, ticket: u64) {
        let mut state = lock(&self.state);
        let place = state.half_open.iter().position(|(other, _)| *other == ticket);
        let copy = place.and_then(|place| state.half_open.remove(place));
        drop(state);
        // Without the lock, because this may be the last descriptor.
        drop(copy);
    }

    fn shake_hands(&self, socket: OwnedFd, ticket: u64) {
        let shaken = handshake::accept(socket, &self.options);
        self.unregister(ticket);
        match shaken {
            Ok(parts) => {
                self.hand_out(Session::new(parts, self.options.session.clone()), ticket);
            }
            // A client that tests whether a server listens.
            Err(error @ HandshakeError::Closed) => tracing::debug!(%error, "shmipc handshake"),
            Err(error) => warn_limited!(%error, "a shmipc client is refused"),
        }
    }

    fn hand_out(&self, session: Session, ticket: u64) {
        let mut state = lock(&self.state);
        if state.stopped || !self.has_room(&mut state) {
            return;
        }
        let restarted = state.restarted.filter(|restarted| ticket < restarted.next_ticket);
        // Held only where it must be: dropping the last handle of a session frees its memory.
        let late = restarted.map(|restarted| (Arc::clone(&session.core), restarted.epoch));
        state.sessions.push(Arc::downgrade(&session.core));
        state.ready.push_back(session);
        state.wake_all();
        self.changed.notify_one();
        drop(state);
        if let Some((core, epoch)) = late {
            announce_restart(&core, epoch);
        }
    }
}

/// Returns true if the client has already closed the connection, as a client does that only tests
/// whether a server listens: not worth a handshake. Its data, if any, stays in the socket.
fn is_closed(socket: &OwnedFd) -> bool {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    recv(socket, &mut [0; 1], flags).is_ok_and(|(_, received)| received == 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::address::Address;
    use crate::options::{ServerOptions, Trust};
    use crate::server::Server;

    /// Returns the number of threads of this process that perform handshakes, of any server.
    fn handshake_threads() -> usize {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let names = tasks.flat_map(|task| std::fs::read_to_string(task.path().join("comm")));
        names.filter(|name| name.trim() == "shmipc-handshak").count()
    }

    #[test]
    fn a_flood_of_connections_takes_few_threads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sock");
        let options = ServerOptions::new(Trust::SameUser);
        let _server = Server::bind(&Address::Unix(path.clone()), options).unwrap();
        let mut most = 0;
        for number in 0..2000 {
            let mut client = UnixStream::connect(&path).unwrap();
            if number % 2 == 0 {
                // Bytes that are not shmipc end a handshake at once; the other clients send
                // nothing.
                let _ = io::Write::write_all(&mut client, b"GET / HTTP/1.1");
                let _ = io::Read::read(&mut client, &mut [0]);
            }
            drop(client);
            most = most.max(if number % 100 == 0 { handshake_threads() } else { 0 });
        }
        // Those of other tests count too.
        assert!(most < 100, "{most} threads for one client at a time");
    }

    #[test]
    fn taken_handshake_keeps_its_place_on_give_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sock");
        let options = ServerOptions::new(Trust::SameUser);
        let server = Server::bind(&Address::Unix(path), options).unwrap();
        let patience = Deadline::after(Duration::from_secs(30));
        let (_silent, socket) = UnixStream::pair().unwrap();
        server.shared.begin(OwnedFd::from(socket));
        // It waits for a thread by now, or a thread has taken it.
        while !lock(&server.shared.state).accepted.is_empty() {
            assert!(!patience.has_passed());
            std::thread::yield_now();
        }
        let (ticket, _) = *lock(&server.shared.state).half_open.front().expect("it is half open");
        server.shared.give_up(ticket);
        let half_open = lock(&server.shared.state).half_open.len();
        assert_eq!(half_open, 1, "it is counted, and shut down when the server stops");
        // A connection that was not taken is closed.
        let (mut client, socket) = UnixStream::pair().unwrap();
        let socket = OwnedFd::from(socket);
        let ticket = server.shared.register(&socket).unwrap();
        // Without a notification no thread takes it.
        lock(&server.shared.state).accepted.push_back((socket, ticket));
        server.shared.give_up(ticket);
        assert_eq!(lock(&server.shared.state).half_open.len(), 1);
        assert_eq!(io::Read::read(&mut client, &mut [0]).unwrap(), 0);
    }
}
