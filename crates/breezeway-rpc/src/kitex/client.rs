//! Calls to Thrift servers on sockets: a pool of connections, each with one call at a time.

use std::io;
#[cfg(feature = "shmipc")]
use std::sync::Arc;
use std::time::{Duration, Instant};

use breezeway::{Address, Place};
#[cfg(feature = "shmipc")]
use breezeway_shmipc::{ConnectError, Deadline};

use super::calling::{LAST_WORDS, ThriftFraming, exception, outcome, stays};
use super::connected::Connected;
use super::pool::{Pool, Reach, Traffic};
#[cfg(feature = "shmipc")]
use super::shmipc::Stream;
use super::socket::Socket;
use super::{Message, Receiver};
use crate::caller::CallOptions;
use crate::channel::Channel;
use crate::error::Error;
use crate::method::Method;
use crate::thrift::{self, Limits};

/// Client of a Thrift server, such as one of Kitex, Volo or an Apache library, on a unix or TCP
/// socket, within TLS, or over shmipc.
///
/// Threads share it: each call has a connection for itself, which is opened when no other is idle,
/// within a second for each of the server's addresses ([`Self::connect_timeout`]). A connection
/// that failed, or whose reply was given up, is closed; one that the server closed while idle is
/// replaced before it is used. Oneway calls have connections of their own, so that no call waits
/// for the handler of one; they may therefore overtake each other.
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
    route: Route,
}

/// Source of its connections.
#[derive(Debug)]
enum Route {
    Sockets(Reach),
    #[cfg(feature = "shmipc")]
    Shmipc(breezeway_shmipc::Client),
}

#[derive(Debug)]
struct Connection {
    socket: Connected,
    receiver: Receiver,
}

impl ThriftClient {
    /// Creates a client of the server at the first of these places that can be connected to, in
    /// TTHeader. Nothing is connected yet.
    pub fn new(address: Address) -> Self {
        Self::with_framing(address, ThriftFraming::default())
    }

    /// Creates a client like [`new`](Self::new), with this framing of messages.
    pub fn with_framing(address: Address, framing: ThriftFraming) -> Self {
        Self::by(Route::Sockets(Reach::new(address)), framing)
    }

    /// Creates a client of the server of this client's sessions, where each connection is a stream:
    /// a server of [`ShmipcServer`](crate::ShmipcServer), or any that passes the bytes of its
    /// streams to a Thrift library, with this framing of messages. The shmipc client follows a
    /// restart of the server, and replaces a lost session.
    #[cfg(feature = "shmipc")]
    #[cfg_attr(docsrs, doc(cfg(feature = "shmipc")))]
    pub fn over_shmipc(client: breezeway_shmipc::Client, framing: ThriftFraming) -> Self {
        let pool = pool(framing);
        client.on_replaced(pool.forgets());
        Self { pool, route: Route::Shmipc(client) }
    }

    fn by(route: Route, framing: ThriftFraming) -> Self {
        Self { pool: pool(framing), route }
    }

    /// Sets the maximum time for connecting to one of the server's addresses, TLS's handshake
    /// included. Default 1 s. For shmipc the options of its client apply.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.route.change(|reach| reach.timeout = timeout);
        self
    }

    /// Sets the certificates of `tls:` addresses. Default: those that are
    /// [installed](breezeway::Tls::install_default).
    #[cfg(feature = "tls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
    pub fn tls(mut self, tls: breezeway::Tls) -> Self {
        self.route.change(|reach| reach.options = std::mem::take(&mut reach.options).tls(tls));
        self
    }

    fn connection(&self, traffic: Traffic, deadline: Option<Instant>) -> Result<Connection, Error> {
        if let Some(idle) = self.pool.idle(traffic, |connection| connection.socket.is_usable()) {
            return Ok(idle);
        }
        let socket = self.connect(deadline)?;
        Ok(Connection { socket, receiver: Receiver::new(Limits::default()) })
    }

    /// Opens a new connection.
    pub(super) fn connect(&self, deadline: Option<Instant>) -> Result<Connected, Error> {
        match &self.route {
            Route::Sockets(reach) => Ok(connect(reach, deadline)?.into()),
            #[cfg(feature = "shmipc")]
            Route::Shmipc(client) => {
                let stream = client.open_until(deadline.map_or(Deadline::NEVER, Deadline::at))?;
                let stream = Stream::try_from(stream).map_err(ConnectError::from)?;
                Ok(Connected::Shmipc(Arc::new(stream)))
            }
        }
    }

    fn send<A: thrift::Call>(
        &self,
        traffic: Traffic,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
        deadline: Option<Instant>,
    ) -> Result<(Connection, i32), Error> {
        let (bytes, sequence) = self.pool.request(method, arguments, options)?;
        let mut connection = self.connection(traffic, deadline)?;
        match connection.socket.write(&bytes, deadline) {
            Ok(()) => Ok((connection, sequence)),
            Err(error) => Err(connection.unwritten(error, deadline)),
        }
    }
}

fn pool(framing: ThriftFraming) -> Pool<Connection> {
    Pool::new(framing, |connection| connection.socket.is_replaced())
}

/// Connects to the first place that accepts.
fn connect(reach: &Reach, deadline: Option<Instant>) -> Result<Socket, Error> {
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

impl Route {
    /// Changes how sockets are connected from now on.
    fn change(&mut self, change: impl FnOnce(&mut Reach)) {
        match self {
            Self::Sockets(reach) => change(reach),
            #[cfg(feature = "shmipc")]
            Self::Shmipc(_) => {}
        }
    }
}

impl Channel for ThriftClient {
    fn call<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<A::Reply, Error> {
        let deadline = options.deadline();
        let (mut connection, sequence) =
            self.send(Traffic::Calls, method, arguments, options, deadline)?;
        let message = connection.receive(deadline)?;
        if stays(&message, sequence) && connection.receiver.is_empty() {
            self.pool.keep(Traffic::Calls, connection);
        }
        outcome::<A>(&message, sequence, options)
    }

    fn post<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(), Error> {
        let (connection, _) =
            self.send(Traffic::Oneways, method, arguments, options, options.deadline())?;
        self.pool.keep(Traffic::Oneways, connection);
        Ok(())
    }
}

impl Connection {
    /// Returns the error of a request that could not be written: the server's exception, if it sent
    /// one before it closed the connection.
    fn unwritten(&mut self, error: Error, deadline: Option<Instant>) -> Error {
        if let Error::Io(_) = error {
            let until = Instant::now() + LAST_WORDS;
            let until = deadline.map_or(until, |deadline| deadline.min(until));
            if let Some(reason) = self.receive(Some(until)).ok().as_ref().and_then(exception) {
                return reason;
            }
        }
        self.receiver.failure(error)
    }

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
