//! A client that threads share, on one session at a time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use breezeway_os::{Deadline, clock};

use crate::address::{Address, AddressError};
use crate::error::{CallError, ClientError, ConnectError};
use crate::message::Message;
use crate::options::ClientOptions;
use crate::reconnect::Reconnecting;
use crate::request::Request;
use crate::session::{Outgoing, Session, Stream};

/// Time for which a session is used without checking whether its server stays.
const TRUSTED_FOR: Duration = Duration::from_millis(1);
/// Limit of resends of a call that never ran because the server was about to end.
const RESENDS: u32 = 16;

/// A client that threads share: it calls, posts, and opens and accepts streams, all on one
/// [`Session`] at a time. A new session replaces it for new calls and streams once it has ended or
/// its server goes away for a successor. Calls and streams in flight stay on the old session.
///
/// A client is cheap to clone, and all clones share the session. A call that was never sent is
/// repeated. A call that may have run is not: see [`ClientError::may_have_run`].
///
/// ```no_run
/// use breezeway::{Client, ClientOptions};
///
/// const ECHO: u32 = 0;
/// const WATCH: u32 = 1;
///
/// let options = ClientOptions::new().wait_for_server(std::time::Duration::from_secs(5));
/// let client = Client::connect_with("shm:/run/echo.sock", options)?;
/// let reply = client.call(ECHO, b"hello")?;
/// let mut stream = client.open(WATCH)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Client(Arc<Shared>);

struct Shared {
    address: Address,
    options: ClientOptions,
    session: Mutex<Session>,
    /// Time at which the session was last checked for use, in clock ticks.
    asked: AtomicU64,
}

impl Client {
    /// Connects with default options.
    pub fn connect(
        address: impl TryInto<Address, Error: Into<AddressError>>,
    ) -> Result<Self, ConnectError> {
        Self::connect_with(address, ClientOptions::new())
    }

    /// Connects. There is one session at a time, and more only while one goes away. The options
    /// `max_sessions` and `return_to_first` have no effect.
    pub fn connect_with(
        address: impl TryInto<Address, Error: Into<AddressError>>,
        options: ClientOptions,
    ) -> Result<Self, ConnectError> {
        let address = Address::of(address)?;
        options.validate()?;
        let session = Mutex::new(connect(&address, &options, Deadline::NEVER)?);
        clock::calibrate();
        Ok(Self(Arc::new(Shared { address, options, session, asked: AtomicU64::new(0) })))
    }

    /// Returns the session that new calls and streams use, for operations that only a session has.
    /// The caller asks for it again for each of them and drops it afterwards, because a server that
    /// goes away waits for that. Waits for a server no longer than a call does.
    pub fn session(&self) -> Result<Session, ConnectError> {
        self.session_by(self.deadline())
    }

    /// Calls `method` with a copy of `request` and waits for the reply.
    pub fn call(&self, method: u32, request: &[u8]) -> Result<Message, ClientError> {
        self.request(method).send(request)
    }

    /// Sends a one-way message like [`Session::post`].
    pub fn post(&self, method: u32, message: &[u8]) -> Result<(), ClientError> {
        self.request(method).post(message)
    }

    /// Opens a stream like [`Session::open`].
    pub fn open(&self, method: u32) -> Result<Stream, ClientError> {
        self.request(method).open()
    }

    /// Begins a request with a deadline or metadata.
    pub fn request(&self, method: u32) -> Request<'_, Self> {
        Request::new(self, method)
    }

    /// Waits for a stream that the server opens, and returns its method and the stream. After the
    /// session's end it waits on the next session, whose server may need a call to learn of this
    /// client. Fails if no server listens within
    /// [`ClientOptions::wait_for_server`](ClientOptions::wait_for_server).
    pub fn accept(&self) -> Result<(u32, Stream), ClientError> {
        self.accept_by(Deadline::NEVER)
    }

    /// Waits for a stream like [`Self::accept`], but fails with [`CallError::DeadlinePassed`] at
    /// `deadline`.
    pub fn accept_until(&self, deadline: Instant) -> Result<(u32, Stream), ClientError> {
        self.accept_by(Deadline::at(deadline))
    }

    fn accept_by(&self, deadline: Deadline) -> Result<(u32, Stream), ClientError> {
        loop {
            let session = self.session_by(deadline)?;
            match session.accept_while_open(deadline) {
                Err(_) if session.is_going_away() => self.check_again(),
                accepted => return Ok(accepted?),
            }
        }
    }

    fn deadline(&self) -> Deadline {
        Deadline::from(self.0.options.session.call_timeout)
    }

    /// Returns the session like [`Self::session`]. Another thread may be waiting for the server, so
    /// `deadline` is from before the lock. Once it has passed, there is one attempt.
    fn session_by(&self, deadline: Deadline) -> Result<Session, ConnectError> {
        let Shared { address, options, session, asked } = &*self.0;
        let mut session = session.lock().expect("no thread panics with the lock");
        let now = clock::ticks();
        if now.wrapping_sub(asked.load(Ordering::Relaxed)) >= clock::ticks_in(TRUSTED_FOR) {
            if session.is_going_away() {
                *session = connect(address, options, deadline)?;
            }
            asked.store(now, Ordering::Relaxed);
        }
        Ok(session.clone())
    }

    /// Makes the next use of the session check that its server stays.
    fn check_again(&self) {
        self.0.asked.store(0, Ordering::Relaxed);
    }

    /// Runs `operation` on the current session, and repeats it while it never ran because the
    /// server goes away.
    fn resending<T, E: Into<ClientError>>(
        &self,
        deadline: Deadline,
        operation: impl Fn(&Session) -> Result<T, E>,
    ) -> Result<T, ClientError> {
        for _ in 0..RESENDS {
            let session = self.session_by(deadline)?;
            match operation(&session).map_err(Into::<ClientError>::into) {
                Err(error) if !error.may_have_run() && session.is_going_away() => {
                    self.check_again();
                }
                outcome => return outcome,
            }
        }
        Err(CallError::GoingAway.into())
    }
}

/// Requests of a client. A request that was never sent is repeated on the next session, for as long
/// as its deadline allows.
impl Request<'_, Client> {
    /// Calls the method with a copy of `request` and waits for the reply.
    pub fn send(self, request: &[u8]) -> Result<Message, ClientError> {
        let (method, metadata, deadline) = (self.method, Some(self.metadata), self.time());
        self.to.resending(deadline, |session| {
            session.call_within(method, Outgoing::new(Some(request), metadata), deadline)
        })
    }

    /// Sends a one-way message like [`Session::post`].
    pub fn post(self, message: &[u8]) -> Result<(), ClientError> {
        let (method, metadata, deadline) = (self.method, Some(self.metadata), self.time());
        self.to.resending(deadline, |session| {
            session.post_within(method, Outgoing::new(Some(message), metadata), deadline)
        })
    }

    /// Opens a stream like [`Session::open`]. The deadline is that of the opening; the stream is
    /// not reset when it has passed.
    pub fn open(self) -> Result<Stream, ClientError> {
        let Self { method, metadata, deadline, .. } = self;
        let open = |session: &Session| session.open_within(method, metadata, deadline);
        self.to.resending(self.time(), open)
    }

    fn time(&self) -> Deadline {
        self.deadline.unwrap_or_else(|| self.to.deadline())
    }
}

fn connect(
    address: &Address,
    options: &ClientOptions,
    deadline: Deadline,
) -> Result<Session, ConnectError> {
    let mut reconnecting = Reconnecting::new(options.wait_for_server, deadline);
    reconnecting.run(|| Session::connect_with(address, &options.session))
}
