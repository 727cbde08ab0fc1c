//! Client that tasks share, on one session at a time.

use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use breezeway::unstable;
use breezeway::{
    Address, AddressError, CallError, Carrier, ClientError, ClientOptions, ConnectError, Message,
};
use tokio::sync::MutexGuard;
use tokio::time::sleep;

use crate::request::{Limit, Request};
use crate::session::Session;
use crate::stream::Stream;

/// Number of times that a call is sent again that never ran because the server was about to end.
const RESENDS: u32 = 16;

/// Client that tasks share: it calls, posts, and opens and accepts streams, all on one [`Session`]
/// at a time. A new session replaces it for new calls and streams once it has ended or its server
/// goes away for a successor. Calls and streams in flight continue on the old one.
///
/// A client is cheap to clone, and all clones share the session. A call that was never sent is made
/// again. A call that may have run is not, see [`ClientError::may_have_run`].
///
/// ```no_run
/// use breezeway_tokio::{Client, ClientOptions};
///
/// const ECHO: u32 = 0;
/// const WATCH: u32 = 1;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let options = ClientOptions::new().wait_for_server(std::time::Duration::from_secs(5));
/// let client = Client::connect_with("shm:/run/echo.sock", options).await?;
/// let reply = client.call(ECHO, b"hello").await?;
/// let mut stream = client.open(WATCH).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client(Arc<Shared>);

struct Shared {
    address: Address,
    options: ClientOptions,
    session: Mutex<Session>,
    /// Held by the task that replaces the session.
    connecting: tokio::sync::Mutex<()>,
}

impl Client {
    /// Connects with default options.
    pub async fn connect(
        address: impl TryInto<Address, Error: Into<AddressError>>,
    ) -> Result<Self, ConnectError> {
        Self::connect_with(address, ClientOptions::new()).await
    }

    /// Connects with these options. There is one session at a time, and more only while one goes
    /// away; the options' `max_sessions` and `return_to_first` have no effect.
    pub async fn connect_with(
        address: impl TryInto<Address, Error: Into<AddressError>>,
        options: ClientOptions,
    ) -> Result<Self, ConnectError> {
        let address = address.try_into().map_err(Into::<AddressError>::into)?;
        options.validate()?;
        let session = Mutex::new(connect(&address, &options, Limit::Never).await?);
        let connecting = tokio::sync::Mutex::default();
        Ok(Self(Arc::new(Shared { address, options, session, connecting })))
    }

    /// Returns the session that new calls and streams use, for operations that only a session has.
    /// Callers ask for it again for each of them, and drop it afterwards, because a server that
    /// goes away waits for that. Waits for a server for no longer than a call does, and until no
    /// other task waits for it.
    pub async fn session(&self) -> Result<Session, ConnectError> {
        let limit = Limit::after(self.call_timeout());
        match self.current() {
            Some(session) => Ok(session),
            None => self.next(self.0.connecting.lock().await, limit).await,
        }
    }

    /// Returns the session like [`Self::session`], but waits for other tasks within the limit.
    async fn session_by(&self, limit: Limit) -> Result<Session, ClientError> {
        if let Some(session) = self.current() {
            return Ok(session);
        }
        let turn = async { Ok(self.0.connecting.lock().await) };
        let turn = limit.cut(turn, || CallError::DeadlinePassed).await?;
        Ok(self.next(turn, limit).await?)
    }

    /// Returns the session, unless calls and streams need another one.
    fn current(&self) -> Option<Session> {
        let session = self.0.session.lock().expect("no thread panics with the lock");
        (!session.is_going_away()).then(|| session.clone())
    }

    /// Returns the next session, which another task may have opened before this one's turn.
    async fn next(&self, _turn: MutexGuard<'_, ()>, limit: Limit) -> Result<Session, ConnectError> {
        if let Some(session) = self.current() {
            return Ok(session);
        }
        let session = connect(&self.0.address, &self.0.options, limit).await?;
        let mut place = self.0.session.lock().expect("no thread panics with the lock");
        let old = std::mem::replace(&mut *place, session.clone());
        drop(place);
        drop(old);
        Ok(session)
    }

    /// Returns the carrier of the present session.
    pub fn carrier(&self) -> Carrier {
        self.0.session.lock().expect("no thread panics with the lock").carrier()
    }

    pub(crate) fn call_timeout(&self) -> Option<Duration> {
        unstable::timeouts(self.0.options.session_options()).1
    }

    /// Calls `method` with a copy of `request`, and returns the reply. Dropping the future before
    /// cancels the call.
    pub async fn call(&self, method: u32, request: &[u8]) -> Result<Message, ClientError> {
        self.request(method).send(request).await
    }

    /// Sends a one-way message, as [`Session::post`] does.
    pub async fn post(&self, method: u32, message: &[u8]) -> Result<(), ClientError> {
        self.request(method).post(message).await
    }

    /// Opens a stream, as [`Session::open`] does.
    pub async fn open(&self, method: u32) -> Result<Stream, ClientError> {
        self.request(method).open().await
    }

    /// Begins a request with a deadline or metadata.
    pub fn request(&self, method: u32) -> Request<'_, Self> {
        Request::new(self, method)
    }

    /// Waits for a stream that the server opens, and returns it with its method. After the
    /// session's end it waits on the next session, whose server may need a call to learn of this
    /// client. Fails if no server listens within
    /// [`ClientOptions::wait_for_server`](ClientOptions::wait_for_server).
    pub async fn accept(&self) -> Result<(u32, Stream), ClientError> {
        loop {
            let session = self.session_by(Limit::Never).await?;
            match poll_fn(|cx| session.session.poll_accept_while_open(cx)).await {
                Err(_) if session.is_going_away() => {}
                accepted => {
                    let (method, stream) = accepted?;
                    return Ok((method, Stream::new(stream)));
                }
            }
        }
    }

    /// Runs `operation` on the current session, and repeats it while it never ran because the
    /// server goes away.
    pub(crate) async fn resending<T, E: Into<ClientError>, F>(
        &self,
        limit: Limit,
        operation: impl Fn(Session) -> F,
    ) -> Result<T, ClientError>
    where
        F: Future<Output = Result<T, E>>,
    {
        for _ in 0..RESENDS {
            let session = self.session_by(limit).await?;
            match operation(session.clone()).await.map_err(Into::<ClientError>::into) {
                Err(error) if !error.may_have_run() && session.is_going_away() => {}
                outcome => return outcome,
            }
        }
        Err(CallError::GoingAway.into())
    }
}

/// Connects to a server, and retries within the limit. It makes at least one attempt.
async fn connect(
    address: &Address,
    options: &ClientOptions,
    limit: Limit,
) -> Result<Session, ConnectError> {
    let left = limit.time_left().unwrap_or(Duration::MAX);
    let mut reconnecting = unstable::reconnecting(options, left);
    loop {
        match Session::connect_with(address, options.session_options()).await {
            Err(error) => match reconnecting.pause_after(&error) {
                Some(pause) => sleep(pause).await,
                None => return Err(error),
            },
            connected => return connected,
        }
    }
}
