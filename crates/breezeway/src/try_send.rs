//! Error of a send that does not wait.

use std::error::Error;
use std::fmt;

use crate::error::CallError;

/// Error returned when a message was not sent at once: by `try_post` of sessions, and by `try_send`
/// of streams, whose errors are of another type.
pub enum TrySendError<T, E = CallError> {
    /// The ring, payload memory or window is full now. Holds the message: nothing of it was sent.
    Full(T),
    /// The message cannot be sent.
    Failed(E),
}

impl<T, E> TrySendError<T, E> {
    /// Returns true if the message was not sent for want of room, and may be sent later.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }

    /// Converts the result of a send of `message`, which is true if it was sent.
    pub(crate) fn result(message: T, sent: Result<bool, E>) -> Result<(), Self> {
        match sent {
            Ok(true) => Ok(()),
            Ok(false) => Err(Self::Full(message)),
            Err(error) => Err(Self::Failed(error)),
        }
    }
}

impl<T, E: fmt::Debug> fmt::Debug for TrySendError<T, E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(_) => formatter.write_str("Full"),
            Self::Failed(error) => formatter.debug_tuple("Failed").field(error).finish(),
        }
    }
}

impl<T, E: fmt::Display> fmt::Display for TrySendError<T, E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(_) => formatter.write_str(
                "the ring, payload memory or window is full now; send later, or wait to send",
            ),
            Self::Failed(error) => error.fmt(formatter),
        }
    }
}

impl<T, E: Error> Error for TrySendError<T, E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Full(_) => None,
            Self::Failed(error) => error.source(),
        }
    }
}
