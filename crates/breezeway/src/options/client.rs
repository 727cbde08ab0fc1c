//! The settings of a client.

use std::time::Duration;

use super::{OptionError, SessionOptions};

/// Settings of a client.
///
/// ```
/// use breezeway::{ClientOptions, SessionOptions};
///
/// let options = ClientOptions::new().max_sessions(4).session(SessionOptions::new().cap(1 << 20));
/// assert!(options.validate().is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct ClientOptions {
    pub(crate) session: SessionOptions,
    pub(crate) max_sessions: usize,
    pub(crate) wait_for_server: Duration,
    pub(crate) return_to_first: Option<Duration>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            session: SessionOptions::new(),
            max_sessions: 8,
            wait_for_server: Duration::ZERO,
            return_to_first: None,
        }
    }
}

impl ClientOptions {
    /// The defaults: up to 8 sessions, default session options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Settings of each session.
    pub fn session(mut self, options: SessionOptions) -> Self {
        self.session = options;
        self
    }

    /// The most sessions, 1..=1024, and so the most calls at one time; one more caller waits. They
    /// are opened as they are needed. Default 8.
    pub fn max_sessions(mut self, count: usize) -> Self {
        self.max_sessions = count;
        self
    }

    /// How long a call, or connecting, waits for a server that is not there: it tries again after
    /// pauses that grow from 1 ms to 200 ms, each cut by a random part of up to half, so that
    /// clients of a server that comes back do not come all at once. A call waits for no longer than
    /// its time-out, but for a try that is under way then, and one more of its own if threads or
    /// tasks that share its session have waited before it. By default it fails at once.
    pub fn wait_for_server(mut self, time: Duration) -> Self {
        self.wait_for_server = time;
        self
    }

    /// Of an address with several places: how often a session that has got another one tries the
    /// first again, between two calls. By default it stays where it is until it ends.
    pub fn return_to_first(mut self, every: Duration) -> Self {
        self.return_to_first = Some(every);
        self
    }

    /// Settings of each session.
    #[doc(hidden)]
    pub fn session_options(&self) -> &SessionOptions {
        &self.session
    }

    /// How long a server is waited for.
    #[doc(hidden)]
    pub fn server_wait(&self) -> Duration {
        self.wait_for_server
    }

    /// How long a call may take.
    #[doc(hidden)]
    pub fn call_time(&self) -> Option<Duration> {
        self.session.call_timeout
    }

    /// Refuses values outside their ranges.
    pub fn validate(&self) -> Result<(), OptionError> {
        self.session.validate()?;
        OptionError::check("max_sessions", self.max_sessions, 1..=1024, "in 1..=1024")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_outside_their_ranges_are_refused_by_name_value_and_range() {
        for (count, possible) in [(0, false), (1, true), (1024, true), (1025, false)] {
            let refused = ClientOptions::new().max_sessions(count).validate().err();
            let text = refused.map(|error| error.to_string());
            let expected = format!("max_sessions = {count} is not in 1..=1024");
            assert_eq!(text, (!possible).then_some(expected));
        }
        let session = SessionOptions::new().ring_capacity(9);
        let error = ClientOptions::new().session(session).validate().unwrap_err();
        assert_eq!(error.option(), "ring_capacity");
    }
}
