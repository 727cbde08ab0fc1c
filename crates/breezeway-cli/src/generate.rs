//! `breezeway gen`: Rust or Go from a .thrift file, as the build script API makes it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  breezeway gen user.thrift                    print the Rust text
  breezeway gen user.thrift --out src/idl.rs   write it to a file
  breezeway gen api/user.thrift -I idl         search idl/ for included files too
  breezeway gen user.thrift --services both    services that block and that are awaited
  breezeway gen user.thrift --serde --ordered  owned types that go to JSON and into sets
  breezeway gen user.thrift --order fixed-first --strings bytes
                                               write as Kitex does, read text that is not UTF-8
  breezeway gen user.thrift --extern common.thrift=::common_idl::common
                                               types of another crate
  breezeway gen user.thrift --lang go --out gen
                                               Go, a folder per package in gen/
  breezeway gen user.thrift --lang go --out gen --views
                                               with views, which read messages in place

The text in Rust has a module per namespace, for the file and all it includes, and needs the \
crate breezeway-thrift, or with --services the crate breezeway-rpc. In a build script, use \
breezeway_idl::Builder instead. Go needs the module github.com/breezeway-ipc/breezeway/go.";

/// Generate Rust or Go from a .thrift file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The .thrift file
    file: PathBuf,
    /// Language of the generated text
    #[arg(long, value_enum, default_value_t = Language::Rust)]
    lang: Language,
    /// File for the Rust text; - is standard output. Folder for the packages of Go
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    out: PathBuf,
    /// Another directory to search for included files (repeatable)
    #[arg(long = "include-dir", short = 'I', value_name = "DIR")]
    include_dirs: Vec<PathBuf>,
    /// Output for services
    #[arg(long, value_enum, default_value_t = Services::Trait)]
    services: Services,
    /// Add services with views of arguments, and replies that are written in place
    #[arg(long)]
    in_place: bool,
    /// Add a view to each struct in Go, which reads a message in place; Rust always has them
    #[arg(long)]
    views: bool,
    /// In which order the fields of a struct are written; any order is read
    #[arg(long, value_enum, default_value_t = Order::Ids)]
    order: Order,
    /// Type of strings in owned types
    #[arg(long, value_enum, default_value_t = Strings::Text)]
    strings: Strings,
    /// Type of binaries in owned types
    #[arg(long, value_enum, default_value_t = Binary::Owned)]
    binary: Binary,
    /// Derive Eq, PartialOrd, Ord and Hash on types without a double
    #[arg(long)]
    ordered: bool,
    /// Derive serde's Serialize and Deserialize (feature serde of breezeway-thrift)
    #[arg(long)]
    serde: bool,
    /// The path of breezeway_thrift, if another crate re-exports it: ::my_rpc::thrift
    #[arg(long = "runtime", value_name = "PATH")]
    runtime_path: Option<String>,
    /// The module of another crate that has an included file's types (repeatable)
    #[arg(long = "extern", value_name = "FILE=PATH", value_parser = external)]
    externals: Vec<(PathBuf, String)>,
}

fn external(text: &str) -> Result<(PathBuf, String), String> {
    let parts = text.split_once('=').filter(|(file, path)| !file.is_empty() && !path.is_empty());
    let (file, path) =
        parts.ok_or("a file and a path, such as common.thrift=::common_idl::common")?;
    Ok((file.into(), path.to_owned()))
}

/// Language of the generated text.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Language {
    /// One file, for breezeway-thrift or breezeway-rpc
    Rust,
    /// A file per .thrift file, with its services
    Go,
}

/// In which order fields are written.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Order {
    /// By their numbers, as Apache's generators write them
    Ids,
    /// Those of fixed size first, then the others, as Kitex writes them
    FixedFirst,
}

/// Type of strings.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Strings {
    /// A String, which must be UTF-8
    Text,
    /// Bytes of any content: other languages write text that is not UTF-8
    Bytes,
    /// A SmallString, with up to 30 bytes in place (feature small-strings of breezeway-thrift)
    Small,
}

/// Type of binaries.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Binary {
    /// A Vec of u8, copied out of the message
    Owned,
    /// Bytes, which may be a part of the message (feature shared-bytes of breezeway-thrift)
    Shared,
}

/// Output for services.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Services {
    /// A trait that is independent of the protocol
    Trait,
    /// A trait, a server and a client that block
    Blocking,
    /// A trait, a server and a client that are awaited
    Async,
    /// A trait, and servers and clients of both kinds
    Both,
}

impl From<Services> for breezeway_idl::Services {
    fn from(services: Services) -> Self {
        match services {
            Services::Trait => Self::Trait,
            Services::Blocking => Self::Blocking,
            Services::Async => Self::Async,
            Services::Both => Self::BlockingAndAsync,
        }
    }
}

impl Args {
    /// Returns true if an option is set that has no effect on Go.
    fn is_for_rust(&self) -> bool {
        let is_form = matches!(self.strings, Strings::Small)
            || matches!(self.binary, Binary::Shared)
            || !matches!(self.services, Services::Trait);
        is_form || self.in_place || self.ordered || self.serde || self.runtime_path.is_some()
    }

    fn builder(&self) -> breezeway_idl::Builder {
        let mut builder = breezeway_idl::Builder::new().services(self.services.into());
        for dir in &self.include_dirs {
            builder = builder.include_dir(dir);
        }
        for (file, path) in &self.externals {
            builder = builder.extern_path(file, path);
        }
        if let Order::FixedFirst = self.order {
            builder = builder.order(breezeway_idl::model::Order::FixedFirst);
        }
        builder = match self.strings {
            Strings::Text => builder,
            Strings::Bytes => builder.strings_as_bytes(),
            Strings::Small => builder.small_strings(),
        };
        if let Binary::Shared = self.binary {
            builder = builder.shared_bytes();
        }
        if self.in_place {
            builder = builder.in_place();
        }
        if self.views {
            builder = builder.views();
        }
        if self.ordered {
            builder = builder.ordered();
        }
        if self.serde {
            builder = builder.serde();
        }
        match &self.runtime_path {
            Some(path) => builder.runtime_path(path),
            None => builder,
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let schema = args.builder().read(&[&args.file])?;
    for warning in schema.missing_includes() {
        eprintln!("breezeway: {warning}");
    }
    if let Language::Go = args.lang {
        return write_go(&args, &schema);
    }
    if args.views {
        return Err("--views is for Go: the text in Rust has views without it".into());
    }
    let text = breezeway_idl::generate(&schema)?;
    if args.out == Path::new("-") {
        return print(&text);
    }
    fs::write(&args.out, text)
        .map_err(|error| format!("cannot write {}: {error}", args.out.display()).into())
}

/// Writes a file for each .thrift file into the folder of its package.
fn write_go(args: &Args, schema: &breezeway_idl::model::Schema) -> Result<(), Failure> {
    if args.is_for_rust() {
        return Err(
            "of these options, Go has --order, --strings bytes, --extern and --views alone".into(),
        );
    }
    if args.out == Path::new("-") {
        return Err("Go is a folder of packages: name it with --out".into());
    }
    fs::create_dir_all(&args.out).map_err(|error| unwritable(&args.out, &error))?;
    Ok(breezeway_idl::write_go(schema, &args.out, &import_path(&args.out)?)?)
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    format!("cannot write {}: {error}", path.display()).into()
}

/// Returns the import path of a folder, by the go.mod in it or above it.
fn import_path(folder: &Path) -> Result<String, Failure> {
    let folder = folder.canonicalize().map_err(|error| unwritable(folder, &error))?;
    for module in folder.ancestors() {
        let Ok(text) = fs::read_to_string(module.join("go.mod")) else { continue };
        let mut lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        let name = lines.find_map(|line| line.trim().strip_prefix("module "));
        let name = name.map(|name| name.trim().trim_matches('"'));
        let below = folder.strip_prefix(module).unwrap_or(Path::new(""));
        let parts = below.iter().map(|part| part.to_string_lossy().into_owned());
        let parts: Vec<_> = name.map(str::to_owned).into_iter().chain(parts).collect();
        return Ok(parts.join("/"));
    }
    Err(format!("{} lies in no module of Go: run `go mod init` there", folder.display()).into())
}

/// A closed reader, such as `head` after its lines, is not an error.
fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(Into::into),
    }
}
