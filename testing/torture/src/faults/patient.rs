//! A client with failing calls: it follows commands on its standard input, and prints their
//! outcomes.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Signal, set_parent_process_death_signal};

use breezeway::WaitPolicy;

use super::supervisor::Supervisor;
use crate::client::{self, Client};
use crate::engine::Engine;
use crate::process::Process;
use crate::{Failure, server};

#[derive(clap::Args)]
pub(crate) struct Options {
    engine: Engine,
    address: String,
}

/// Outcomes: a line begins with one of these.
pub(crate) const WELL: &str = "well";
pub(crate) const WENT_ON: &str = "went on";
pub(crate) const ENDED: &str = "ended";

/// Goes through a round with a new session for each line with a number.
pub(crate) fn be_patient(options: &Options) -> Result<(), Failure> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    server::abort_where_a_thread_panics();
    server::be_intercepted()?;
    let policy = WaitPolicy::Park;
    let connect = || client::connect_with(options.engine, &options.address, policy);
    let mut resident = connect()?;
    resident.round(0)?;
    println!("ready");
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let number = line.trim_start_matches('r').parse()?;
        let outcome = match line.starts_with('r') {
            true => round(&mut *resident, number),
            false => match connect() {
                Ok(mut client) => round(&mut *client, number),
                Err(error) => format!("{ENDED}: {error}"),
            },
        };
        println!("{}", outcome.replace('\n', " "));
    }
    Ok(())
}

/// A round, and another one if that fails.
pub(crate) fn round(client: &mut dyn Client, number: u64) -> String {
    let Err(error) = client.round(number) else { return WELL.to_owned() };
    match client.round(number + 1) {
        Ok(()) => format!("{WENT_ON}: {error}"),
        Err(_) => format!("{ENDED}: {error}"),
    }
}

/// A patient's process, and its supervisor.
pub(crate) struct Patient {
    pub(crate) process: Process,
    pub(crate) supervisor: Supervisor,
}

impl Patient {
    pub(crate) fn start(engine: Engine, address: &str) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("patient").arg(engine.name()).arg(Path::new(address));
        let mut process = Process::spawn(command)?;
        let supervisor = Supervisor::of(&mut process, None)?;
        let line = process.next_line()?;
        match supervisor {
            Some(supervisor) if line == "ready\n" => Ok(Self { process, supervisor }),
            _ => {
                process.last_words()?;
                Err(format!("the client does not start: {}", process.said()).into())
            }
        }
    }

    /// Returns the outcome of a command; `None` without an answer within `patience`, or at its end.
    pub(crate) fn ask(
        &mut self,
        what: &str,
        patience: Duration,
    ) -> Result<Option<String>, Failure> {
        use std::io::Write;

        writeln!(self.process.input()?, "{what}")?;
        if !self.process.says_something_within(patience) {
            return Ok(None);
        }
        let line = self.process.next_line()?;
        Ok((!line.is_empty()).then(|| line.trim_end().to_owned()))
    }
}
