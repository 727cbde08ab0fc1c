//! `breezeway dump`: the last entries of both rings of a session of a running process.

mod fields;
#[cfg_attr(not(feature = "thrift"), path = "dump/no_idl.rs")]
mod idl;
mod json;
mod known;
mod text;

use std::io::{self, BufWriter, Write};

use breezeway_shm::dump::ControlDump;
use breezeway_shm::statistics::{Field, Record, Role, StatisticsFile};

use crate::failure::Failure;
use crate::inspect::{processes, reason};
use crate::printable::one_line;
use fields::waiting;
use known::Known;
use text::Line;

const EXAMPLES: &str = "\
Examples:
  breezeway dump 4242 3                      the last 16 entries of each ring of session 3
  breezeway dump 4242 3 --last 100           more of them
  breezeway dump 4242 3 --bodies             with the content of messages, as far as entries hold it
  breezeway dump 4242 3 --idl users.thrift   the same, decoded, with the names of methods
  breezeway dump 4242 3 --json | jq '.received.entries[] | select(.taken | not)'
  breezeway inspect 4242                     the sessions of the process

The session must be one over shm:, and the process one of the same user that may be traced (see \
ptrace(2)), unless this runs as root. The process does nothing for this; it may be \
stopped or stuck. Messages of more than 104 bytes lie elsewhere: only their length is printed. \
The queues and buffer lists of shmipc are shown by breezeway inspect.";

/// Print the last entries of both rings of a session, without the help of its process
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The process
    #[arg(value_name = "PID", value_parser = processes::parse)]
    pid: u32,
    /// The session, by its number (see breezeway inspect)
    #[arg(value_name = "SESSION")]
    session: u64,
    /// Number of entries of each ring, at most
    #[arg(long, value_name = "N", default_value = "16")]
    last: usize,
    /// Print bodies as well: they may be secret
    #[arg(long)]
    bodies: bool,
    /// Print one line with one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    idl: idl::IdlArgs,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let Args { pid, session, last, .. } = args;
    let record = find(pid, session)?;
    let place = |field| match record.totals.get(field) {
        0 => {
            Err(format!("session {session} of process {pid} has no rings, as it is not over shm:"))
        }
        address => Ok(address),
    };
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "process {pid} may not be traced: run this as root (kernel.yama.ptrace_scope may keep \
             its own user out)"
        ),
        _ => format!("its rings: {}", reason(pid, &error)),
    };
    let ring = |field| ControlDump::of(pid, place(field)?, last).map_err(unreadable);
    let [own, peers] = [ring(Field::OwnControl)?, ring(Field::PeerControl)?];
    let known = Known::new(args.idl.read()?, [&own, &peers]);
    let bodies = args.bodies || known.idl.is_some();
    let mut out = BufWriter::new(io::stdout().lock());
    let role = if record.role == Role::Client { "client" } else { "server" };
    let program = processes::name(pid).unwrap_or_default();
    let printed = if args.json {
        let ring = |ring, consumed| json::Ring::new(ring, consumed, &known, bodies);
        let (sent, received) = (ring(&own, peers.consumed), ring(&peers, own.consumed));
        let peer_pid = record.peer_pid;
        let report = json::Report { pid, program, session, role, peer_pid, sent, received };
        writeln!(out, "{}", serde_json::to_string(&report)?)
    } else {
        let peer = record.peer_pid.map_or("-".to_owned(), |peer| peer.to_string());
        let program = one_line(&program);
        let mut printer = Printer { known, bodies, out: &mut out };
        writeln!(printer.out, "process {pid} ({program}), session {session}: {role}, peer {peer}")
            .and_then(|()| printer.ring("sent", &own, peers.consumed))
            .and_then(|()| printer.ring("received", &peers, own.consumed))
    };
    match printed.and_then(|()| out.flush()) {
        // A closed reader, such as `head` after its lines, is not an error.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

fn find(pid: u32, session: u64) -> Result<Record, Failure> {
    let read = || match StatisticsFile::open(pid)? {
        Some(file) => Ok(file.read()?.records),
        None => Ok(Vec::new()),
    };
    let records = read().map_err(|error: io::Error| reason(pid, &error))?;
    let is_it = |record: &Record| record.number == session && record.role != Role::Worker;
    let found = records.into_iter().find(is_it);
    found.ok_or_else(|| {
        let see = format!("see breezeway inspect {pid}, which shows shmipc's queues as well");
        format!("process {pid} has no session {session}: {see}").into()
    })
}

/// Printer of entries, with its options.
struct Printer<W> {
    known: Known,
    bodies: bool,
    out: W,
}

impl<W: Write> Printer<W> {
    fn ring(&mut self, what: &str, ring: &ControlDump, consumed: u64) -> io::Result<()> {
        let ControlDump { capacity, published, entries, .. } = ring;
        let shown = entries.len();
        let waiting = waiting(ring, consumed);
        writeln!(
            self.out,
            "{what}: {published} entries, the last {shown} below; {waiting} of {capacity} wait to \
             be taken"
        )?;
        for (position, entry) in entries {
            let line = Line { entry, method: self.known.name(entry) };
            let taken = if *position < consumed { ' ' } else { '*' };
            writeln!(self.out, "{taken}{position:>6}  {line}")?;
            if self.bodies {
                text::body(entry, &self.known, &mut self.out)?;
            }
        }
        Ok(())
    }
}
