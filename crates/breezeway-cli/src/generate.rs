//! `breezeway gen`: Rust from a .thrift file, as the build script API makes it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::Failure;

const EXAMPLES: &str = "\
Examples:
  breezeway gen user.thrift                    print the Rust text
  breezeway gen user.thrift --out src/idl.rs   write it to a file
  breezeway gen api/user.thrift -I idl         search idl/ for included files too

The text has a module per namespace, for the file and all it includes, and needs the crate \
breezeway-thrift. In a build script, use breezeway_idl::Builder instead.";

/// Generate Rust from a .thrift file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The .thrift file
    file: PathBuf,
    /// Where to write the Rust text; - is standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    out: PathBuf,
    /// Another directory to search for included files (repeatable)
    #[arg(long = "include-dir", short = 'I', value_name = "DIR")]
    include_dirs: Vec<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let schema = breezeway_idl::read(&[args.file], &args.include_dirs)?;
    let text = breezeway_idl::generate(&schema)?;
    if args.out == Path::new("-") {
        return print(&text);
    }
    fs::write(&args.out, text)
        .map_err(|error| format!("cannot write {}: {error}", args.out.display()).into())
}

/// A reader that has seen enough, such as `head`, is no failure.
fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(Into::into),
    }
}
