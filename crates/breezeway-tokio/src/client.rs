//! A client that tasks share, on one session at a time.

use std::time::{Duration, Instant};

use breezeway::{
    Address, CallError, ClientError, ClientOptions, ConnectError, Message, Reconnecting,
};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{sleep, timeout_at};

use crate::channel::Channel;

/// How often a call is sent again that never ran, as the server was about to end.
const RESENDS: u32 = 16;

/// A client whose tasks share one [`Channel`] at a time. It is replaced by a new one, for what is
/// new, once it has ended or its server goes away for a successor; what is under way goes on where
/// it is.
///
/// A call that never left is made again. One that may have run is not, as
/// [`ClientError::may_have_run`] says.
///
/// ```no_run
/// use breezeway_tokio::{Client, ClientOptions};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let options = ClientOptions::new().wait_for_server(std::time::Duration::from_secs(5));
/// let client = Client::connect_with(&"shm:/run/echo.sock".parse()?, options).await?;
/// let reply = client.call(0, b"hello").await?;
/// let stream = client.channel().await?.open(1, None).await?;
/// # Ok(())
/// # }
/// ```
pub struct Client {
    address: Address,
    options: ClientOptions,
    channel: Mutex<Channel>,
}

impl Client {
    /// Connects with default options.
    pub async fn connect(address: &Address) -> Result<Self, ConnectError> {
        Self::connect_with(address, ClientOptions::new()).await
    }

    /// Connects. There is one session at a time, and more only while one goes away; the options'
    /// `max_sessions` and `return_to_first` do not matter.
    pub async fn connect_with(
        address: &Address,
        options: ClientOptions,
    ) -> Result<Self, ConnectError> {
        options.validate()?;
        let channel = Mutex::new(connect(address, &options, None).await?);
        Ok(Self { address: address.clone(), options, channel })
    }

    /// The session for what is new: for streams, or for many calls. To be asked for again for each
    /// of them, and dropped, as a server that goes away waits for that.
    /// Waits for a server for no longer than a call does, and until no other task waits for it.
    pub async fn channel(&self) -> Result<Channel, ConnectError> {
        let until = self.until();
        self.usable(self.channel.lock().await, until).await
    }

    /// When a call that begins now is to end.
    #[doc(hidden)]
    pub fn until(&self) -> Option<Instant> {
        Instant::now().checked_add(self.options.call_time()?)
    }

    /// As [`Self::channel`], for a call: another task may be waiting for the server.
    #[doc(hidden)]
    pub async fn channel_until(&self, until: Option<Instant>) -> Result<Channel, ClientError> {
        let channel = match (self.channel.try_lock(), until) {
            (Ok(channel), _) => channel,
            (Err(_), None) => self.channel.lock().await,
            (Err(_), Some(until)) => {
                let locked = timeout_at(until.into(), self.channel.lock()).await;
                locked.map_err(|_| CallError::DeadlinePassed)?
            }
        };
        Ok(self.usable(channel, until).await?)
    }

    async fn usable(
        &self,
        mut channel: MutexGuard<'_, Channel>,
        until: Option<Instant>,
    ) -> Result<Channel, ConnectError> {
        if channel.is_going_away() {
            *channel = connect(&self.address, &self.options, until).await?;
        }
        Ok(channel.clone())
    }

    /// Calls `method` with a copy of `request`, and gives the reply. Dropped before, the call is
    /// cancelled.
    pub async fn call(&self, method: u32, request: &[u8]) -> Result<Message, ClientError> {
        let until = self.until();
        for _ in 0..RESENDS {
            let channel = self.channel_until(until).await?;
            let called = match until {
                None => channel.call(method, request).await,
                // The channel's own timeout would begin anew.
                Some(until) => channel.call_until(method, request, until).await,
            };
            match called {
                Err(error) if is_to_be_resent(&error, &channel) => {}
                outcome => return Ok(outcome?),
            }
        }
        Err(CallError::GoingAway.into())
    }

    /// Sends a one-way message, as [`Channel::post`] does.
    pub async fn post(&self, method: u32, message: &[u8]) -> Result<(), ClientError> {
        let until = self.until();
        for _ in 0..RESENDS {
            let channel = self.channel_until(until).await?;
            let posted = match until {
                None => channel.post(method, message).await,
                Some(until) => channel.post_until(method, message, until).await,
            };
            match posted {
                Err(error) if is_to_be_resent(&error, &channel) => {}
                outcome => return Ok(outcome?),
            }
        }
        Err(CallError::GoingAway.into())
    }
}

fn is_to_be_resent(error: &CallError, channel: &Channel) -> bool {
    !error.may_have_run() && channel.is_going_away()
}

/// Waits for a server until `until` at most; there is one try at least.
async fn connect(
    address: &Address,
    options: &ClientOptions,
    until: Option<Instant>,
) -> Result<Channel, ConnectError> {
    let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
    let mut reconnecting = Reconnecting::within(options.server_wait().min(left));
    loop {
        match Channel::connect_with(address, options.session_options()).await {
            Err(error) => match reconnecting.pause_after(&error) {
                Some(pause) => sleep(pause).await,
                None => return Err(error),
            },
            connected => return connected,
        }
    }
}
