//! Connections for tonic's own server.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use breezeway::{Address, ServerOptions};
use breezeway_tokio::{ErrorCode, Stream};
use tokio::sync::mpsc;

use crate::connection::Connection;
use crate::error::Error;
use crate::listening::{Listening, listen};

/// Stream of connections from [`incoming`]. Dropping it stops listening; connections that are being
/// served continue to their end.
pub struct Incoming {
    listening: Listening,
    connections: mpsc::Receiver<Connection>,
}

/// Listens at an address for tonic's own server, with default options.
///
/// The calls travel as HTTP/2 only: [`Server`](crate::Server) serves both gears.
///
/// ```no_run
/// # async fn serve(routes: tonic::service::Routes) -> Result<(), Box<dyn std::error::Error>> {
/// let incoming = breezeway_grpc::incoming("shm:/run/app.sock")?;
/// tonic::transport::Server::builder().add_routes(routes).serve_with_incoming(incoming).await?;
/// # Ok(())
/// # }
/// ```
pub fn incoming(address: impl AsRef<str>) -> Result<Incoming, Error> {
    incoming_with(address, ServerOptions::new())
}

/// Listens like [`incoming`], with options: the mode of the socket file, allowed clients, limits.
pub fn incoming_with(address: impl AsRef<str>, options: ServerOptions) -> Result<Incoming, Error> {
    let address: Address = address.as_ref().parse()?;
    let no_call = |stream: Stream| {
        stream.reset(ErrorCode::NoSuchMethod);
        std::future::ready(())
    };
    let (listening, connections) = listen(&address, options, 0, no_call)?;
    Ok(Incoming { listening, connections })
}

impl Incoming {
    /// Returns the address it listens at, with the actual ports in place of 0.
    pub fn address(&self) -> &Address {
        &self.listening.address
    }
}

impl futures_core::Stream for Incoming {
    type Item = io::Result<Connection>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.connections.poll_recv(cx).map(|connection| connection.map(Ok))
    }
}
