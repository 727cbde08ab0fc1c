//! Error of a client's call.

use super::{CallError, ConnectError, StreamError};

/// Error returned when a client's call fails.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No session could be opened.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The call failed. The message states if it may have run, if its session has ended.
    #[error("{0}{run}", run = may_have_run(.0))]
    Call(#[from] CallError),
    /// The stream was not opened.
    #[error(transparent)]
    Stream(StreamError),
}

impl ClientError {
    /// Returns true if the server may have served the call, or a part of it; see
    /// [`CallError::may_have_run`].
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Connect(_) | Self::Stream(_) => false,
            Self::Call(error) => error.may_have_run(),
        }
    }
}

impl From<StreamError> for ClientError {
    fn from(error: StreamError) -> Self {
        match error {
            StreamError::Session(error) => Self::Call(error),
            error => Self::Stream(error),
        }
    }
}

fn may_have_run(error: &CallError) -> &'static str {
    match (error.session_goes_on(), error.may_have_run()) {
        (true, _) => "",
        (false, true) => "; the call may have run",
        (false, false) => "; the call never ran",
    }
}
