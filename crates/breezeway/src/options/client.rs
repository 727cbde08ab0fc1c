//! Options of a client.

use std::time::Duration;

use super::SessionOptions;
use crate::error::OptionError;

/// Options of a client.
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
    /// Creates options with the default values: up to 8 sessions, default session options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the options of each session.
    pub fn session(mut self, options: SessionOptions) -> Self {
        self.session = options;
        self
    }

    /// Sets the time that a call, or connecting, waits for a server that does not listen: it tries
    /// again after pauses that grow from 1 ms to 200 ms, each cut by a random part of up to half,
    /// so that the clients of a restarted server do not connect all at the same moment. A call
    /// waits for no longer than its time-out, apart from an attempt in progress, and one more of
    /// its own if threads or tasks that share its session have waited before it. By default it
    /// fails at once.
    pub fn wait_for_server(mut self, time: Duration) -> Self {
        self.wait_for_server = time;
        self
    }

    /// Sets the interval at which a session with another place than the first of its address tries
    /// the first again, between two calls. By default it keeps its place until it ends.
    pub fn return_to_first(mut self, every: Duration) -> Self {
        self.return_to_first = Some(every);
        self
    }

    /// Sets the limit on sessions, 1..=1024, and so on calls at the same time; a further caller
    /// waits. Sessions are opened as they are needed. Default 8.
    pub fn max_sessions(mut self, count: usize) -> Self {
        self.max_sessions = count;
        self
    }

    /// Returns the options of each session, as set by [`Self::session`].
    pub fn session_options(&self) -> &SessionOptions {
        &self.session
    }

    /// Checks that all values are in their ranges.
    pub fn validate(&self) -> Result<(), OptionError> {
        self.session.validate()?;
        OptionError::check("max_sessions", self.max_sessions, 1..=1024, "in 1..=1024")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_range_values_are_refused_by_name_and_range() {
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
