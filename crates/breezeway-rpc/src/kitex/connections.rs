//! The Thrift clients of a server whose handlers block: a thread for each.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use breezeway_os::shortage;

use super::connection::serve_connection;
use super::incoming::{Ending, Incoming};
use crate::server::Services;

/// How long clients may take, when the server stops, to read the replies to what they had sent.
const LAST_REPLIES: Duration = Duration::from_secs(1);

/// Every connection that is being served.
#[derive(Default)]
pub(crate) struct Connections {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// There while Thrift clients are served.
    services: Option<Arc<Services>>,
    next: u64,
    /// What ends each connection.
    endings: HashMap<u64, Ending>,
}

impl Connections {
    /// From now on clients are served.
    pub(crate) fn open(&self, services: &Arc<Services>) {
        self.lock().services = Some(Arc::clone(services));
    }

    /// Serves a client on a thread of its own, if clients are served now.
    pub(crate) fn serve(self: &Arc<Self>, connection: impl Into<Incoming>) {
        let connection = connection.into();
        let Some((services, number)) = self.enter(&connection) else { return };
        let place = Place { connections: Arc::clone(self), number };
        let thread = std::thread::Builder::new().name("thrift client".to_owned());
        let started = thread.spawn(move || {
            // Given up last: then nothing of this client is left.
            let _place = place;
            serve_connection(&services, connection);
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

    /// Those that are served, or whose handlers still run.
    #[cfg(feature = "shmipc")]
    pub(crate) fn count(&self) -> usize {
        self.lock().endings.len()
    }

    /// Ends all: what was received is served and answered, then the threads end. Waits for handlers
    /// that run.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.services = None;
        state.endings.values().for_each(Ending::end_reading);
        let is_open = |state: &mut State| !state.endings.is_empty();
        let waited = self.ended.wait_timeout_while(state, LAST_REPLIES, is_open);
        let (state, _) = waited.expect("nobody panics with the lock");
        // Clients that do not read.
        state.endings.values().for_each(Ending::cut_off);
        drop(self.ended.wait_while(state, is_open).expect("nobody panics with the lock"));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with the lock")
    }
}

/// A connection's place among all.
struct Place {
    connections: Arc<Connections>,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.lock().endings.remove(&self.number);
        self.connections.ended.notify_all();
    }
}
