//! Error of a stream.

use breezeway_proto::ErrorCode;
use thiserror::Error;

use super::{CallError, ErrorKind, Shortage, may_have_run};

/// Error of sending or receiving on a stream.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StreamError {
    /// One of the two sides has reset the stream: both directions are over. Messages not yet
    /// received are dropped, unless their sender had finished.
    #[error("the stream was reset: {0:?}")]
    Reset(ErrorCode),
    /// This side has sent its last message.
    #[error("this side has sent its last message on the stream")]
    Finished,
    /// The deadline passed; the stream continues. Holds the shortage of payload memory if the call
    /// waited for memory.
    #[error("the deadline passed; the stream goes on{}", lacking(*.0))]
    DeadlinePassed(Option<Shortage>),
    /// Metadata goes with the first and the last message of a direction only. The stream continues.
    #[error("metadata goes with the first or the last message of a stream's direction")]
    MetadataInTheMiddle,
    /// As many streams are open as the peer allows.
    #[error("{0} streams are open, the most that the peer allows (its option max_streams)")]
    TooMany(u16),
    /// Error of the message, or of the whole session.
    #[error(transparent)]
    Session(#[from] CallError),
}

impl StreamError {
    /// Returns the kind of the error, to branch on.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Reset(code) => ErrorKind::of_code(*code),
            Self::Finished | Self::MetadataInTheMiddle => ErrorKind::InvalidUse,
            Self::DeadlinePassed(_) => ErrorKind::Deadline,
            Self::TooMany(_) => ErrorKind::Shortage,
            Self::Session(error) => error.kind(),
        }
    }

    /// Returns true if the peer's handler may have run the stream, or a part of it. Otherwise the
    /// stream can be opened again without running twice.
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Reset(code) => may_have_run(*code),
            Self::TooMany(_) => false,
            Self::Finished | Self::MetadataInTheMiddle | Self::DeadlinePassed(_) => true,
            Self::Session(error) => error.may_have_run(),
        }
    }
}

fn lacking(shortage: Option<Shortage>) -> String {
    shortage.map_or_else(String::new, |shortage| format!("; no payload memory: {shortage}"))
}
