//! Error of a client's call.

use std::fmt::{self, Display, Formatter};

use super::{CallError, ConnectError, ErrorKind, StreamError};

/// Error returned when a client's call fails.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// No session could be opened.
    Connect(ConnectError),
    /// The call failed. The message states if it may have run, if its session has ended.
    Call(CallError),
    /// The stream was not opened.
    Stream(StreamError),
}

impl ClientError {
    /// Returns the kind of the error, to branch on.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Connect(error) => error.kind(),
            Self::Call(error) => error.kind(),
            Self::Stream(error) => error.kind(),
        }
    }

    /// Returns true if the server may have served the call, or a part of it; see
    /// [`CallError::may_have_run`].
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Connect(_) | Self::Stream(_) => false,
            Self::Call(error) => error.may_have_run(),
        }
    }
}

impl Display for ClientError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => error.fmt(formatter),
            Self::Call(error) => write!(formatter, "{error}{}", may_have_run(error)),
            Self::Stream(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for ClientError {
    /// Returns the source of the error inside, whose message is part of this one's.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connect(error) => error.source(),
            Self::Call(error) => error.source(),
            Self::Stream(error) => error.source(),
        }
    }
}

impl From<ConnectError> for ClientError {
    fn from(error: ConnectError) -> Self {
        Self::Connect(error)
    }
}

impl From<CallError> for ClientError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
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
