//! Kinds of errors.

use std::io;

use breezeway_proto::ErrorCode;
use rustix::io::Errno;

/// Kind of an error, for programs to branch on: each error of an operation has a method `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No server could be reached at the address.
    Unreachable,
    /// A server listens at the address already.
    InUse,
    /// The peer, a policy or a permission refuses the session, call or stream; or the server has no
    /// such method.
    Refused,
    /// The server serves the requests that it has and takes nothing new: use its successor.
    GoingAway,
    /// The session or stream has ended in order, or this side has ended it.
    Closed,
    /// The peer has ended without closing the session or connection.
    Died,
    /// The peer broke a rule of the protocol, or speaks another one.
    Violation,
    /// A system call, a file or the connection failed.
    Io,
    /// The deadline or a timeout passed.
    Deadline,
    /// The peer has cancelled the call or stream.
    Cancelled,
    /// The peer's handler failed.
    Failed,
    /// A message or its metadata is larger than the peer accepts.
    TooLarge,
    /// Memory, descriptors, room in a ring, streams or workers are short now, at one of the sides.
    Shortage,
    /// An address, an option or the use of a value is wrong: the program must change.
    InvalidUse,
}

impl ErrorKind {
    /// Returns the kind of a failed call or a reset stream.
    pub(crate) fn of_code(code: ErrorCode) -> Self {
        match code {
            ErrorCode::NoMemory | ErrorCode::Overloaded => Self::Shortage,
            ErrorCode::NoSuchMethod | ErrorCode::Refused => Self::Refused,
            ErrorCode::Cancelled => Self::Cancelled,
            ErrorCode::DeadlinePassed => Self::Deadline,
            _ => Self::Failed,
        }
    }

    /// Returns the kind of a system call's error.
    pub(crate) fn of_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => Self::Deadline,
            io::ErrorKind::OutOfMemory => Self::Shortage,
            io::ErrorKind::AddrInUse => Self::InUse,
            io::ErrorKind::PermissionDenied => Self::Refused,
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof => Self::Died,
            _ => match Errno::from_io_error(error) {
                Some(
                    Errno::MFILE
                    | Errno::NFILE
                    | Errno::NOBUFS
                    | Errno::NOSPC
                    | Errno::TOOMANYREFS
                    | Errno::AGAIN,
                ) => Self::Shortage,
                _ => Self::Io,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::error::{CallError, ClientError, ConnectError, ServeError, StreamError};

    #[test]
    fn kind_passes_through_errors_that_hold_others() {
        let died = || Arc::new(CallError::PeerDied);
        let ended = [CallError::EndedBy(died()), CallError::NotSent(died())];
        assert_eq!(ended.map(|error| error.kind()), [ErrorKind::Died; 2]);
        let call = ClientError::Call(CallError::GoingAway);
        assert_eq!(call.kind(), ErrorKind::GoingAway);
        let stream = StreamError::Session(CallError::Forked);
        assert_eq!(stream.kind(), ErrorKind::InvalidUse);
    }

    #[test]
    fn address_without_server_is_unreachable_as_its_first_place_is() {
        let nowhere = ConnectError::NoSocket("/nowhere".into());
        let permission = ConnectError::Permission("/other".into());
        assert_eq!(nowhere.kind(), ErrorKind::Unreachable);
        let place = || "unix:/nowhere".parse().unwrap();
        let none = ConnectError::NoPlace(vec![(place(), nowhere), (place(), permission)]);
        assert_eq!(none.kind(), ErrorKind::Unreachable);
        assert_eq!(ErrorKind::of_io(&Errno::CONNREFUSED.into()), ErrorKind::Io);
    }

    #[test]
    fn system_call_short_of_resources_is_shortage() {
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOBUFS, Errno::NOSPC] {
            assert_eq!(ServeError::Io(errno.into()).kind(), ErrorKind::Shortage, "{errno}");
        }
        assert_eq!(CallError::Io(Errno::IO.into()).kind(), ErrorKind::Io);
        assert_eq!(CallError::Io(Errno::PIPE.into()).kind(), ErrorKind::Died);
    }

    #[test]
    fn refused_stream_never_ran_and_reset_one_may_have() {
        for (code, kind, may_have_run) in [
            (ErrorCode::Refused, ErrorKind::Refused, false),
            (ErrorCode::NoSuchMethod, ErrorKind::Refused, false),
            (ErrorCode::Overloaded, ErrorKind::Shortage, false),
            (ErrorCode::Cancelled, ErrorKind::Cancelled, true),
            (ErrorCode::DeadlinePassed, ErrorKind::Deadline, true),
            (ErrorCode::Application(7), ErrorKind::Failed, true),
        ] {
            let error = StreamError::Reset(code);
            assert_eq!((error.kind(), error.may_have_run()), (kind, may_have_run), "{code:?}");
        }
        assert!(!StreamError::TooMany(3).may_have_run());
    }
}
