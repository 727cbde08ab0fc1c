//! `breezeway doctor`: checks that this machine is fit, with a remedy for each problem.
//!
//! Each check reads one thing and grades it; the grading functions take text, so that tests can
//! give them machines that are not at hand.

mod check;
pub(crate) mod cpus;
mod idle;
mod kernel;
mod limits;

use crate::failure::Failure;
use crate::settings::value;
use check::{Check, Grade};
use serde::Serialize;
use std::io::Write;

/// The default of the library.
const DEFAULT_MAX_SESSIONS: usize = 4096;

const EXAMPLES: &str = "\
Examples:
  breezeway doctor                       one line per check
  breezeway doctor && echo fit           the exit status is 0 if shm: addresses work here
  breezeway doctor | grep -v '^ok'       only what can be improved
  breezeway doctor --json                one JSON object on one line

ok: nothing to do. warn: works, but slower or with less capacity. FAIL: shm: addresses do not \
work; an address list continues to unix:.";

/// Check whether this machine is fit, and print a remedy for each problem
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Number of sessions that the server must hold
    #[arg(
        long, value_name = "N", env = "BREEZEWAY_MAX_SESSIONS", value_parser = value::max_sessions
    )]
    #[arg(default_value_t = DEFAULT_MAX_SESSIONS)]
    max_sessions: usize,
    /// Print one line with one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let limits = limits::checks(args.max_sessions as u64);
    let checks = [kernel::checks(), limits, cpus::checks(), idle::checks()].concat();
    let verdict = verdict(&checks);
    let mut stdout = std::io::stdout().lock();
    if args.json {
        let report = Report { fit: verdict.is_ok(), checks: &checks };
        writeln!(stdout, "{}", serde_json::to_string(&report)?)?;
    } else {
        checks.iter().try_for_each(|check| writeln!(stdout, "{check}"))?;
    }
    verdict.map_err(Into::into)
}

/// The fields and their names are a contract with scripts.
#[derive(Debug, Serialize)]
struct Report<'a> {
    /// True if `shm:` addresses work here.
    fit: bool,
    checks: &'a [Check],
}

fn verdict(checks: &[Check]) -> Result<(), String> {
    let failed = checks.iter().filter(|check| check.grade == Grade::Fail);
    let names: Vec<_> = failed.map(|check| check.name).collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(format!("shm: addresses do not work here ({}); use unix: instead", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_of_sessions_is_that_of_the_library() {
        let options = format!("{:?}", breezeway::ServerOptions::new());
        let default = format!("max_sessions: {DEFAULT_MAX_SESSIONS},");
        assert!(options.contains(&default), "{options}");
    }

    #[test]
    fn warnings_do_not_fail_but_one_failure_does_and_is_named() {
        let fine = [Check::ok("a", ""), Check::warn("b", "", "")];
        assert_eq!(verdict(&fine), Ok(()));
        let broken =
            [Check::ok("a", ""), Check::fail("seals", "", ""), Check::fail("kernel", "", "")];
        let error = verdict(&broken).unwrap_err();
        assert!(error.contains("(seals, kernel)") && error.contains("unix:"), "{error}");
    }

    #[test]
    fn every_check_of_this_machine_is_one_line() {
        let checks = [kernel::checks(), limits::checks(1), cpus::checks(), idle::checks()].concat();
        assert!(checks.len() >= 10);
        for check in checks {
            assert_eq!(check.to_string().lines().count(), 1, "{check}");
            assert_eq!(check.grade == Grade::Ok, check.advice.is_none(), "{check}");
        }
    }
}
