//! A process that must not outlive the one that started it.

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::Failure;

/// Asks the kernel to kill this process when its parent dies, and fails if `parent` is not its
/// parent (any more).
///
/// # Errors
///
/// A line that names `command`, the one that starts such a process.
pub fn end_with(parent: i32, command: &str) -> Result<(), Failure> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have died before the kernel was asked.
    if getppid().map(|pid| pid.as_raw_nonzero().get()) != Some(parent) {
        return Err(format!("started without the process that measures; run `{command}`").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partner_of_another_parent_refuses_to_run() {
        assert!(end_with(0, "breezeway floor").is_err());
        set_parent_process_death_signal(None).unwrap();
    }
}
