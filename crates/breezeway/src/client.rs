//! A client that threads share, on one session at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use breezeway_os::{Deadline, clock};

use crate::address::Address;
use crate::error::{CallError, ClientError, ConnectError};
use crate::message::Message;
use crate::options::ClientOptions;
use crate::reconnect::Reconnecting;
use crate::session::Session;

/// Time for which a session is used without checking whether its server stays.
const TRUSTED_FOR: Duration = Duration::from_millis(1);
/// Limit of resends of a call that never ran because the server was about to end.
const RESENDS: u32 = 16;

/// A client whose threads share one [`Session`] at a time, and so one session for their calls and
/// streams. A new session replaces it for new calls and streams once it has ended or its server
/// goes away for a successor. Calls and streams in flight stay on the old session.
///
/// A call that was never sent is repeated. A call that may have run is not: see
/// [`ClientError::may_have_run`].
///
/// ```no_run
/// use breezeway::{Client, ClientOptions};
///
/// let options = ClientOptions::new().wait_for_server(std::time::Duration::from_secs(5));
/// let client = Client::connect_with(&"shm:/run/echo.sock".parse()?, options)?;
/// let reply = client.call(0, b"hello")?;
/// let stream = client.session()?.open(1, None)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Client {
    address: Address,
    options: ClientOptions,
    session: Mutex<Session>,
    /// Time at which the session was last checked for use, in clock ticks.
    asked: AtomicU64,
}

impl Client {
    /// Connects with default options.
    pub fn connect(address: &Address) -> Result<Self, ConnectError> {
        Self::connect_with(address, ClientOptions::new())
    }

    /// Connects. There is one session at a time, and more only while one goes away. The options
    /// `max_sessions` and `return_to_first` have no effect.
    pub fn connect_with(address: &Address, options: ClientOptions) -> Result<Self, ConnectError> {
        options.validate()?;
        let session = Mutex::new(connect(address, &options, Deadline::NEVER)?);
        clock::calibrate();
        Ok(Self { address: address.clone(), options, session, asked: AtomicU64::new(0) })
    }

    /// Returns the session for new streams, or for many calls. The caller asks for it again for
    /// each of them and drops it afterwards, because a server that goes away waits for that. Waits
    /// for a server no longer than a call does.
    pub fn session(&self) -> Result<Session, ConnectError> {
        self.session_until(self.deadline())
    }

    fn deadline(&self) -> Deadline {
        Deadline::from(self.options.session.call_timeout)
    }

    /// Returns the session like [`Self::session`]. Another thread may be waiting for the server, so
    /// `deadline` is from before the lock. Once it has passed, there is one attempt.
    fn session_until(&self, deadline: Deadline) -> Result<Session, ConnectError> {
        let mut session = self.session.lock().expect("no thread panics with the lock");
        let now = clock::ticks();
        let asked = self.asked.load(Ordering::Relaxed);
        if now.wrapping_sub(asked) >= clock::ticks_in(TRUSTED_FOR) {
            if session.is_going_away() {
                *session = connect(&self.address, &self.options, deadline)?;
            }
            self.asked.store(now, Ordering::Relaxed);
        }
        Ok(session.clone())
    }

    /// Calls `method` with a copy of `request` and waits for the reply.
    pub fn call(&self, method: u32, request: &[u8]) -> Result<Message, ClientError> {
        let call = |session: &Session, until| session.call_by(method, request, until);
        self.resending(self.deadline(), call, CallError::may_have_run)
    }

    /// Sends a one-way message like [`Session::post`].
    pub fn post(&self, method: u32, message: &[u8]) -> Result<(), ClientError> {
        let post = |session: &Session, until| session.post_by(method, message, until);
        self.resending(self.deadline(), post, CallError::may_have_run)
    }

    /// Runs `operation` on the current session, and repeats it while it never ran because the
    /// server goes away. All attempts together take no longer than `timeout`, or than a call may:
    /// the operation receives that deadline.
    #[doc(hidden)]
    pub fn retrying<T, E, F>(
        &self,
        timeout: Option<Duration>,
        operation: impl Fn(&Session, Option<Instant>) -> Result<T, E>,
        may_have_run: impl Fn(&E) -> bool,
    ) -> Result<T, F>
    where
        F: From<ConnectError> + From<CallError> + From<E>,
    {
        let deadline = Deadline::from(timeout.or(self.options.session.call_timeout));
        let until = |deadline: Deadline| deadline.time_left().map(|left| Instant::now() + left);
        let operation = |session: &Session, deadline| operation(session, until(deadline));
        self.resending(deadline, operation, may_have_run)
    }

    fn resending<T, E, F>(
        &self,
        deadline: Deadline,
        operation: impl Fn(&Session, Deadline) -> Result<T, E>,
        may_have_run: impl Fn(&E) -> bool,
    ) -> Result<T, F>
    where
        F: From<ConnectError> + From<CallError> + From<E>,
    {
        for _ in 0..RESENDS {
            let session = self.session_until(deadline)?;
            match operation(&session, deadline) {
                Ok(done) => return Ok(done),
                Err(error) if !may_have_run(&error) && session.is_going_away() => {
                    self.asked.store(0, Ordering::Relaxed);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(CallError::GoingAway.into())
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
