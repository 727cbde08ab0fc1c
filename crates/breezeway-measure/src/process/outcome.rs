//! The outcome of a program: one line on stderr and a status.

use std::error::Error;
use std::fmt::Display;
use std::process::ExitCode;

/// Returns the messages of `error` and of its sources in one line. A message that repeats that of
/// its source, as in some libraries, is left out.
#[must_use]
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

/// The status of `program`, after a line on stderr if it failed.
pub fn report<E: Display>(program: &str, outcome: Result<(), E>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{program}: {failure}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;
    use crate::floor::FloorError;

    #[test]
    fn error_is_described_with_its_cause() {
        let error = FloorError::System { call: "mmap", source: Errno::NOMEM };
        assert_eq!(error.to_string(), "mmap failed");
        assert!(describe(&error).starts_with("mmap failed: "), "{}", describe(&error));
        assert!(describe(&error).contains("memory"), "{}", describe(&error));
    }

    #[test]
    fn cause_in_the_message_is_not_repeated() {
        #[derive(Debug, thiserror::Error)]
        #[error("cannot start: {0}")]
        struct Repeating(#[source] Errno);
        let error = Repeating(Errno::NOENT);
        assert_eq!(describe(&error), error.to_string());
    }
}
