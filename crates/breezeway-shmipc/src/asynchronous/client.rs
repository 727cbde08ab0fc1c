//! A client for tasks.

use std::sync::Arc;

use super::Stream;
use crate::address::Address;
use crate::error::ConnectError;
use crate::options::ClientOptions;

/// Streams to the server at an address, as [`crate::Client`], for tasks.
#[derive(Clone, Debug)]
pub struct Client {
    client: Arc<crate::Client>,
}

impl Client {
    /// Connects all sessions, in a thread for blocking work.
    pub async fn connect(address: &Address, options: ClientOptions) -> Result<Self, ConnectError> {
        let address = address.clone();
        let client = aside(move || crate::Client::connect(&address, options)).await?;
        Ok(Self { client: Arc::new(client) })
    }

    /// The client itself, for what does not wait.
    pub fn get(&self) -> &crate::Client {
        &self.client
    }

    /// Opens a stream; waits for a session if there is none, at most for `connect_timeout`.
    pub async fn open(&self) -> Result<Stream, ConnectError> {
        let opened = match self.client.try_open()? {
            Some(stream) => stream,
            None => {
                let client = Arc::clone(&self.client);
                aside(move || client.open()).await?
            }
        };
        Ok(Stream::new(opened)?)
    }

    /// Leaves a stream to whoever opens the next one, instead of closing it. See
    /// [`crate::Client::put_back`].
    pub fn put_back(&self, stream: Stream) {
        self.client.put_back(stream.into_blocking());
    }
}

/// Does what blocks in a thread of its own.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ConnectError> + Send + 'static,
) -> Result<T, ConnectError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(ConnectError::Closed))
}
