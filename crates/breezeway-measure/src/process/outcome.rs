//! The outcome of a program: one line on stderr and a status.

use std::fmt::Display;
use std::process::ExitCode;

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
