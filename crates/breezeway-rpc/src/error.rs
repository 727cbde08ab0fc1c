//! Errors of a call, except for exceptions that the IDL declares.

use std::fmt;
use std::io;
use std::time::Duration;

use breezeway::{
    Address, CallError, ClientError, ConnectError, ErrorCode, ErrorKind, HandshakeError,
    StreamError, TlsError, describe,
};
use breezeway_os::shortage::advice;

use crate::business::BusinessError;
use crate::kitex::WireError;
use crate::thrift::{ApplicationException, DecodeError, EncodeError, ExceptionKind};

/// Kinds of exceptions for a call that the server could not dispatch.
const NEVER_RAN: [ExceptionKind; 3] =
    [ExceptionKind::UNKNOWN_METHOD, ExceptionKind::UNKNOWN_SERVICE, ExceptionKind::NO_SERVICE_NAME];

/// Alerts by which a server refuses the client's part of TLS's handshake. They arrive when the
/// client has finished its part and may have written a call, of which the server has read nothing.
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

/// Code of a business error, which no kind of exception has.
const BUSINESS: u16 = u16::MAX;

/// Error of a call, except for exceptions that the IDL declares.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No session could be opened: the call was never sent.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The session failed, or the call's deadline passed.
    #[error(transparent)]
    Call(CallError),
    /// The server reported an error: its handler failed, the method does not exist, or it cannot
    /// read the arguments. A handler returns this to set the kind and the message for its client.
    #[error("{0}")]
    Application(ApplicationException),
    /// The service refused the call by its own rules (Kitex's `BizStatusError`).
    #[error(transparent)]
    Business(#[from] BusinessError),
    /// The arguments of a handler's call cannot be read.
    #[error("the arguments cannot be read")]
    Arguments(#[source] DecodeError),
    /// The server's reply cannot be read.
    #[error("the reply cannot be read")]
    Reply(#[source] DecodeError),
    /// The arguments or the reply cannot be written.
    #[error("the message cannot be written")]
    Encode(#[from] EncodeError),
    /// The server's reply has neither a result nor an exception known to this side.
    #[error("the reply has no result, nor an exception that is known here")]
    MissingResult,
    /// The stream failed, or this side has ended it. A handler gets [`ErrorCode::Cancelled`] if its
    /// client has gone away or no longer wants the stream.
    #[error(transparent)]
    Stream(StreamError),
    /// The server has ended the stream, and accepts no more messages: receive to get its error.
    #[error("the server has ended the stream; receive, to learn why")]
    StreamEnded,
    /// A session of one caller carries no metadata.
    #[error("a session or a pool of them carries no metadata; call over a breezeway::Session")]
    NoMetadata,
    /// The metadata is too long: one name or value of it on a session, all of it in TTHeader.
    #[error("{size} bytes of metadata are too long; at most {limit} can travel here")]
    MetadataTooLong {
        /// Bytes of the name or value, or of the header.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// No connection to a Thrift server could be opened: the call was never sent.
    #[error("cannot connect to {0}{advice}", advice = advice(.1))]
    Connecting(Address, #[source] io::Error),
    /// shmipc has no session, or the session has no room for a stream: the call was never sent.
    #[cfg(feature = "shmipc")]
    #[cfg_attr(docsrs, doc(cfg(feature = "shmipc")))]
    #[error(transparent)]
    Shmipc(#[from] breezeway_shmipc::ConnectError),
    /// No instance of the service could take the call in time: the call was never sent.
    #[error("no instance of the service could take the call within {waited:?}{}", way(*.unreached))]
    NoInstance {
        /// The wait.
        waited: Duration,
        /// Number of instances with sockets only that are not known to be of this host.
        unreached: usize,
    },
    /// A layer of this side has shed the call, because of too many calls: the call was never sent.
    #[error("too many calls are in flight on this side, so this one was not sent")]
    Overloaded,
    /// A layer of this side failed the call, which may have run.
    #[error("a layer failed the call")]
    Layer(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The connection to a Thrift server failed; the call may have run.
    #[error("the connection failed{advice}", advice = advice(.0))]
    Io(#[source] io::Error),
    /// The server's data is not a reply to this call.
    #[error("the server does not speak Thrift as expected: {0}")]
    Protocol(String),
}

/// Returns the reason for which instances are not reached, and the remedy.
fn way(unreached: usize) -> String {
    match unreached {
        0 => String::new(),
        count => format!(
            "; instances with sockets only that are not known to be of this host: {count} \
             (Instance::here creates one of this host)"
        ),
    }
}

impl Error {
    /// Creates an error for a handler to return: the kind, and a message for the client.
    pub fn new(kind: ExceptionKind, message: impl Into<String>) -> Self {
        Self::Application(ApplicationException { kind, message: message.into() })
    }

    /// Returns the kind of the error, to branch on.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Connect(error) => error.kind(),
            Self::Call(error) => error.kind(),
            Self::Stream(error) => error.kind(),
            Self::Application(exception) if NEVER_RAN.contains(&exception.kind) => {
                ErrorKind::Refused
            }
            Self::Application(_) | Self::Business(_) | Self::Layer(_) => ErrorKind::Failed,
            Self::Arguments(_) | Self::Reply(_) | Self::MissingResult | Self::Protocol(_) => {
                ErrorKind::Violation
            }
            Self::Encode(_) | Self::NoMetadata => ErrorKind::InvalidUse,
            Self::MetadataTooLong { .. } => ErrorKind::TooLarge,
            Self::StreamEnded => ErrorKind::Closed,
            Self::Connecting(..) | Self::NoInstance { .. } => ErrorKind::Unreachable,
            #[cfg(feature = "shmipc")]
            Self::Shmipc(_) => ErrorKind::Unreachable,
            Self::Overloaded => ErrorKind::Shortage,
            Self::Io(error) => match error.kind() {
                io::ErrorKind::TimedOut => ErrorKind::Deadline,
                io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::BrokenPipe => ErrorKind::Died,
                _ => ErrorKind::Io,
            },
        }
    }

    /// Returns true if the server may have run the call. A call that was never sent can be repeated
    /// safely; other calls only if they may run twice.
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Connect(_)
            | Self::Connecting(..)
            | Self::NoInstance { .. }
            | Self::Overloaded
            | Self::NoMetadata
            | Self::MetadataTooLong { .. }
            | Self::Encode(_) => false,
            #[cfg(feature = "shmipc")]
            Self::Shmipc(_) => false,
            Self::Call(error) => error.may_have_run(),
            Self::Application(exception) => !NEVER_RAN.contains(&exception.kind),
            _ => true,
        }
    }

    /// Returns true if the same call may succeed later, or at another instance.
    #[cfg(feature = "tower")]
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Connect(_) | Self::Connecting(..) | Self::NoInstance { .. } | Self::Io(_) => true,
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

    /// Converts the error by which a layer failed a call.
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

    /// Converts the error of data that is not a message.
    pub(crate) fn wire(error: WireError) -> Self {
        Self::Protocol(error.to_string())
    }

    /// Converts an out-of-memory error of a message: the result names the limit.
    pub(crate) fn memory(error: impl fmt::Display) -> Self {
        Self::new(ExceptionKind::INTERNAL_ERROR, error.to_string())
    }

    /// Returns the error of a handler after its client has gone away or no longer wants the stream.
    pub(crate) fn cancelled() -> Self {
        Self::Stream(StreamError::Reset(ErrorCode::Cancelled))
    }

    /// Converts the error of a connection on which nothing was received: by an alert its server may
    /// have refused this side's part of TLS's handshake, and then has run nothing.
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

    /// Converts the error to a Thrift exception.
    pub(crate) fn into_exception(self) -> ApplicationException {
        match self {
            Self::Application(exception) => exception,
            Self::Arguments(_) => ApplicationException {
                kind: ExceptionKind::PROTOCOL_ERROR,
                message: describe(&self),
            },
            other => ApplicationException {
                kind: ExceptionKind::INTERNAL_ERROR,
                message: describe(&other),
            },
        }
    }

    /// Converts the error to one of a handler. The handler has run, so an error "never sent" of a
    /// call that it made itself must not let its client repeat the call.
    pub(crate) fn of_handler(self) -> Self {
        match self {
            Self::Overloaded => Self::new(ExceptionKind::INTERNAL_ERROR, self.to_string()),
            other => other,
        }
    }

    /// Returns the code and message for a client.
    pub(crate) fn to_client(&self) -> (ErrorCode, String) {
        match self {
            Self::Application(exception) => (code(exception.kind), exception.message.clone()),
            Self::Business(error) => (ErrorCode::Application(BUSINESS), error.to_reason()),
            Self::Arguments(_) => (code(ExceptionKind::PROTOCOL_ERROR), describe(self)),
            Self::Overloaded => (ErrorCode::Overloaded, self.to_string()),
            Self::Call(CallError::DeadlinePassed) => (ErrorCode::DeadlinePassed, self.to_string()),
            other => (ErrorCode::Failed, describe(other)),
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
            ClientError::Stream(error) => error.into(),
            other => Self::new(ExceptionKind::UNKNOWN, describe(&other)),
        }
    }
}

/// Returns the code of a kind for which the transport has its own code.
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

/// Returns the kind of a code; `None` for codes of the transport alone.
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
    fn local_shortage_names_the_limit_to_raise() {
        let short = || io::Error::from(Errno::MFILE);
        let error = Error::Connecting("unix:/tmp/thrift.sock".parse().unwrap(), short());
        assert!(error.to_string().contains("ulimit -n"), "{error}");
        assert!(Error::Io(short()).to_string().contains("ulimit -n"));
        let error = Error::Io(io::ErrorKind::UnexpectedEof.into());
        assert_eq!(describe(&error), "the connection failed: unexpected end of file");
    }
}
