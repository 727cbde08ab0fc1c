//! The side of the predecessor: a thread that answers at the admin socket.
//!
//! One successor is served at a time, and each step has a time limit, so a silent successor delays
//! another one for seconds and the server not at all.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, Builder, JoinHandle};
use std::time::Duration;

use breezeway_os::socket_file::SocketFile;
use breezeway_os::{Connection, Deadline, Notifier, Peer, accept, any_ready};
use rustix::event::{PollFd, PollFlags};

use super::error::TakeOverError;
use super::wire;
use crate::address::Place;
use crate::log_limit::LogLimit;

/// Time within which a connected process must ask.
const ASKING: Duration = Duration::from_secs(1);
/// Time from there within which a successor must serve.
const STARTING: Duration = Duration::from_secs(10);
/// Pause after a failure to accept that passes only with time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const SERVING: u8 = 0;
const HANDED_OVER: u8 = 1;
const STOPPED: u8 = 2;
/// The confirmation is being sent to a successor, which may fail.
const TELLING: u8 = 3;

/// A listening socket that a successor may take.
pub(crate) struct Offered {
    pub(crate) place: Place,
    /// True if a service manager keeps it.
    pub(crate) kept: bool,
    pub(crate) socket: OwnedFd,
}

/// The parts of a door before it opens.
pub(crate) struct ClosedDoor {
    /// The thread waits for this; declared first, so that the thread ends if it never comes.
    admin: Sender<SocketFile>,
    door: Door,
}

/// The admin socket of a server that serves. Dropping it closes the socket, unless it was handed
/// over.
pub(crate) struct Door {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    /// One of the states above. The first to leave `SERVING` decides: the server, which stops, or a
    /// successor. If the successor cannot be reached, the state becomes `SERVING` again.
    state: AtomicU8,
    /// Bit n: the successor has taken the n-th socket.
    taken: AtomicU64,
    is_stopping: AtomicBool,
    /// Notifier that ends the thread.
    stop: Notifier,
    /// Notifies the server that a successor has taken over.
    handed_over: Notifier,
}

impl ClosedDoor {
    /// Performs all steps that may fail. `handed_over` is notified when a successor has taken over.
    pub(crate) fn new(offered: Vec<Offered>, handed_over: Notifier) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: AtomicU8::new(SERVING),
            taken: AtomicU64::new(0),
            is_stopping: AtomicBool::new(false),
            stop: Notifier::new()?,
            handed_over,
        });
        let (admin, opened) = channel();
        let theirs = Arc::clone(&shared);
        let thread = Builder::new().name("breezeway-admin".to_owned()).spawn(move || {
            if let Ok(admin) = opened.recv() {
                Answering { admin, offered, shared: theirs, log: LogLimit::new() }.run();
            }
        })?;
        Ok(Self { admin, door: Door { shared, thread: Some(thread) } })
    }

    /// Opens the door: the thread begins to answer.
    pub(crate) fn open(self, admin: SocketFile) -> Door {
        // The thread waits for it.
        let _ = self.admin.send(admin);
        self.door
    }
}

impl Door {
    /// Returns the sockets that a successor has taken, a bit for each, or None if none has taken
    /// over.
    pub(crate) fn handed_over(&self) -> Option<u64> {
        let is_handed_over = self.shared.state.load(Ordering::Acquire) == HANDED_OVER;
        is_handed_over.then(|| self.shared.taken.load(Ordering::Relaxed))
    }

    /// Stops handing over. Returns false if a successor has taken over already.
    pub(crate) fn close(&self) -> bool {
        self.shared.leave(STOPPED)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.close();
        self.shared.is_stopping.store(true, Ordering::Release);
        self.shared.stop.notify();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has harmed nothing here.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Leaves the state `SERVING` for `state`; returns false if it was left already.
    fn leave(&self, state: u8) -> bool {
        let (old, order) = (SERVING, Ordering::AcqRel);
        loop {
            match self.state.compare_exchange(old, state, order, Ordering::Acquire) {
                Ok(_) => return true,
                // Lasts for one system call that does not wait.
                Err(TELLING) => thread::yield_now(),
                Err(_) => return false,
            }
        }
    }
}

/// The thread's state.
struct Answering {
    admin: SocketFile,
    offered: Vec<Offered>,
    shared: Arc<Shared>,
    log: LogLimit,
}

impl Answering {
    fn run(mut self) {
        while !self.shared.is_stopping.load(Ordering::Acquire) {
            match accept(&self.admin) {
                Ok(Some(connection)) => {
                    if self.answer(connection) {
                        return self.admin.release();
                    }
                }
                Ok(None) => drop(self.wait(&self.admin, Deadline::NEVER)),
                Err(error) => {
                    self.complain(&error.into());
                    let pause = Deadline::after(ACCEPT_PAUSE);
                    let stop = &self.shared.stop;
                    // This wait fails as rarely as the pause itself.
                    let _ = any_ready(&mut [PollFd::new(stop, PollFlags::IN)], pause);
                }
            }
        }
    }

    /// Answers a connected process; returns true if it has taken over.
    fn answer(&mut self, connection: OwnedFd) -> bool {
        let connection = Connection::from(connection);
        let outcome = self.hand_over(&connection);
        drop(connection);
        match outcome {
            Ok(()) => true,
            Err(error) => {
                self.complain(&error);
                false
            }
        }
    }

    fn complain(&mut self, error: &TakeOverError) {
        if let Some(suppressed) = self.log.admit() {
            tracing::warn!(%error, suppressed, "no successor has taken over at the admin socket");
        }
    }

    fn hand_over(&self, connection: &OwnedFd) -> Result<(), TakeOverError> {
        let peer = Peer::of(connection)?;
        if !peer.is_same_user() {
            return Err(TakeOverError::OtherUser(peer.uid));
        }
        let mut asked = [0; 8];
        self.receive(connection, &mut asked, Deadline::after(ASKING))?;
        if asked != wire::ASK {
            return Err(TakeOverError::Garbled("no request to take over"));
        }
        for Offered { place, kept, socket } in &self.offered {
            let kind = if *kept { wire::KEPT } else { wire::SOCKET };
            wire::send_socket(connection, kind, &place.to_string(), Some(socket.as_fd()))?;
        }
        wire::send_socket(connection, wire::ADMIN, "", Some(self.admin.as_fd()))?;
        wire::send_socket(connection, wire::END, "", None)?;
        let mut ready = [0; 9];
        self.receive(connection, &mut ready, Deadline::after(STARTING))?;
        let (word, taken) = ready.split_at(1);
        if word != [wire::READY] {
            return Err(TakeOverError::Garbled("no word that it serves"));
        }
        let taken = u64::from_le_bytes(taken.try_into().expect("eight bytes"));
        self.shared.taken.store(taken, Ordering::Relaxed);
        if !self.shared.leave(TELLING) {
            return Err(TakeOverError::Ended);
        }
        // A successor that no longer waits for this has shut the connection down, and does not
        // serve.
        let told = wire::send(connection, &[wire::DONE], None);
        let state = if told.is_ok() { HANDED_OVER } else { SERVING };
        self.shared.state.store(state, Ordering::Release);
        told?;
        self.shared.handed_over.notify();
        tracing::info!(?peer, "a successor has taken over");
        Ok(())
    }

    /// Waits for bytes, unless the server stops.
    fn receive(
        &self,
        connection: &OwnedFd,
        bytes: &mut [u8],
        deadline: Deadline,
    ) -> Result<(), TakeOverError> {
        for at in 0..bytes.len() {
            if !self.wait(connection, deadline)? {
                return Err(TakeOverError::Silent);
            }
            // Unexpected descriptors are closed.
            wire::receive(connection, &mut bytes[at..=at], &mut Vec::new(), deadline)?;
        }
        Ok(())
    }

    /// Waits until something is readable; returns false if the time is over, or the server stops.
    fn wait(&self, fd: impl AsFd, deadline: Deadline) -> Result<bool, TakeOverError> {
        let stop = &self.shared.stop;
        let mut fds = [PollFd::new(&fd, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        let is_ready = any_ready(&mut fds, deadline).map_err(io::Error::from)?;
        Ok(is_ready && fds[1].revents().is_empty())
    }
}
