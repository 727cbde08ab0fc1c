//! Why a call failed, unless by an exception that the IDL declares.

use std::io;

use breezeway::{
    Address, CallError, ClientError, ConnectError, ErrorCode, HandshakeError, StreamError, TlsError,
};
use breezeway_os::segment::SegmentError;
use breezeway_os::shortage::advice;

use crate::business::BusinessError;
use crate::kitex::WireError;
use crate::thrift::{ApplicationException, DecodeError, EncodeError, ExceptionKind};

/// What servers answer that do not know whom to give a call.
const NEVER_RAN: [ExceptionKind; 3] =
    [ExceptionKind::UNKNOWN_METHOD, ExceptionKind::UNKNOWN_SERVICE, ExceptionKind::NO_SERVICE_NAME];

/// The alerts by which a server refuses a client's part of TLS's handshake. They come when the
/// client has done its part and may have written a call, of which the server has read nothing.
const REFUSED: [&str; 9] = [
    "access_denied",
    "bad_certificate",
    "certificate_expired",
    "certificate_required",
    "certificate_revoked",
    "certificate_unknown",
    "handshake_failure",
    "unknown_ca",
    "unsupported_certificate",
];

/// The code of a business error, which no kind of exception has.
const BUSINESS: u16 = u16::MAX;

/// Why a call failed, unless by an exception that the IDL declares.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No session could be opened: the call never left.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The session failed, or the call's deadline passed.
    #[error(transparent)]
    Call(CallError),
    /// The server says why: its handler failed, there is no such method, it cannot read the
    /// arguments. A handler that fails so gives the kind and the words for its client.
    #[error("{0}")]
    Application(ApplicationException),
    /// The service refuses, in terms of its own business (Kitex's `BizStatusError`).
    #[error(transparent)]
    Business(#[from] BusinessError),
    /// The arguments cannot be read (of a handler's call).
    #[error("the arguments cannot be read: {0}")]
    Arguments(DecodeError),
    /// The server's reply cannot be read.
    #[error("the reply cannot be read: {0}")]
    Reply(DecodeError),
    /// The arguments or the reply cannot be written.
    #[error("the message cannot be written: {0}")]
    Encode(#[from] EncodeError),
    /// The server's reply has neither a result nor an exception that this side knows.
    #[error("the reply has no result, nor an exception that is known here")]
    MissingResult,
    /// The stream failed, or this side has ended it. A handler whose client has gone away, or no
    /// longer wants the stream, is told [`ErrorCode::Cancelled`].
    #[error(transparent)]
    Stream(StreamError),
    /// The server has ended the stream, and takes no more: receive, to learn why.
    #[error("the server has ended the stream; receive, to learn why")]
    StreamEnded,
    /// A session of one caller carries no metadata.
    #[error("a session or a pool of them carries no metadata; call over a breezeway::Channel")]
    NoMetadata,
    /// The metadata is longer than its lengths can say.
    #[error("a name or value of the metadata is longer than 65535 bytes")]
    MetadataTooLong,
    /// No connection to a Thrift server could be opened: the call never left.
    #[error("cannot connect to {0}: {1}{advice}", advice = advice(.1))]
    Connecting(Address, io::Error),
    /// No session of shmipc stands, or it has no room for a stream: the call never left.
    #[cfg(feature = "shmipc")]
    #[cfg_attr(docsrs, doc(cfg(feature = "shmipc")))]
    #[error(transparent)]
    Shmipc(#[from] breezeway_shmipc::ConnectError),
    /// No instance of the service could take the call in time: the call never left.
    #[error("no instance of the service could take the call within {0:?}")]
    NoInstance(std::time::Duration),
    /// A layer of this side has shed the call, as there are too many: the call never left.
    #[error("too many calls are under way here, and this one was not let through")]
    Overloaded,
    /// A layer of this side failed the call; whether it ran is not known.
    #[error("a layer failed the call: {0}")]
    Layer(Box<dyn std::error::Error + Send + Sync>),
    /// The connection to a Thrift server failed; whether the call ran is not known.
    #[error("the connection failed: {0}{advice}", advice = advice(.0))]
    Io(io::Error),
    /// What the server sent is no reply to this call.
    #[error("the server does not speak Thrift as expected: {0}")]
    Protocol(String),
}

impl std::fmt::Debug for Error {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, formatter)
    }
}

impl Error {
    /// A failure for a handler to return: the kind, and words for the client.
    pub fn new(kind: ExceptionKind, message: impl Into<String>) -> Self {
        Self::Application(ApplicationException { kind, message: message.into() })
    }

    /// Whether the server may have run the call: only one that never left is safe to repeat, unless
    /// it does no harm twice.
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Connect(_)
            | Self::Connecting(..)
            | Self::NoInstance(_)
            | Self::Overloaded
            | Self::NoMetadata
            | Self::MetadataTooLong
            | Self::Encode(_) => false,
            #[cfg(feature = "shmipc")]
            Self::Shmipc(_) => false,
            Self::Call(error) => error.may_have_run(),
            Self::Application(exception) => !NEVER_RAN.contains(&exception.kind),
            _ => true,
        }
    }

    /// Whether the same call may have more luck later, or at another instance.
    #[cfg(feature = "tower")]
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Connect(_) | Self::Connecting(..) | Self::NoInstance(_) | Self::Io(_) => true,
            #[cfg(feature = "shmipc")]
            Self::Shmipc(_) => true,
            Self::Call(CallError::Failed { code, .. }) => matches!(
                code,
                ErrorCode::Refused | ErrorCode::Overloaded | ErrorCode::DeadlinePassed
            ),
            Self::Call(
                CallError::TooLarge { .. }
                | CallError::TooMuchMetadata { .. }
                | CallError::Forked
                | CallError::SpaceOfAnotherSession,
            ) => false,
            Self::Call(_) => true,
            _ => false,
        }
    }

    /// What a layer failed a call with.
    #[cfg(feature = "tower")]
    pub(crate) fn from_layer(error: tower::BoxError) -> Self {
        match error.downcast::<Self>() {
            Ok(error) => *error,
            Err(error) if error.is::<tower::timeout::error::Elapsed>() => {
                Self::Call(CallError::DeadlinePassed)
            }
            Err(error) if error.is::<tower::load_shed::error::Overloaded>() => Self::Overloaded,
            Err(error) => Self::Layer(error),
        }
    }

    /// What a server sent is no message.
    pub(crate) fn wire(error: WireError) -> Self {
        Self::Protocol(error.to_string())
    }

    /// Error for a message for which there is no memory: it names the limit.
    pub(crate) fn memory(error: SegmentError) -> Self {
        Self::new(ExceptionKind::INTERNAL_ERROR, error.to_string())
    }

    /// What a handler is told whose client has gone away, or no longer wants the stream.
    pub(crate) fn cancelled() -> Self {
        Self::Stream(StreamError::Reset(ErrorCode::Cancelled))
    }

    /// As an error of a connection on which nothing was received: by an alert its server may have
    /// refused this side's part of TLS's handshake, and then has run nothing.
    pub(crate) fn unanswered(self) -> Self {
        let Self::Io(error) = self else { return self };
        match error.downcast() {
            Ok(TlsError::Alert(alert)) if REFUSED.contains(&&*alert) => {
                let refused = HandshakeError::Tls(TlsError::Alert(alert));
                Self::Connect(ConnectError::Handshake(refused))
            }
            Ok(other) => Self::Io(io::Error::new(io::ErrorKind::InvalidData, other)),
            Err(error) => Self::Io(error),
        }
    }

    /// In the words of Thrift.
    pub(crate) fn into_exception(self) -> ApplicationException {
        match self {
            Self::Application(exception) => exception,
            Self::Arguments(_) => ApplicationException {
                kind: ExceptionKind::PROTOCOL_ERROR,
                message: self.to_string(),
            },
            other => ApplicationException {
                kind: ExceptionKind::INTERNAL_ERROR,
                message: other.to_string(),
            },
        }
    }

    /// As an error of a handler. It has run, so what never left elsewhere, on a call of its own, is
    /// no reason for its client to call again.
    pub(crate) fn of_handler(self) -> Self {
        match self {
            Self::Overloaded => Self::new(ExceptionKind::INTERNAL_ERROR, self.to_string()),
            other => other,
        }
    }

    /// What a client is told of it: a code and words.
    pub(crate) fn to_client(&self) -> (ErrorCode, String) {
        match self {
            Self::Application(exception) => (code(exception.kind), exception.message.clone()),
            Self::Business(error) => (ErrorCode::Application(BUSINESS), error.to_reason()),
            Self::Arguments(_) => (code(ExceptionKind::PROTOCOL_ERROR), self.to_string()),
            Self::Overloaded => (ErrorCode::Overloaded, self.to_string()),
            Self::Call(CallError::DeadlinePassed) => (ErrorCode::DeadlinePassed, self.to_string()),
            other => (ErrorCode::Failed, other.to_string()),
        }
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Failed { code: ErrorCode::Application(BUSINESS), reason, .. } => {
                Self::Business(BusinessError::from_reason(&reason))
            }
            CallError::Failed { code, reason, call } => match kind(code) {
                Some(kind) => Self::Application(ApplicationException { kind, message: reason }),
                None => Self::Call(CallError::Failed { code, reason, call }),
            },
            other => Self::Call(other),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<StreamError> for Error {
    fn from(error: StreamError) -> Self {
        match error {
            StreamError::Session(error) => error.into(),
            StreamError::DeadlinePassed(_) | StreamError::Reset(ErrorCode::DeadlinePassed) => {
                Self::Call(CallError::DeadlinePassed)
            }
            StreamError::Reset(code) => match kind(code) {
                Some(kind) => Self::new(kind, error.to_string()),
                None => Self::Stream(error),
            },
            other => Self::Stream(other),
        }
    }
}

impl From<ClientError> for Error {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Connect(error) => Self::Connect(error),
            ClientError::Call(error) => error.into(),
            other => Self::new(ExceptionKind::UNKNOWN, other.to_string()),
        }
    }
}

/// The code that says this kind, for which the transport has codes of its own.
fn code(kind: ExceptionKind) -> ErrorCode {
    match kind {
        ExceptionKind::UNKNOWN_METHOD => ErrorCode::NoSuchMethod,
        ExceptionKind::INTERNAL_ERROR => ErrorCode::Failed,
        ExceptionKind(other) => match u16::try_from(other) {
            Ok(BUSINESS) | Err(_) => ErrorCode::Failed,
            Ok(code) => ErrorCode::Application(code),
        },
    }
}

/// The kind that a code says; nothing for those that are the transport's alone.
fn kind(code: ErrorCode) -> Option<ExceptionKind> {
    match code {
        ErrorCode::NoSuchMethod => Some(ExceptionKind::UNKNOWN_METHOD),
        ErrorCode::Failed | ErrorCode::Panicked | ErrorCode::NoMemory => {
            Some(ExceptionKind::INTERNAL_ERROR)
        }
        ErrorCode::Application(kind) => Some(ExceptionKind(i32::from(kind))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_shortage_of_this_side_is_said_with_what_to_raise() {
        let short = || io::Error::from(Errno::MFILE);
        let error = Error::Connecting("unix:/tmp/thrift.sock".parse().unwrap(), short());
        assert!(error.to_string().contains("ulimit -n"), "{error}");
        assert!(Error::Io(short()).to_string().contains("ulimit -n"));
        let error = Error::Io(io::ErrorKind::UnexpectedEof.into());
        assert_eq!(error.to_string(), "the connection failed: unexpected end of file");
    }
}
