//! Client that tasks share, on one session at a time.

use std::time::{Duration, Instant};

use breezeway::{
    Address, CallError, ClientError, ClientOptions, ConnectError, Message, Reconnecting,
};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{sleep, timeout_at};

use crate::session::Session;

/// Number of times that a call is sent again that never ran because the server was about to end.
const RESENDS: u32 = 16;

/// Client whose tasks share one [`Session`] at a time. A new session replaces it for new calls and
/// streams once it has ended or its server goes away for a successor. Calls and streams in flight
/// continue on the old one.
///
/// A call that was never sent is made again. A call that may have run is not, see
/// [`ClientError::may_have_run`].
///
/// ```no_run
/// use breezeway_tokio::{Client, ClientOptions};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let options = ClientOptions::new().wait_for_server(std::time::Duration::from_secs(5));
/// let client = Client::connect_with(&"shm:/run/echo.sock".parse()?, options).await?;
/// let reply = client.call(0, b"hello").await?;
/// let stream = client.session().await?.open(1, None).await?;
/// # Ok(())
/// # }
/// ```
pub struct Client {
    address: Address,
    options: ClientOptions,
    session: Mutex<Session>,
}

impl Client {
    /// Connects with default options.
    pub async fn connect(address: &Address) -> Result<Self, ConnectError> {
        Self::connect_with(address, ClientOptions::new()).await
    }

    /// Connects with these options. There is one session at a time, and more only while one goes
    /// away; the options' `max_sessions` and `return_to_first` have no effect.
    pub async fn connect_with(
        address: &Address,
        options: ClientOptions,
    ) -> Result<Self, ConnectError> {
        options.validate()?;
        let session = Mutex::new(connect(address, &options, None).await?);
        Ok(Self { address: address.clone(), options, session })
    }

    /// Returns the session for new streams, or for many calls. Callers ask for it again for each of
    /// them, and drop it afterwards, because a server that goes away waits for that. Waits for a
    /// server for no longer than a call does, and until no other task waits for it.
    pub async fn session(&self) -> Result<Session, ConnectError> {
        let until = self.until();
        self.usable(self.session.lock().await, until).await
    }

    /// Returns the deadline of a call that begins now.
    #[doc(hidden)]
    pub fn until(&self) -> Option<Instant> {
        Instant::now().checked_add(self.options.call_time()?)
    }

    /// Returns the session like [`Self::session`], for a call: another task may be waiting for the
    /// server. Fails at `until`.
    #[doc(hidden)]
    pub async fn session_until(&self, until: Option<Instant>) -> Result<Session, ClientError> {
        let session = match (self.session.try_lock(), until) {
            (Ok(session), _) => session,
            (Err(_), None) => self.session.lock().await,
            (Err(_), Some(until)) => {
                let locked = timeout_at(until.into(), self.session.lock()).await;
                locked.map_err(|_| CallError::DeadlinePassed)?
            }
        };
        Ok(self.usable(session, until).await?)
    }

    async fn usable(
        &self,
        mut session: MutexGuard<'_, Session>,
        until: Option<Instant>,
    ) -> Result<Session, ConnectError> {
        if session.is_going_away() {
            *session = connect(&self.address, &self.options, until).await?;
        }
        Ok(session.clone())
    }

    /// Calls `method` with a copy of `request`, and returns the reply. Dropping the future before
    /// cancels the call.
    pub async fn call(&self, method: u32, request: &[u8]) -> Result<Message, ClientError> {
        let until = self.until();
        for _ in 0..RESENDS {
            let session = self.session_until(until).await?;
            let called = match until {
                None => session.call(method, request).await,
                // The session's own timeout would restart with each attempt.
                Some(until) => session.call_until(method, request, until).await,
            };
            match called {
                Err(error) if is_to_be_resent(&error, &session) => {}
                outcome => return Ok(outcome?),
            }
        }
        Err(CallError::GoingAway.into())
    }

    /// Sends a one-way message, as [`Session::post`] does.
    pub async fn post(&self, method: u32, message: &[u8]) -> Result<(), ClientError> {
        let until = self.until();
        for _ in 0..RESENDS {
            let session = self.session_until(until).await?;
            let posted = match until {
                None => session.post(method, message).await,
                Some(until) => session.post_until(method, message, until).await,
            };
            match posted {
                Err(error) if is_to_be_resent(&error, &session) => {}
                outcome => return Ok(outcome?),
            }
        }
        Err(CallError::GoingAway.into())
    }
}

fn is_to_be_resent(error: &CallError, session: &Session) -> bool {
    !error.may_have_run() && session.is_going_away()
}

/// Connects to a server, and retries until `until` at most. It makes at least one attempt.
async fn connect(
    address: &Address,
    options: &ClientOptions,
    until: Option<Instant>,
) -> Result<Session, ConnectError> {
    let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
    let mut reconnecting = Reconnecting::within(options.server_wait().min(left));
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
