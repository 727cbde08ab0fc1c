//! A server for tasks.

use super::Session;
use crate::address::Address;
use crate::error::ServeError;
use crate::log_limit::warn_limited;
use crate::options::ServerOptions;
use crate::server;

/// Accepts shmipc clients at an address, the awaited form of [`crate::Server`].
pub struct Server {
    server: server::Server,
}

impl Server {
    /// Listens at `address`. Accepting and handshakes run on threads of their own.
    pub fn bind(address: &Address, options: ServerOptions) -> Result<Self, ServeError> {
        Ok(Self { server: server::Server::bind(address, options)? })
    }

    /// Waits for the next session; `None` when the server was stopped.
    pub async fn accept(&self) -> Option<Session> {
        loop {
            let accepted = std::future::poll_fn(|context| self.server.poll_accept(context.waker()));
            match Session::new(accepted.await?) {
                Ok(session) => return Some(session),
                Err(error) => warn_limited!(%error, "a shmipc session has no driver"),
            }
        }
    }

    /// Returns the blocking server, for methods that do not wait.
    pub fn get(&self) -> &server::Server {
        &self.server
    }
}
