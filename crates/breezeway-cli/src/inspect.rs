//! `breezeway inspect`: what a running process shares with its peers, seen without its help.

mod shmipc;

use std::fs;
use std::io::{self, ErrorKind, Write};

use serde::Serialize;

use crate::{Failure, one_line};

const EXAMPLES: &str = "\
Examples:
  breezeway inspect 4242                 the sessions of process 4242, ours or upstream's
  breezeway inspect $(pidof greeter)     by its name, if there is one of it
  breezeway inspect 4242 --json | jq '.shmipc.queues[] | select(.to_client.depth > 0)'

The process is not asked and not slowed down; it may be stopped or stuck, and goes on meanwhile, \
so counts that belong together may be some messages apart. It must be one of the same user, unless \
this runs as root. Of shmipc this shows queues and buffer lists, also of shmipc-go and the crate \
shmipc, as client and as server.

A free list that is not whole, in a process where nothing moves, was cut by a process that died in \
between: messages of that size have to take larger slices, or the socket.";

/// Show what a running process shares: the queues and buffer lists of its shmipc: sessions
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The process
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pid: u32,
    /// Print one line with one JSON object
    #[arg(long)]
    json: bool,
}

/// The fields and their names are a contract with scripts.
#[derive(Debug, Serialize)]
struct Report {
    pid: u32,
    /// The program's name, as the kernel has it: its first 15 bytes.
    program: String,
    shmipc: shmipc::Regions,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let report = Report::of(args.pid).map_err(|error| reason(args.pid, &error))?;
    let mut stdout = io::stdout().lock();
    match args.json {
        true => writeln!(stdout, "{}", serde_json::to_string(&report)?)?,
        false => report.write(&mut stdout)?,
    }
    Ok(())
}

impl Report {
    fn of(pid: u32) -> io::Result<Self> {
        // Any bytes, cut at 15 of them.
        let program = fs::read(format!("/proc/{pid}/comm"))?;
        let shmipc = shmipc::Regions::of(pid)?;
        let program = String::from_utf8_lossy(&program).trim_end().to_owned();
        Ok(Self { pid, program, shmipc })
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "process {} ({})", self.pid, one_line(&self.program))?;
        self.shmipc.write(out)
    }
}

fn reason(pid: u32, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!("there is no process {pid}"),
        ErrorKind::PermissionDenied => {
            format!("process {pid} is another user's: run this as that user or as root")
        }
        _ => format!("process {pid} cannot be read: {error}"),
    }
}
