//! A client that threads share, on one session at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use breezeway_os::{Deadline, clock};

use crate::address::Address;
use crate::channel::Channel;
use crate::client::ClientError;
use crate::error::{CallError, ConnectError};
use crate::message::Message;
use crate::options::ClientOptions;
use crate::reconnect::Reconnecting;

/// For so long a session is used without asking whether its server stays.
const TRUSTED_FOR: Duration = Duration::from_millis(1);
/// How often a call is sent again that never ran, as the server was about to end.
const RESENDS: u32 = 16;

/// A client whose threads share one [`Channel`] at a time, so that they have calls and streams on
/// one session. It is replaced by a new one, for what is new, once it has ended or its server goes
/// away for a successor; what is under way goes on where it is.
///
/// A call that never left is made again. One that may have run is not, as
/// [`ClientError::may_have_run`] says.
///
/// ```no_run
/// use breezeway::{ChannelClient, ClientOptions};
///
/// let options = ClientOptions::new().wait_for_server(std::time::Duration::from_secs(5));
/// let client = ChannelClient::connect_with(&"shm:/run/echo.sock".parse()?, options)?;
/// let reply = client.call(0, b"hello")?;
/// let stream = client.channel()?.open(1, None)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ChannelClient {
    address: Address,
    options: ClientOptions,
    channel: Mutex<Channel>,
    /// When the channel was last asked whether it can be used, in clock ticks.
    asked: AtomicU64,
}

impl ChannelClient {
    /// Connects with default options.
    pub fn connect(address: &Address) -> Result<Self, ConnectError> {
        Self::connect_with(address, ClientOptions::new())
    }

    /// Connects. There is one session at a time, and more only while one goes away; the options'
    /// `max_sessions` and `return_to_first` do not matter.
    pub fn connect_with(address: &Address, options: ClientOptions) -> Result<Self, ConnectError> {
        options.validate()?;
        let channel = Mutex::new(connect(address, &options, Deadline::NEVER)?);
        clock::calibrate();
        Ok(Self { address: address.clone(), options, channel, asked: AtomicU64::new(0) })
    }

    /// The session for what is new: for streams, or for many calls. To be asked for again for each
    /// of them, and dropped, as a server that goes away waits for that.
    /// Waits for a server for no longer than a call does.
    pub fn channel(&self) -> Result<Channel, ConnectError> {
        self.channel_until(self.deadline())
    }

    fn deadline(&self) -> Deadline {
        Deadline::from(self.options.session.call_timeout)
    }

    /// Another thread may be waiting for the server, so `deadline` is from before the lock. Once it
    /// has passed, there is one try.
    fn channel_until(&self, deadline: Deadline) -> Result<Channel, ConnectError> {
        let mut channel = self.channel.lock().expect("nobody panics with the lock");
        let now = clock::ticks();
        let asked = self.asked.load(Ordering::Relaxed);
        if now.wrapping_sub(asked) >= clock::ticks_in(TRUSTED_FOR) {
            if channel.is_going_away() {
                *channel = connect(&self.address, &self.options, deadline)?;
            }
            self.asked.store(now, Ordering::Relaxed);
        }
        Ok(channel.clone())
    }

    /// Calls `method` with a copy of `request` and waits for the reply.
    pub fn call(&self, method: u32, request: &[u8]) -> Result<Message, ClientError> {
        let call = |channel: &Channel, until| channel.call_by(method, request, until);
        self.resending(self.deadline(), call, CallError::may_have_run)
    }

    /// Sends a one-way message, as [`Channel::post`] does.
    pub fn post(&self, method: u32, message: &[u8]) -> Result<(), ClientError> {
        let post = |channel: &Channel, until| channel.post_by(method, message, until);
        self.resending(self.deadline(), post, CallError::may_have_run)
    }

    /// Does something on the session for what is new, again as long as it never ran because the
    /// server goes away. All of it takes no longer than `timeout`, or than a call may: the
    /// operation is told until when.
    #[doc(hidden)]
    pub fn retrying<T, E, F>(
        &self,
        timeout: Option<Duration>,
        operation: impl Fn(&Channel, Option<Instant>) -> Result<T, E>,
        may_have_run: impl Fn(&E) -> bool,
    ) -> Result<T, F>
    where
        F: From<ConnectError> + From<CallError> + From<E>,
    {
        let deadline = Deadline::from(timeout.or(self.options.session.call_timeout));
        let until = |deadline: Deadline| deadline.time_left().map(|left| Instant::now() + left);
        let operation = |channel: &Channel, deadline| operation(channel, until(deadline));
        self.resending(deadline, operation, may_have_run)
    }

    fn resending<T, E, F>(
        &self,
        deadline: Deadline,
        operation: impl Fn(&Channel, Deadline) -> Result<T, E>,
        may_have_run: impl Fn(&E) -> bool,
    ) -> Result<T, F>
    where
        F: From<ConnectError> + From<CallError> + From<E>,
    {
        for _ in 0..RESENDS {
            let channel = self.channel_until(deadline)?;
            match operation(&channel, deadline) {
                Ok(done) => return Ok(done),
                Err(error) if !may_have_run(&error) && channel.is_going_away() => {
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
) -> Result<Channel, ConnectError> {
    let mut reconnecting = Reconnecting::new(options.wait_for_server, deadline);
    reconnecting.run(|| Channel::connect_with(address, &options.session))
}
