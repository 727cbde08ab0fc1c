//! `breezeway inspect`: the sessions in the statistics of running processes, and the memory that
//! these share with their peers, read without their help.

pub(crate) mod native;
pub(crate) mod processes;
mod shmipc;

use std::io::{self, ErrorKind, Write};

use breezeway_shm::statistics::StatisticsFile;
use serde::Serialize;

use crate::failure::Failure;
use crate::printable::one_line;
use native::Sessions;

const EXAMPLES: &str = "\
Examples:
  breezeway inspect                      all processes of this user that have sessions; as root, all
  breezeway inspect 4242                 the sessions of process 4242
  breezeway inspect 4242 --session 3     all details of one of them
  breezeway inspect $(pidof greeter)     by name, if there is one such process
  breezeway inspect 4242 --json | jq '.native.sessions[] | select(.waits_for == \"memory\")'
  breezeway inspect 4242 --json | jq '.shmipc.queues[] | select(.to_client.depth > 0)'

A process does nothing for this; it may be stopped or stuck. While it runs, counts that \
belong together may be some messages apart. It must be one of the same user, unless this runs as \
root. Of shmipc this shows queues and buffer lists, also of shmipc-go and the crate \
shmipc, as client and as server.

A free list that is not whole, in a process where nothing moves, was cut by a process that died in \
between: messages of that size have to take larger slices, or the socket.";

/// Show the sessions of running processes, without their help
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The process; without it, all that have sessions
    #[arg(value_name = "PID", value_parser = processes::parse)]
    pid: Option<u32>,
    /// Show all details of one session, by its number
    #[arg(long, value_name = "NUMBER", requires = "pid")]
    session: Option<u64>,
    /// Print one line with one JSON object for each process
    #[arg(long)]
    json: bool,
}

/// The fields and their names are a contract with scripts.
#[derive(Debug, Serialize)]
struct Report {
    pid: u32,
    /// The program's name, as the kernel has it: its first 15 bytes.
    program: String,
    /// Sessions over `shm:`, `unix:` and `tcp:`; null if it has had none.
    native: Option<Sessions>,
    shmipc: shmipc::Regions,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let reports = match args.pid {
        Some(pid) => {
            let report = StatisticsFile::open(pid).and_then(|file| Report::of(pid, file.as_ref()));
            let mut report = report.map_err(|error| reason(pid, &error))?;
            if let Some(number) = args.session
                && !report.native.as_mut().is_some_and(|native| native.keep(number))
            {
                return Err(format!("process {pid} has no session {number}").into());
            }
            vec![report]
        }
        None => {
            let found = processes::with_sessions().into_iter();
            found.filter_map(|(pid, file)| Report::of(pid, Some(&file)).ok()).collect()
        }
    };
    for report in &reports {
        match args.json {
            true => writeln!(stdout, "{}", serde_json::to_string(report)?)?,
            false => report.write(args.session.is_some(), &mut stdout)?,
        }
    }
    if reports.is_empty() && !args.json {
        writeln!(stdout, "no process of this user has sessions")?;
    }
    Ok(())
}

impl Report {
    fn of(pid: u32, statistics: Option<&StatisticsFile>) -> io::Result<Self> {
        let program = processes::name(pid)?;
        let shmipc = shmipc::Regions::of(pid)?;
        let native = statistics.map(Sessions::of).transpose()?;
        Ok(Self { pid, program, native, shmipc })
    }

    fn write(&self, in_detail: bool, out: &mut impl Write) -> io::Result<()> {
        write!(out, "process {} ({}): ", self.pid, one_line(&self.program))?;
        match &self.native {
            Some(native) => native.write(in_detail, out)?,
            None => writeln!(out, "no sessions")?,
        }
        if in_detail { Ok(()) } else { self.shmipc.write(out) }
    }
}

/// Returns why a process cannot be inspected.
pub(crate) fn reason(pid: u32, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!("no process {pid} is running"),
        ErrorKind::PermissionDenied => {
            format!(
                "process {pid} is another user's or has more privileges: run this as its \
                user, or as root with CAP_SYS_PTRACE"
            )
        }
        _ => format!("process {pid} cannot be read: {error}"),
    }
}
