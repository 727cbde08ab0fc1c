//! A request with a deadline or metadata.

use std::time::{Duration, Instant};

use breezeway_os::Deadline;

/// A call, one-way message or stream that is about to begin, with a deadline, metadata, or both:
/// `request` of a [`Client`](crate::Client), a [`Session`](crate::Session) or a server's end begins
/// it, and the last method sends it. Without either, `call`, `post` and `open` are shorter.
///
/// ```no_run
/// use std::time::Duration;
///
/// use breezeway::Client;
///
/// const LOOK_UP: u32 = 1;
///
/// let client = Client::connect("shm:/run/names.sock")?;
/// let reply = client
///     .request(LOOK_UP)
///     .timeout(Duration::from_millis(50))
///     .metadata(b"trace=7")
///     .send(b"ada")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a request is sent by its last method, such as send, post or open"]
pub struct Request<'a, S> {
    pub(crate) to: &'a S,
    pub(crate) method: u32,
    /// Metadata block; there is none if it is empty.
    pub(crate) metadata: &'a [u8],
    /// Deadline in place of the call timeout.
    pub(crate) deadline: Option<Deadline>,
}

impl<'a, S> Request<'a, S> {
    pub(crate) fn new(to: &'a S, method: u32) -> Self {
        Self { to, method, metadata: &[], deadline: None }
    }

    /// Sets the time from now until the request fails with
    /// [`CallError::DeadlinePassed`](crate::CallError::DeadlinePassed), in place of the call
    /// timeout. The server's handler receives the time that is left.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { deadline: Some(Deadline::after(timeout)), ..self }
    }

    /// Sets the instant at which the request fails, like [`Self::timeout`].
    pub fn deadline(self, deadline: Instant) -> Self {
        Self { deadline: Some(Deadline::at(deadline)), ..self }
    }

    /// Sends a metadata block beside the message.
    pub fn metadata(self, metadata: &'a [u8]) -> Self {
        Self { metadata, ..self }
    }
}

impl<S> std::fmt::Debug for Request<'_, S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Request").field("method", &self.method).finish_non_exhaustive()
    }
}
