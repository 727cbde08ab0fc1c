//! `breezeway thrift dump`: any Thrift Binary message, with names if the IDL is given.

use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use breezeway_idl::model::{Schema, Struct};
use breezeway_thrift::{Limits, MessageHeader, MessageKind, Slice};

use super::envelope;
use super::printer::{Printer, Problem};
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  breezeway thrift dump message.bin                              field numbers and types
  breezeway thrift dump message.bin --idl user.thrift            a call or reply, with names
  breezeway thrift dump user.bin --idl user.thrift --type User   a bare struct, with names
  tail -c +5 capture.bin | breezeway thrift dump -               from standard input

A message may have a header, be framed, or lie in a TTHeader; a message with none of these is read \
as a bare struct. The readable part is printed; bytes that do not form a message end in an error \
with their offset.";

/// Print a Thrift Binary message for people
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The message; - is standard input
    file: PathBuf,
    /// The .thrift file that has the names
    #[arg(long, value_name = "FILE")]
    idl: Option<PathBuf>,
    /// The struct that the message is, or its body: Name, or file.Name
    #[arg(long = "type", value_name = "NAME", requires = "idl")]
    type_name: Option<String>,
    /// Another directory to search for included files (repeatable)
    #[arg(long = "include-dir", short = 'I', value_name = "DIR")]
    include_dirs: Vec<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let bytes = read(&args.file)?;
    let idl = args.idl.as_ref().map(std::slice::from_ref);
    let schema = idl.map(|idl| breezeway_idl::read(idl, &args.include_dirs)).transpose()?;
    let body =
        schema.as_ref().map(|schema| named(schema, args.type_name.as_deref())).transpose()?;
    let mut out = BufWriter::new(io::stdout().lock());
    let printed = print(&bytes, schema.as_ref(), body.flatten(), &mut out);
    let flushed = out.flush();
    match printed.and_then(|()| flushed.map_err(Problem::Output)) {
        // A closed reader, such as `head` after its lines, is not an error.
        Err(Problem::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(problem) => Err(format!("{}: {problem}", args.file.display()).into()),
        Ok(()) => Ok(()),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable = |error| format!("cannot read {}: {error}", path.display());
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        return io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map_err(unreadable)
            .map(|_| Ok(bytes))?;
    }
    Ok(fs::read(path).map_err(unreadable)?)
}

/// The struct that `--type` names.
fn named<'a>(schema: &'a Schema, name: Option<&str>) -> Result<Option<&'a Struct>, Failure> {
    let Some(name) = name else { return Ok(None) };
    let found = schema.find_struct(name).and_then(|id| schema.structure(id));
    found.map(Some).ok_or_else(|| format!("the IDL has no struct '{name}'").into())
}

fn print(
    bytes: &[u8],
    schema: Option<&Schema>,
    body: Option<&Struct>,
    out: &mut impl Write,
) -> Result<(), Problem> {
    let wrapped = envelope::open(bytes, out)?;
    let message = &bytes[wrapped.start..wrapped.end];
    // The limits protect programs; here it is the reader's own machine and file.
    let limits = Limits { size: usize::MAX, ..Limits::default() };
    let mut from = Slice::within(limits, message).map_err(|error| wrapped.shifted(error))?;
    let fields = if message.starts_with(&[0x80, 0x01]) {
        let header = MessageHeader::view(&mut from).map_err(|error| wrapped.shifted(error))?;
        writeln!(out, "{} {:?}, sequence {}", kind(header.kind), header.name, header.sequence)?;
        body.cloned().or_else(|| fields_of(schema?, &header))
    } else {
        body.cloned()
    };
    let mut printer = Printer::new(from, schema, &mut *out);
    let printed = printer.message(fields.as_ref().map(|found| found.fields.as_slice()));
    printed.map_err(|problem| problem.shifted(wrapped.start))
}

fn kind(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::Call => "call",
        MessageKind::Reply => "reply",
        MessageKind::Exception => "exception",
        MessageKind::Oneway => "oneway",
    }
}

/// Returns the IDL's fields of a message's body.
fn fields_of(schema: &Schema, header: &MessageHeader<&str>) -> Option<Struct> {
    // A multiplexed message puts the service before the method.
    let name = header.name.rsplit(':').next().unwrap_or(header.name);
    let method = schema.find_method(name)?;
    match header.kind {
        MessageKind::Call | MessageKind::Oneway => Some(method.arguments.clone()),
        MessageKind::Reply => Some(method.reply()),
        MessageKind::Exception => None,
    }
}
