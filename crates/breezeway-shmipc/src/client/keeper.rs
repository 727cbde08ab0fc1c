//! Keeper of a client's idle sessions: replaces those that ended, follows hot restarts, and
//! receives for unused ones, so that their end and a restart are noticed.
//!
//! While a session is used, its users read its socket themselves, and the keeper does not
//! interfere: it waits only for the connection's end, which data does not wake it for, and checks
//! after a while whether the session has become idle. While all sessions are idle it sleeps without
//! end, also while the limit of unread bytes is reached.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use breezeway_os::{Deadline, Notifier};
use rustix::event::{PollFd, PollFlags, poll};

use super::shared::{Shared, connect_session};
use crate::core::Core;
use crate::error::ConnectError;
use crate::lock::lock;
use crate::log_limit::warn_limited;
use crate::regions::OwnBuffer;
use crate::session::Session;
use crate::wire::{self, MessageType};

/// Time that a session must be unused to count as idle.
const IDLE_AFTER: Duration = Duration::from_millis(250);
/// Time that a hot restart is tried, as in upstream, and the pause between two tries.
const RESTART_LIMIT: Duration = Duration::from_secs(2);
const RESTART_PAUSE: Duration = Duration::from_millis(50);

/// The keeper of one client.
pub(crate) struct Keeper {
    shared: Arc<Shared>,
    watched: Vec<Watched>,
    /// Sessions with a server that was replaced: their streams continue until it closes them.
    retired: Vec<Session>,
    retries: Vec<Retry>,
    restarts: Vec<PendingRestart>,
}

/// Keeper's state of a session.
struct Watched {
    core: Arc<Core>,
    uses_seen: u64,
    idle: bool,
}

/// Time of the next try for a lost session.
#[derive(Clone, Copy)]
struct Retry {
    at: Deadline,
    pause: Duration,
}

/// A hot restart that was announced and not followed yet.
struct PendingRestart {
    index: usize,
    epoch: u64,
    retry_at: Deadline,
    until: Deadline,
}

impl Keeper {
    /// Creates the keeper of a client with connected sessions.
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let first = Retry { at: Deadline::NEVER, pause: shared.options.back_off.0 };
        let retries = vec![first; shared.options.sessions];
        let keeper = Self {
            shared,
            watched: Vec::new(),
            retired: Vec::new(),
            retries,
            restarts: Vec::new(),
        };
        for session in lock(&keeper.shared.slots).sessions.iter().flatten() {
            keeper.listen(session);
        }
        keeper
    }

    /// Runs until the client is closed.
    pub(crate) fn run(mut self) {
        while !lock(&self.shared.slots).closed {
            self.replace_ended();
            self.collect_restarts();
            self.follow_restarts();
            self.retired.retain(|session| session.ended().is_none());
            self.refresh_watched();
            self.sleep();
        }
    }

    fn listen(&self, session: &Session) {
        let notifier = self.shared.notifier.clone();
        session.core.restart.listen(Arc::new(move || notifier.notify()));
    }

    /// Tries again for the sessions that ended, at their time, all of them when the first is due:
    /// they share a buffer region. The region of an ended session may lack slices.
    fn replace_ended(&mut self) {
        let mut due = Vec::new();
        for (index, retry) in self.retries.iter_mut().enumerate() {
            let alive = lock(&self.shared.slots).sessions[index]
                .as_ref()
                .is_some_and(|session| session.ended().is_none());
            if alive {
                *retry = Retry { at: Deadline::NEVER, pause: self.shared.options.back_off.0 };
                continue;
            }
            if retry.at == Deadline::NEVER {
                retry.at = Deadline::after(retry.pause);
            }
            due.push(index);
        }
        if !due.iter().any(|&index| self.retries[index].at.has_passed()) {
            return;
        }
        let mut buffer = None;
        for index in due {
            let retry = &mut self.retries[index];
            retry.pause = (retry.pause * 2).min(self.shared.options.back_off.1);
            retry.at = Deadline::after(retry.pause);
            self.replace(index, None, &mut buffer);
        }
    }

    /// Connects a new session at `index`, and returns the one before.
    fn replace(
        &self,
        index: usize,
        epoch: Option<u64>,
        buffer: &mut Option<OwnBuffer>,
    ) -> Option<Session> {
        let Shared { address, options, .. } = &*self.shared;
        match connect_session(address, options, buffer, index, epoch) {
            Ok(session) => {
                self.listen(&session);
                self.shared.replace(index, session)
            }
            Err(error) => {
                self.note(&error);
                None
            }
        }
    }

    fn note(&self, error: &ConnectError) {
        let text = error.to_string();
        let address = &self.shared.address;
        // An unchanged error is not logged again.
        if lock(&self.shared.slots).last_error != text {
            warn_limited!(%error, %address, "a shmipc session is not replaced, and tried again");
        }
        lock(&self.shared.slots).last_error = text;
    }

    fn collect_restarts(&mut self) {
        for (index, session) in lock(&self.shared.slots).sessions.iter().enumerate() {
            let announced =
                session.as_ref().and_then(|session| session.core.restart.take_announced());
            let known = self.restarts.iter().any(|restart| restart.index == index);
            if let Some(epoch) = announced.filter(|_| !known) {
                let until = Deadline::after(RESTART_LIMIT);
                let retry_at = Deadline::after(Duration::ZERO);
                self.restarts.push(PendingRestart { index, epoch, retry_at, until });
            }
        }
    }

    /// Opens a session with the new server for each of the old one's, and then acknowledges on the
    /// old one. After the limit the old session stays; when it ends it is replaced like any other.
    fn follow_restarts(&mut self) {
        let mut buffer = None;
        for mut restart in std::mem::take(&mut self.restarts) {
            if restart.retry_at.has_passed() {
                if let Some(old) = self.replace(restart.index, Some(restart.epoch), &mut buffer) {
                    let core = &old.core;
                    let ack =
                        wire::hot_restart(MessageType::HotRestartAck, core.version, restart.epoch);
                    // If that fails the session is over, and the old server knows.
                    let _ = core.send(&ack);
                    // Kept until the server closes it: upstream would not read an acknowledgement
                    // on a closed one.
                    self.retired.push(old);
                    continue;
                }
                restart.retry_at = Deadline::after(RESTART_PAUSE);
            }
            if !restart.until.has_passed() {
                self.restarts.push(restart);
            }
        }
    }

    /// Updates the list of sessions, and which of them are used.
    fn refresh_watched(&mut self) {
        let slots = lock(&self.shared.slots);
        let current = slots.sessions.iter().flatten().chain(&self.retired);
        let cores: Vec<_> = current.map(|session| Arc::clone(&session.core)).collect();
        drop(slots);
        self.watched.retain(|watched| cores.iter().any(|core| Arc::ptr_eq(core, &watched.core)));
        for core in cores.into_iter().filter(|core| core.ended().is_none()) {
            if !self.watched.iter().any(|watched| Arc::ptr_eq(&core, &watched.core)) {
                self.watched.push(Watched { core, uses_seen: 0, idle: false });
            }
        }
        self.watched.retain(|watched| watched.core.ended().is_none());
    }

    fn sleep(&mut self) {
        let idle = Deadline::after(IDLE_AFTER);
        let until = self.next_due(idle);
        let notifier = self.shared.notifier.clone();
        let mut fds = vec![PollFd::new(&notifier, PollFlags::IN)];
        fds.extend(self.watched.iter().map(|watched| watched.interest(&notifier)));
        let _ = poll(&mut fds, until.timespec().as_ref());
        let rang: Vec<_> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        if rang[0] {
            take_notice(&notifier);
        }
        let slept_long = idle.has_passed();
        for (watched, &rang) in self.watched.iter_mut().zip(&rang[1..]) {
            watched.attend(rang, slept_long);
        }
    }

    /// Returns the time of the next action without an event.
    fn next_due(&self, idle: Deadline) -> Deadline {
        let changes = self.watched.iter().any(Watched::may_change).then_some(idle);
        let retries = self.retries.iter().map(|retry| retry.at);
        let restarts = self.restarts.iter().map(|restart| restart.retry_at);
        changes.into_iter().chain(retries).chain(restarts).min().unwrap_or(Deadline::NEVER)
    }
}

impl Watched {
    /// Returns true if an action may become due that the session's socket does not report.
    fn may_change(&self) -> bool {
        !self.core.has_driver() && !self.idle
    }

    /// Returns the events to wait for: data only while no other thread polls for it and it can be
    /// read; the connection's end always. None where a driver of tasks reads both. (The end of a
    /// session is reported in any case.)
    fn interest<'a>(&'a self, nothing: &'a Notifier) -> PollFd<'a> {
        if self.core.has_driver() {
            return PollFd::new(nothing, PollFlags::empty());
        }
        let readable = self.idle && !self.core.is_overfull();
        let data = if readable { PollFlags::IN } else { PollFlags::empty() };
        PollFd::from_borrowed_fd(self.core.socket(), data | PollFlags::RDHUP)
    }

    /// Runs after a sleep: receives if data came and no other thread receives, and determines
    /// whether the session is used.
    fn attend(&mut self, rang: bool, slept_long: bool) {
        let uses = self.core.uses();
        let used = uses != self.uses_seen || uses % 2 == 1;
        if used {
            self.idle = false;
            self.uses_seen = uses;
        } else if slept_long {
            self.idle = true;
        }
        if rang {
            self.core.help_receive();
        }
    }
}

fn take_notice(notifier: &Notifier) {
    let _ = rustix::io::read(notifier.as_fd(), &mut [0; 8]);
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::address::Address;
    use crate::client::Client;
    use crate::options::{ClientOptions, ServerOptions, SessionOptions, Trust};
    use crate::server::Server;
    use crate::stream::Stream;

    const PATIENCE: Duration = Duration::from_secs(20);
    /// More than is read at once.
    const SENT: usize = 20_000;

    fn eventually(what: &str, done: impl Fn() -> bool) {
        let start = std::time::Instant::now();
        while !done() {
            assert!(start.elapsed() < PATIENCE, "{what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns true if every keeper of this process sleeps, by the kernel's state.
    fn keepers_sleep() -> bool {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let stats =
            tasks.flatten().flat_map(|task| std::fs::read_to_string(task.path().join("stat")));
        let mut keepers = stats.filter(|stat| stat.contains("(shmipc-keeper)"));
        keepers.all(|stat| stat.contains(") S "))
    }

    /// A client with a session of unread streams. One stream has reached the limit of unread bytes;
    /// more is in the socket.
    struct Overfull {
        _folder: tempfile::TempDir,
        _server: Server,
        served: Session,
        client: Client,
        session: Session,
        stream: Stream,
    }

    impl Overfull {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let address = Address::Unix(folder.path().join("sock"));
            let server = Server::bind(&address, ServerOptions::new(Trust::SameUser)).unwrap();
            let session = SessionOptions::new().fallback_limit(1000);
            let options = ClientOptions::new(Trust::SameUser).session(session);
            let client = Client::connect(&address, options).unwrap();
            let served = server.accept().unwrap();
            let session = client.sessions().remove(0);
            let stream = client.open().unwrap();
            let header = wire::fallback_header(served.core.version, stream.id(), SENT);
            assert!(served.core.send_payload_behind_queue(&[&header, &[7; SENT]]).unwrap());
            Self { _folder: folder, _server: server, served, client, session, stream }
        }

        /// Waits until the keeper has read up to the limit, and sleeps.
        fn wait_until_read(&self) {
            eventually("the keeper reads", || self.session.core.is_overfull() && keepers_sleep());
        }
    }

    #[test]
    fn restart_is_followed_once_bytes_before_it_are_read() {
        let mut overfull = Overfull::new();
        let epoch = wire::hot_restart(MessageType::HotRestart, overfull.served.core.version, 7);
        assert!(overfull.served.core.send(&epoch).unwrap());
        overfull.wait_until_read();
        let mut bytes = vec![0; overfull.session.statistics().fallback_bytes];
        overfull.stream.read_exact(&mut bytes).unwrap();
        let old = &overfull.session.core;
        eventually("the client has a session with the server that came", || {
            overfull.client.sessions().iter().any(|session| !Arc::ptr_eq(&session.core, old))
        });
    }

    #[test]
    fn the_end_behind_bytes_that_were_not_read_is_noticed() {
        let overfull = Overfull::new();
        overfull.wait_until_read();
        let Overfull { served, session, client, .. } = &overfull;
        served.close();
        eventually("the session's end is noticed", || session.ended().is_some());
        eventually("the session is replaced", || client.sessions().len() == 1);
    }
}
