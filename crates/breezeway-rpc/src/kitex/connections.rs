//! The Thrift clients of a server with blocking handlers: a thread for each.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::Duration;

use breezeway::Peer;
use breezeway_os::shortage;

use super::connection::serve_connection;
use super::incoming::{Ending, Incoming};
use crate::server::Services;

/// Time in which clients may read the last replies when the server stops.
const LAST_REPLIES: Duration = Duration::from_secs(1);

/// Maximum number of threads for a client's requests, besides two for each of its connections.
const MAX_THREADS_OF_CLIENT: usize = 128;

/// All connections that are being served.
#[derive(Default)]
pub(crate) struct Connections {
    /// Maximum number of concurrent connections, if limited.
    most: Option<usize>,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// Set while Thrift clients are served.
    services: Option<Arc<Services>>,
    next: u64,
    /// Handles that end each connection.
    endings: HashMap<u64, Ending>,
    /// Threads of the requests of each client that has a connection.
    threads: HashMap<Client, Weak<Threads>>,
}

/// Identity of a client as far as known: a process, a user without a known process, or a host.
type Client = (Option<u32>, Option<u32>, Option<IpAddr>);

/// Threads of one client's requests.
#[derive(Debug, Default)]
struct Threads(Mutex<usize>);

impl Threads {
    fn count(&self) -> MutexGuard<'_, usize> {
        self.0.lock().expect("no panic under the lock")
    }
}

/// A thread that counts as its client's.
#[derive(Debug)]
pub(super) struct CountedThread(Arc<Threads>);

impl Drop for CountedThread {
    fn drop(&mut self) {
        *self.0.count() -= 1;
    }
}

impl Connections {
    /// Limits the number of concurrent connections; further ones are closed.
    #[cfg(feature = "shmipc")]
    pub(crate) fn at_most(most: usize) -> Self {
        Self { most: Some(most), ..Self::default() }
    }

    /// Serves clients from now on.
    pub(crate) fn open(&self, services: &Arc<Services>) {
        self.lock().services = Some(Arc::clone(services));
    }

    /// Serves a client on a thread of its own, if clients are served now.
    pub(crate) fn serve(self: &Arc<Self>, connection: impl Into<Incoming>) {
        let connection = connection.into();
        let Some((services, number)) = self.enter(&connection) else { return };
        let threads = self.lock().threads_of(connection.peer());
        let place = Arc::new(Place { connections: Arc::clone(self), number, threads });
        let thread = std::thread::Builder::new().name("thrift client".to_owned());
        let started = thread.spawn(move || {
            // Given up last: then no thread of this client is left.
            let place = place;
            serve_connection(&services, connection, &place);
        });
        if let Err(error) = started.map_err(shortage::no_thread) {
            tracing::warn!(%error, "no thread for a Thrift client");
        }
    }

    fn enter(&self, connection: &Incoming) -> Option<(Arc<Services>, u64)> {
        let mut state = self.lock();
        let Some(services) = state.services.clone() else {
            tracing::debug!(?connection, "no Thrift clients are served here");
            return None;
        };
        // Under the lock, because several threads accept.
        if let Some(most) = self.most.filter(|most| state.endings.len() >= *most) {
            tracing::debug!(?connection, "a connection too many: {most} are served");
            return None;
        }
        match connection.ending() {
            Ok(ending) => {
                state.next += 1;
                let number = state.next;
                state.endings.insert(number, ending);
                Some((services, number))
            }
            Err(error) => {
                let advice = shortage::advice(&error);
                tracing::warn!("no descriptor for a Thrift client: {error}{advice}");
                None
            }
        }
    }

    #[cfg(all(test, feature = "shmipc"))]
    pub(super) fn count(&self) -> usize {
        self.lock().endings.len()
    }

    /// Ends all connections: received requests are served and answered, then the threads end. Waits
    /// for running handlers.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.services = None;
        state.endings.values().for_each(Ending::end_reading);
        let is_open = |state: &mut State| !state.endings.is_empty();
        let waited = self.ended.wait_timeout_while(state, LAST_REPLIES, is_open);
        let (state, _) = waited.expect("no panic under the lock");
        // Clients that do not read.
        state.endings.values().for_each(Ending::cut_off);
        drop(self.ended.wait_while(state, is_open).expect("no panic under the lock"));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic under the lock")
    }
}

impl State {
    /// Returns the thread count of a client, one for all its connections.
    fn threads_of(&mut self, peer: &Peer) -> Arc<Threads> {
        let client = (peer.pid, peer.uid, peer.remote.map(|remote| remote.ip()));
        if let Some(threads) = self.threads.get(&client).and_then(Weak::upgrade) {
            return threads;
        }
        // Removes those of clients that are gone.
        self.threads.retain(|_, threads| threads.strong_count() > 0);
        let threads = Arc::default();
        self.threads.insert(client, Arc::downgrade(&threads));
        threads
    }
}

/// A connection's place among all.
pub(super) struct Place {
    connections: Arc<Connections>,
    number: u64,
    threads: Arc<Threads>,
}

impl Place {
    /// Counts one more thread of this client, or returns `None` if it has reached its limit.
    pub(super) fn count_thread(&self) -> Option<CountedThread> {
        let mut count = self.threads.count();
        if *count == MAX_THREADS_OF_CLIENT {
            return None;
        }
        *count += 1;
        Some(CountedThread(Arc::clone(&self.threads)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let ending = self.connections.lock().endings.remove(&self.number);
        // Without the lock: it may be the last of a session, which takes a while to end.
        drop(ending);
        self.connections.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::time::Instant;

    use rustix::net::sockopt::set_socket_linger;

    use super::*;

    #[test]
    fn slow_connection_is_closed_outside_the_lock() {
        const LINGER: Duration = Duration::from_secs(5);
        // A socket that takes longer to close, because its other end does not read.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut slow = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (other, _) = listener.accept().unwrap();
        slow.set_nonblocking(true).unwrap();
        while slow.write(&[0; 65_536]).is_ok() {}
        slow.set_nonblocking(false).unwrap();
        set_socket_linger(&slow, Some(LINGER + Duration::from_secs(1))).unwrap();

        let connections: Arc<Connections> = Arc::default();
        connections.lock().endings.insert(1, Ending::Socket(slow.into()));
        let threads = Arc::default();
        let place = Place { connections: Arc::clone(&connections), number: 1, threads };
        let start = Instant::now();
        let closing = std::thread::spawn(move || drop(place));
        while !connections.lock().endings.is_empty() {
            std::thread::yield_now();
        }
        assert!(start.elapsed() < LINGER, "others waited for {:?}", start.elapsed());
        // Ends the wait for the unread bytes.
        drop(other);
        closing.join().unwrap();
    }

    #[test]
    fn threads_of_a_client_are_bounded_over_its_connections() {
        let connections: Arc<Connections> = Arc::default();
        let place = |number, pid| {
            let peer =
                Peer { pid: Some(pid), uid: Some(1), gid: None, remote: None, identity: None };
            let threads = connections.lock().threads_of(&peer);
            Place { connections: Arc::clone(&connections), number, threads }
        };
        let (one, two, other) = (place(1, 7), place(2, 7), place(3, 8));
        let mut counted: Vec<_> = (0..MAX_THREADS_OF_CLIENT / 2)
            .flat_map(|_| [one.count_thread(), two.count_thread()])
            .collect();
        assert!(counted.iter().all(Option::is_some));
        assert!(one.count_thread().is_none() && two.count_thread().is_none());
        assert!(other.count_thread().is_some());
        counted.pop();
        assert!(two.count_thread().is_some());
    }
}
