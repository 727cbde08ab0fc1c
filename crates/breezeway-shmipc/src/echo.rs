//! The two ends of a measurement: a server that sends back every byte of every stream, and a client
//! that calls it.

use std::io;

use crate::address::Address;
use crate::client::Client;
use crate::error::{ConnectError, ServeError, StreamError};
use crate::options::{ClientOptions, ServerOptions};
use crate::server::{Server, Stopper};
use crate::stream::Stream;

/// Sends every byte of every stream back.
///
/// ```no_run
/// use breezeway_shmipc::{EchoServer, ServerOptions, Trust};
///
/// let address = "shmipc:/tmp/echo.sock".parse()?;
/// let server = EchoServer::bind(&address, ServerOptions::new(Trust::SameUser))?;
/// let stopper = server.stopper(); // for a signal handler's thread
/// server.run(); // until stopper.stop()
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EchoServer {
    server: Server,
}

impl EchoServer {
    /// Listens at `address`.
    pub fn bind(address: &Address, options: ServerOptions) -> Result<Self, ServeError> {
        Ok(Self { server: Server::bind(address, options)? })
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        self.server.address()
    }

    /// Something that stops it from another thread.
    pub fn stopper(&self) -> Stopper {
        self.server.stopper()
    }

    /// Serves until it is stopped.
    pub fn run(self) {
        self.server.serve(echo);
    }
}

/// Sends back what has come on a stream, part by part, copying it once.
pub fn echo(stream: &mut Stream) -> Result<(), StreamError> {
    let (reader, writer) = stream.halves();
    while let Some(arrived) = reader.try_peek()? {
        let mut reserved = writer.reserve_some(arrived.len())?;
        let copied = reserved.write_peeked(&arrived);
        reserved.commit()?;
        reader.release(copied);
    }
    Ok(())
}

/// One stream to a server that echoes, for a closed loop.
///
/// ```no_run
/// use breezeway_shmipc::{ClientOptions, EchoClient, Trust};
///
/// let address = "shmipc:/tmp/echo.sock".parse()?;
/// let mut client = EchoClient::connect(&address, ClientOptions::new(Trust::Anybody))?;
/// let mut reply = vec![0; 5];
/// client.call(b"hello", &mut reply)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EchoClient {
    stream: Stream,
    client: Client,
}

impl EchoClient {
    /// Connects, and opens a stream.
    pub fn connect(address: &Address, options: ClientOptions) -> Result<Self, ConnectError> {
        let client = Client::connect(address, options)?;
        Ok(Self { stream: client.open()?, client })
    }

    /// The stream, for another way of calling.
    pub fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// Another stream of the same client.
    pub fn open(&self) -> Result<Stream, ConnectError> {
        self.client.open()
    }

    /// Sends `request` and receives as many bytes into `reply`, which must be as long. Sending and
    /// receiving are interleaved, so a request larger than the shared memory does not get stuck.
    pub fn call(&mut self, request: &[u8], reply: &mut [u8]) -> io::Result<()> {
        call(&mut self.stream, request, reply)
    }
}

/// The largest piece of a request that is under way before its echo is received.
const WINDOW: usize = 1 << 20;

fn call(stream: &mut Stream, request: &[u8], reply: &mut [u8]) -> io::Result<()> {
    use std::io::Read;
    if request.len() != reply.len() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "request and reply differ in length",
        ));
    }
    for (sent, received) in request.chunks(WINDOW).zip(reply.chunks_mut(WINDOW)) {
        stream.send(sent)?;
        stream.read_exact(received)?;
    }
    Ok(())
}
