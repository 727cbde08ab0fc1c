//! Calls to Thrift servers on sockets: a pool of connections, each with one call at a time.

use std::io;
use std::time::{Duration, Instant};

use breezeway::{Address, Place};

use super::calling::{ThriftFraming, outcome, stays};
use super::pool::{Pool, Reach};
use super::socket::Socket;
use super::{Message, Receiver};
use crate::caller::CallOptions;
use crate::channel::Channel;
use crate::error::Error;
use crate::method::Method;
use crate::thrift::{self, Limits};

/// Calls a Thrift server, such as one of Kitex, Volo or an Apache library, on a unix or TCP socket,
/// or within TLS.
///
/// Threads share it: each call has a connection for itself, which is opened when no other is idle,
/// within a second for each of the server's addresses ([`Self::connect_timeout`]). A connection
/// that failed, or whose reply was given up, is closed; one that the server closed while idle is
/// replaced before it is used.
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

    /// How long connecting to one of the server's addresses may take, with TLS's handshake where
    /// there is one. Default 1 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.pool.reach.timeout = timeout;
        self
    }

    /// The certificates of `tls:` addresses. Without, those that are
    /// [installed](breezeway::Tls::install_default).
    #[cfg(feature = "tls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
    pub fn tls(mut self, tls: breezeway::Tls) -> Self {
        self.pool.reach.options = self.pool.reach.options.tls(tls);
        self
    }

    pub(super) fn reach(&self) -> &Reach {
        &self.pool.reach
    }

    fn connection(&self, deadline: Option<Instant>) -> Result<Connection, Error> {
        if let Some(idle) = self.pool.idle(|connection| connection.socket.is_usable()) {
            return Ok(idle);
        }
        let socket = connect(&self.pool.reach, deadline)?;
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
        let written = connection.socket.write(&bytes, deadline);
        written.map_err(|error| connection.receiver.failure(error))?;
        Ok((connection, sequence))
    }
}

/// Connects to the first place that can be.
pub(super) fn connect(reach: &Reach, deadline: Option<Instant>) -> Result<Socket, Error> {
    let Reach { address, timeout, options } = reach;
    let mut last = Error::Connecting(address.clone(), io::ErrorKind::NotFound.into());
    for place in address.places() {
        let connected = match place {
            Place::Tls { .. } => Socket::connect_within_tls(place, options, (deadline, *timeout)),
            _ => Socket::connect(place, (deadline, *timeout))
                .map_err(|error| Error::Connecting(address.clone(), error)),
        };
        match connected {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
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
            let read = self.socket.read(self.receiver.room(), deadline);
            match read.map_err(|error| self.receiver.failure(error))? {
                0 => return Err(Error::Io(io::ErrorKind::UnexpectedEof.into())),
                count => self.receiver.take(count),
            }
        }
    }
}
