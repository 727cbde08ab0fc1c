//! Processes that run to their end, and the signals that cut them short.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use breezeway_os::shortage;
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::Failure;

/// Interval at which a waiting process checks for a signal: long enough to disturb no measurement.
const INTERVAL: Duration = Duration::from_millis(50);

/// Flag that a signal sets to end this process.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes over SIGINT, SIGTERM and SIGHUP for the rest of the process, so that servers and
    /// files are cleaned up on the way out.
    ///
    /// # Errors
    ///
    /// Whatever the kernel answers to `sigaction`.
    pub fn watch() -> io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(Self(asked))
    }

    fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns Ok until a signal asks this process to end.
    ///
    /// # Errors
    ///
    /// An error once a signal has come.
    pub fn check(&self) -> Result<(), Failure> {
        if self.came() { Err("interrupted: nothing was written".into()) } else { Ok(()) }
    }
}

/// Takes `command` out of the terminal's foreground group, so that Ctrl-C reaches the parent
/// alone, which ends its children in order.
pub(crate) fn alone(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).process_group(0)
}

/// Runs `command` to its end, at most for `limit`, and gives the JSON that it prints.
///
/// # Errors
///
/// The last line that it printed on standard error, that it did not end, or an interruption.
pub fn json(
    mut command: Command,
    limit: Duration,
    interrupt: &Interrupt,
) -> Result<Value, Failure> {
    let child = alone(&mut command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = Ending(child).outputs(limit, interrupt)?;
    serde_json::from_str(&stdout).map_err(|_| reason(&stderr).into())
}

/// Returns the reason of a failure from the stderr of a process.
pub(crate) fn reason(stderr: &str) -> String {
    let line = stderr.lines().last().unwrap_or("it ended without saying why");
    line.trim_start_matches("breezeway: ").to_owned()
}

/// A child that is killed, if it still runs, and reaped when dropped.
struct Ending(Child);

impl Ending {
    fn outputs(
        &mut self,
        limit: Duration,
        interrupt: &Interrupt,
    ) -> Result<(String, String), Failure> {
        let outputs = forward(&mut self.0)?;
        let start = Instant::now();
        loop {
            match outputs.recv_timeout(INTERVAL) {
                Ok(texts) => return Ok(texts),
                Err(RecvTimeoutError::Disconnected) => return Err("its output was lost".into()),
                Err(RecvTimeoutError::Timeout) => interrupt.check()?,
            }
            if start.elapsed() > limit {
                return Err(format!("no end within {limit:?}").into());
            }
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        // Fails only if it has ended already; then there is still a status to collect.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Collects all that a child prints, on a thread, until it closes both outputs.
fn forward(child: &mut Child) -> Result<Receiver<(String, String)>, Failure> {
    let (sender, receiver) = channel();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    shortage::spawn("outputs", move || {
        // The receiver is dropped once the waiting side has returned.
        let _ = sender.send((all_of(stdout), all_of(stderr)));
    })?;
    Ok(receiver)
}

fn all_of(output: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut output) = output {
        // The output before an error may still explain the failure.
        let _ = output.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_last_line_without_the_name_of_the_command() {
        assert_eq!(reason("a warning\nbreezeway: no such carrier\n"), "no such carrier");
        assert_eq!(reason(""), "it ended without saying why");
    }

    #[test]
    fn a_child_that_does_not_end_is_killed_at_the_limit() {
        let child = Command::new("sleep").arg("60").stdout(Stdio::piped()).spawn().unwrap();
        let never = Interrupt(Arc::default());
        let error = Ending(child).outputs(Duration::from_millis(1), &never).unwrap_err();
        assert!(error.to_string().contains("no end within"), "{error}");
    }

    #[test]
    fn an_interruption_ends_the_wait() {
        let child = Command::new("sleep").arg("60").stdout(Stdio::piped()).spawn().unwrap();
        let came = Interrupt(Arc::new(AtomicBool::new(true)));
        let error = Ending(child).outputs(Duration::from_secs(60), &came).unwrap_err();
        assert!(error.to_string().contains("interrupted"), "{error}");
    }
}
