//! A client for tasks.

use std::io;
use std::sync::Arc;

use breezeway_os::shortage;
use tokio::sync::oneshot;

use super::Stream;
use crate::address::Address;
use crate::client;
use crate::error::ConnectError;
use crate::options::ClientOptions;

/// Opens streams to the server at an address like [`crate::Client`], for tasks.
#[derive(Clone, Debug)]
pub struct Client {
    client: Arc<client::Client>,
}

impl Client {
    /// Connects all sessions, on a thread of its own.
    pub async fn connect(address: &Address, options: ClientOptions) -> Result<Self, ConnectError> {
        let failed = |cause| ConnectError::Connect { address: address.to_string(), cause };
        let (sender, connected) = oneshot::channel();
        let connecting = {
            let address = address.clone();
            // The receiver is gone if the caller gave up.
            move || drop(sender.send(client::Client::connect(&address, options)))
        };
        // Without this, tokio would panic if it could not start a thread.
        shortage::spawn("shmipc-connect", connecting).map_err(failed)?;
        let client = connected.await.map_err(|_| failed(io::Error::other("a panic")))??;
        Ok(Self { client: Arc::new(client) })
    }

    /// Returns the blocking client, for methods that do not wait.
    pub fn get(&self) -> &client::Client {
        &self.client
    }

    /// Opens a stream; waits for a session if there is none, at most for `connect_timeout`.
    pub async fn open(&self) -> Result<Stream, ConnectError> {
        Ok(Stream::new(self.client.open_awaited().await?)?)
    }

    /// Keeps a stream for the next [`open`](Self::open), instead of closing it. See
    /// [`crate::Client::put_back`].
    pub fn put_back(&self, stream: Stream) {
        self.client.put_back(stream.into_blocking());
    }
}
