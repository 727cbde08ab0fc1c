//! Calls to Thrift servers on sockets: a pool of connections, each with one call at a time.

use std::io;
use std::time::Instant;

use breezeway::Address;

use super::calling::{ThriftFraming, outcome, stays};
use super::pool::Pool;
use super::socket::Socket;
use super::{Message, Receiver};
use crate::caller::CallOptions;
use crate::channel::Channel;
use crate::error::Error;
use crate::method::Method;
use crate::thrift::{self, Limits};

/// Calls a Thrift server, such as one of Kitex, Volo or an Apache library, on a unix or TCP socket.
///
/// Threads share it: each call has a connection for itself, which is opened when no other is idle,
/// within a second for each of the server's addresses. A connection that failed, or whose reply was
/// given up, is closed; one that the server closed while idle is replaced before it is used.
///
/// ```no_run
/// use breezeway_rpc::ThriftClient;
///
/// let server = ThriftClient::new("unix:/run/users.sock".parse()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ThriftClient {
    pool: Pool<Connection>,
}

#[derive(Debug)]
struct Connection {
    socket: Socket,
    receiver: Receiver,
}

impl ThriftClient {
    /// Calls the server at the first of these places that can be connected to, in TTHeader. Nothing
    /// is connected yet.
    pub fn new(address: Address) -> Self {
        Self::with_framing(address, ThriftFraming::default())
    }

    /// As [`Self::new`], with messages that are wrapped so.
    pub fn with_framing(address: Address, framing: ThriftFraming) -> Self {
        Self { pool: Pool::new(address, framing) }
    }

    pub(super) fn address(&self) -> &Address {
        &self.pool.address
    }

    fn connection(&self, deadline: Option<Instant>) -> Result<Connection, Error> {
        if let Some(idle) = self.pool.idle(|connection| connection.socket.is_usable()) {
            return Ok(idle);
        }
        let socket = connect(&self.pool.address, deadline)?;
        Ok(Connection { socket, receiver: Receiver::new(Limits::default()) })
    }

    fn send<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
        deadline: Option<Instant>,
    ) -> Result<(Connection, i32), Error> {
        let (bytes, sequence) = self.pool.request(method, arguments, options)?;
        let connection = self.connection(deadline)?;
        connection.socket.write(&bytes, deadline)?;
        Ok((connection, sequence))
    }
}

/// Connects to the first place that can be.
pub(super) fn connect(address: &Address, deadline: Option<Instant>) -> Result<Socket, Error> {
    let mut outcome = Err(io::ErrorKind::NotFound.into());
    for place in address.places() {
        outcome = Socket::connect(place, deadline);
        if outcome.is_ok() {
            break;
        }
    }
    outcome.map_err(|error| Error::Connecting(address.clone(), error))
}

impl Channel for ThriftClient {
    fn call<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<A::Reply, Error> {
        let deadline = options.deadline();
        let (mut connection, sequence) = self.send(method, arguments, options, deadline)?;
        let message = connection.receive(deadline)?;
        if stays(&message, sequence) && connection.receiver.is_empty() {
            self.pool.keep(connection);
        }
        outcome::<A>(&message, sequence, options)
    }

    fn post<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(), Error> {
        let (connection, _) = self.send(method, arguments, options, options.deadline())?;
        self.pool.keep(connection);
        Ok(())
    }
}

impl Connection {
    fn receive(&mut self, deadline: Option<Instant>) -> Result<Message, Error> {
        loop {
            if let Some(message) = self.receiver.next().map_err(Error::wire)? {
                return Ok(message);
            }
            match self.socket.read(self.receiver.room(), deadline)? {
                0 => return Err(Error::Io(io::ErrorKind::UnexpectedEof.into())),
                count => self.receiver.take(count),
            }
        }
    }
}
