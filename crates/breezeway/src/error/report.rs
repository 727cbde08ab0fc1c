//! Errors in one line, with their causes.

use std::error::Error;
use std::fmt::{self, Debug, Display, Formatter};

/// Returns the messages of an error and of its [sources](Error::source) in one line, separated by
/// colons. A message that repeats that of its source, as in some libraries, is left out.
///
/// The errors of this crate leave their source out of their own message.
///
/// ```
/// use breezeway::{ExclusiveSession, describe};
///
/// let error = ExclusiveSession::connect("unix:/no/such.sock").err().unwrap();
/// assert!(describe(&error).starts_with("no server at /no/such.sock: "));
/// # Ok::<(), breezeway::Report>(())
/// ```
pub fn describe(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let reason = error.to_string();
        if !text.contains(&reason) {
            text = format!("{text}: {reason}");
        }
        source = error.source();
    }
    text
}

/// Any error, for the `main` of a program: its debug form, which Rust prints if `main` returns it,
/// is that of [`describe`].
///
/// ```
/// fn main() -> Result<(), breezeway::Report> {
///     let address: breezeway::Address = "shm:/run/hello.sock".parse()?;
///     println!("{address}");
///     Ok(())
/// }
/// ```
pub struct Report(Box<dyn Error + Send + Sync>);

impl<E: Error + Send + Sync + 'static> From<E> for Report {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl Display for Report {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&describe(&*self.0))
    }
}

impl Debug for Report {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use breezeway_proto::CallViolation;
    use thiserror::Error;

    use super::super::{CallError, ClientError, ServeError};
    use super::*;

    #[test]
    fn cause_is_source_and_follows_message() {
        let broken = || CallError::from(crate::Violation::from(CallViolation::Kind(10)));
        let message = "the peer broke the protocol, which ended the session";
        assert_eq!(broken().to_string(), message);
        assert_eq!(describe(&broken()), format!("{message}: kind 10 is not defined"));
        let client = ClientError::from(broken());
        let expected = format!("{message}; the call may have run: kind 10 is not defined");
        assert_eq!(describe(&client), expected);
        let report = Report::from(client);
        assert_eq!([format!("{report}"), format!("{report:?}")], [expected.clone(), expected]);
        let listen = ServeError::Listen {
            place: "unix:/hello.sock".parse().unwrap(),
            source: io::ErrorKind::AddrInUse.into(),
        };
        assert_eq!(describe(&listen), "cannot listen on unix:/hello.sock: address in use");
    }

    #[test]
    fn cause_in_message_is_not_repeated() {
        #[derive(Debug, Error)]
        #[error("cannot start: {0}")]
        struct Repeating(#[source] io::Error);
        let error = Repeating(io::ErrorKind::NotFound.into());
        assert_eq!(describe(&error), error.to_string());
    }
}
