//! Input of a stream as a body.

use breezeway_tokio::{ErrorCode, Message, ReceiveHalf, StreamError};
use bytes::Bytes;
use tonic::{Code, Status};

/// Returns the data of a message: a private copy, one of the two copies of a message's bytes on
/// this side (tonic's decoder makes the other).
pub(crate) fn data(message: &Message) -> Result<Option<Bytes>, Status> {
    if !message.is_message() || message.is_empty() {
        return Ok(None);
    }
    let copy = message.bytes().try_to_vec();
    copy.map(|copy| Some(copy.into()))
        .map_err(|error| Status::resource_exhausted(error.to_string()))
}

/// Returns the status of a call after its stream or session has failed.
pub(crate) fn status_of(error: &StreamError) -> Status {
    let code = match error {
        StreamError::Reset(ErrorCode::Cancelled) => Code::Cancelled,
        StreamError::Reset(ErrorCode::DeadlinePassed) => Code::DeadlineExceeded,
        StreamError::Reset(ErrorCode::Refused | ErrorCode::NoSuchMethod) => Code::Unavailable,
        StreamError::Reset(ErrorCode::Overloaded | ErrorCode::NoMemory) => Code::ResourceExhausted,
        StreamError::Reset(_) => Code::Internal,
        StreamError::Session(error) if error.session_goes_on() => Code::ResourceExhausted,
        StreamError::Session(_) => Code::Unavailable,
        _ => Code::Internal,
    };
    Status::new(code, breezeway::describe(error))
}

/// Reads and drops the rest of a stream until the peer has ended it, so that it can send
/// without being reset: a reset would discard its unread data.
pub(crate) fn drain(mut receive: ReceiveHalf) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    runtime.spawn(async move { while let Ok(Some(_)) = receive.receive().await {} });
}
