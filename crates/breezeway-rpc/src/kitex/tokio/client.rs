//! Calls to Thrift servers on sockets, for tasks.

use std::borrow::Cow;
use std::io;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

use breezeway::unstable;
use breezeway::{Address, CallError, Carrier, ConnectError, Place, SessionOptions};
use breezeway_os::Deadline;
use breezeway_tokio::ForeignStream;
use breezeway_tokio::unstable::on_a_thread;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use crate::caller::CallOptions;
use crate::error::Error;
use crate::kitex::calling::{LAST_WORDS, ThriftFraming, exception, outcome, stays};
use crate::kitex::pool::{Pool, Reach, Traffic};
use crate::kitex::socket::{self, UNNAMED};
use crate::kitex::{Message, Receiver};
use crate::method::Method;
use crate::thrift::{self, Limits};
use crate::tokio::AsyncChannel;

/// Client of a Thrift server for tasks, the awaited form of [`ThriftClient`](crate::ThriftClient).
#[derive(Debug)]
pub struct AsyncThriftClient {
    pool: Pool<Connection>,
    route: Route,
    /// Timeout of calls that set none themselves.
    call_timeout: Option<Duration>,
}

pub(crate) trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// Source of its connections.
#[derive(Debug)]
enum Route {
    Sockets(Reach),
    #[cfg(feature = "shmipc")]
    Shmipc(breezeway_shmipc::asynchronous::Client),
}

struct Connection {
    socket: Socket,
    receiver: Receiver,
}

#[derive(Debug)]
pub(super) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
    Tls(ForeignStream),
    #[cfg(feature = "shmipc")]
    Shmipc(breezeway_shmipc::asynchronous::Stream),
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.socket.fmt(formatter)
    }
}

impl AsyncThriftClient {
    /// Creates a client of the server at the first of these places that can be connected to, in
    /// TTHeader. Nothing is connected yet.
    pub fn new(address: Address) -> Self {
        Self::with_framing(address, ThriftFraming::default())
    }

    /// Creates a client like [`new`](Self::new), with this framing of messages.
    pub fn with_framing(address: Address, framing: ThriftFraming) -> Self {
        Self::by(Route::Sockets(Reach::new(address)), framing)
    }

    /// Creates a client over shmipc; see
    /// [`ThriftClient::over_shmipc`](crate::ThriftClient::over_shmipc).
    #[cfg(feature = "shmipc")]
    #[cfg_attr(docsrs, doc(cfg(feature = "shmipc")))]
    pub fn over_shmipc(
        client: breezeway_shmipc::asynchronous::Client,
        framing: ThriftFraming,
    ) -> Self {
        let pool = pool(framing);
        client.get().on_replaced(pool.forgets());
        Self { pool, route: Route::Shmipc(client), call_timeout: None }
    }

    fn by(route: Route, framing: ThriftFraming) -> Self {
        Self { pool: pool(framing), route, call_timeout: None }
    }

    /// Sets the maximum time for connecting; see
    /// [`ThriftClient::connect_timeout`](crate::ThriftClient::connect_timeout).
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.route.change(|reach| reach.timeout = timeout);
        self
    }

    /// Sets the certificates; see [`ThriftClient::tls`](crate::ThriftClient::tls).
    #[cfg(feature = "tls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
    pub fn tls(mut self, tls: breezeway::Tls) -> Self {
        self.route.change(|reach| reach.options = std::mem::take(&mut reach.options).tls(tls));
        self
    }

    /// Creates a client like [`with_framing`](Self::with_framing), with the certificates and
    /// timeouts of these options.
    #[cfg(feature = "tower")]
    pub(crate) fn with_options(
        address: Address,
        framing: ThriftFraming,
        options: SessionOptions,
    ) -> Self {
        let (timeout, call_timeout) = unstable::timeouts(&options);
        let route = Route::Sockets(Reach { address, timeout, options });
        Self { call_timeout, ..Self::by(route, framing) }
    }

    /// Ensures that there is a connection for a call.
    #[cfg(feature = "tower")]
    pub(crate) async fn connect(&self) -> Result<(), Error> {
        self.pool.keep(Traffic::Calls, self.connection(Traffic::Calls).await?);
        Ok(())
    }

    fn in_time<'o>(&self, options: &'o CallOptions) -> Cow<'o, CallOptions> {
        match (options.timeout, self.call_timeout) {
            (None, Some(time)) => Cow::Owned(options.clone().timeout(time)),
            _ => Cow::Borrowed(options),
        }
    }

    async fn connection(&self, traffic: Traffic) -> Result<Connection, Error> {
        if let Some(idle) = self.pool.idle(traffic, |connection| connection.socket.is_usable()) {
            return Ok(idle);
        }
        let socket = self.socket().await?;
        Ok(Connection { socket, receiver: Receiver::new(Limits::default()) })
    }

    /// Opens a new connection.
    pub(super) async fn socket(&self) -> Result<Socket, Error> {
        match &self.route {
            Route::Sockets(reach) => connect(reach).await,
            #[cfg(feature = "shmipc")]
            Route::Shmipc(client) => Ok(Socket::Shmipc(client.open().await?)),
        }
    }

    async fn exchange<A: thrift::Call + Sync>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<A::Reply, Error> {
        let (mut connection, sequence) =
            self.send(Traffic::Calls, method, arguments, options).await?;
        let message = connection.receive().await?;
        if stays(&message, sequence) && connection.receiver.is_empty() {
            self.pool.keep(Traffic::Calls, connection);
        }
        outcome::<A>(&message, sequence, options)
    }

    async fn send<A: thrift::Call + Sync>(
        &self,
        traffic: Traffic,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(Connection, i32), Error> {
        let (bytes, sequence) = self.pool.request(method, arguments, options)?;
        let mut connection = self.connection(traffic).await?;
        options.took(connection.socket.carrier());
        match connection.write(&bytes).await {
            Ok(()) => Ok((connection, sequence)),
            Err(error) => Err(connection.unwritten(error).await),
        }
    }
}

fn pool(framing: ThriftFraming) -> Pool<Connection> {
    Pool::new(framing, |connection| connection.socket.is_replaced())
}

/// Connects to the first place that accepts.
async fn connect(reach: &Reach) -> Result<Socket, Error> {
    let Reach { address, timeout, options } = reach;
    let mut last = Error::Connecting(address.clone(), io::ErrorKind::NotFound.into());
    for place in address.places() {
        let connected = match place {
            Place::Tls { .. } => {
                let options = options.clone().handshake_timeout(*timeout);
                Socket::connect_within_tls(place.clone(), options).await
            }
            _ => Socket::connect(place, *timeout)
                .await
                .map_err(|error| Error::Connecting(address.clone(), error)),
        };
        match connected {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl AsyncChannel for AsyncThriftClient {
    async fn call<A: thrift::Call + Sync>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<A::Reply, Error> {
        let options = &self.in_time(options);
        within(options, self.exchange(method, arguments, options)).await
    }

    async fn post<A: thrift::Call + Sync>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(), Error> {
        let options = &self.in_time(options);
        let sending = self.send(Traffic::Oneways, method, arguments, options);
        let (connection, _) = within(options, sending).await?;
        self.pool.keep(Traffic::Oneways, connection);
        Ok(())
    }
}

/// Runs a call within its time. If it is given up, its connection is dropped with it.
async fn within<T>(
    options: &CallOptions,
    call: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match options.timeout {
        None => call.await,
        Some(time) => match timeout(time, call).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::Call(CallError::DeadlinePassed)),
        },
    }
}

impl Connection {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let socket = self.socket.bytes();
        socket.write_all(bytes).await?;
        // Over TLS, written bytes may still need room.
        socket.flush().await
    }

    /// Returns the error of a request that could not be written, like the blocking client.
    async fn unwritten(&mut self, error: io::Error) -> Error {
        let reason = timeout(LAST_WORDS, self.receive()).await;
        let reason = reason.ok().and_then(Result::ok).as_ref().and_then(exception);
        reason.unwrap_or_else(|| self.receiver.failure(error))
    }

    async fn receive(&mut self) -> Result<Message, Error> {
        loop {
            if let Some(message) = self.receiver.next().map_err(Error::wire)? {
                return Ok(message);
            }
            let read = self.socket.bytes().read(self.receiver.room()).await;
            match read.map_err(|error| self.receiver.failure(error))? {
                0 => return Err(Error::Io(io::ErrorKind::UnexpectedEof.into())),
                count => self.receiver.take(count),
            }
        }
    }
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

impl Socket {
    /// Connects on a thread, because it blocks.
    async fn connect(place: &Place, limit: Duration) -> io::Result<Self> {
        let to = place.clone();
        let connecting = move || socket::connect(&to, Deadline::after(limit));
        let socket = on_a_thread(connecting).await??;
        rustix::io::ioctl_fionbio(&socket, true)?;
        match place {
            Place::Tcp { .. } => Ok(Self::Tcp(TcpStream::from_std(socket.into())?)),
            _ => Ok(Self::Unix(UnixStream::from_std(socket.into())?)),
        }
    }

    /// Connects on a thread, because it blocks for a moment.
    async fn connect_within_tls(place: Place, options: SessionOptions) -> Result<Self, Error> {
        let address = place.clone().into();
        let connecting = on_a_thread(move || unstable::connect_foreign(&place, &options, UNNAMED));
        let connection = connecting.await.map_err(ConnectError::Thread)??;
        let stream = ForeignStream::new(connection);
        Ok(Self::Tls(stream.map_err(|error| Error::Connecting(address, error))?))
    }

    pub(super) fn into_bytes(self) -> Box<dyn Bytes> {
        match self {
            Self::Tls(stream) => Box::new(stream),
            Self::Unix(socket) => Box::new(socket),
            Self::Tcp(socket) => Box::new(socket),
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream) => Box::new(stream),
        }
    }

    pub(super) fn carrier(&self) -> Carrier {
        match self {
            Self::Tls(_) => Carrier::Tls,
            Self::Unix(_) => Carrier::Unix,
            Self::Tcp(_) => Carrier::Tcp,
            #[cfg(feature = "shmipc")]
            Self::Shmipc(_) => Carrier::Shmipc,
        }
    }

    /// Returns true if its client has another session by now, and this one ends with its streams.
    fn is_replaced(&self) -> bool {
        match self {
            Self::Tls(_) | Self::Unix(_) | Self::Tcp(_) => false,
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream) => stream.session().get().is_replaced(),
        }
    }

    fn bytes(&mut self) -> &mut dyn Bytes {
        match self {
            Self::Tls(stream) => stream,
            Self::Unix(socket) => socket,
            Self::Tcp(socket) => socket,
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream) => stream,
        }
    }

    /// Returns true if an idle connection is unchanged: nothing was received, not even its end.
    /// (TLS may have received messages of its own.)
    fn is_usable(&mut self) -> bool {
        let mut byte = [0];
        let read = match self {
            Self::Unix(socket) => socket.try_read(&mut byte),
            Self::Tcp(socket) => socket.try_read(&mut byte),
            Self::Tls(stream) => return is_silent(stream),
            #[cfg(feature = "shmipc")]
            Self::Shmipc(stream) => {
                return stream.session().get().is_usable() && is_silent(stream);
            }
        };
        matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

/// Returns true if nothing was received, not even the end.
fn is_silent(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    let mut byte = [0];
    Pin::new(stream).poll_read(&mut cx, &mut ReadBuf::new(&mut byte)).is_pending()
}
