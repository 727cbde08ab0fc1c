//! How a program tells its outcome: one line on stderr and a status.

use std::error::Error;
use std::process::ExitCode;

/// What every step of a program may fail with; its text is for the user.
pub type Failure = Box<dyn Error>;

/// The status of `program`, after a line on stderr if it failed.
pub fn report(program: &str, outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{program}: {failure}");
            ExitCode::FAILURE
        }
    }
}
