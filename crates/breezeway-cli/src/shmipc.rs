//! Options of `shmipc:` addresses, and errors for options of other addresses.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use breezeway_os::WaitPolicy;
use breezeway_shmipc::{Address, ClientOptions, Memory, ServerOptions, SessionOptions, Trust};
use tracing_subscriber::filter::Targets;

use crate::failure::Failure;
use crate::settings::{ServerSettings, SessionSettings};

/// Heading of these options.
const HEADING: &str = "shmipc options";
/// Default prefix of a bench's files.
const PREFIX: &str = "/dev/shm/breezeway-bench";

/// Options of a server of shmipc.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct Serving {
    /// A folder in and below which clients of shmipc: may name files; several if given several
    /// times [default: /dev/shm]
    #[arg(long, value_name = "DIR")]
    folder: Vec<PathBuf>,
    /// Leave the files of clients of shmipc: when their sessions end
    #[arg(long)]
    keep_files: bool,
    /// Serve clients of shmipc: without a known user, which over TCP are all. Such a client can
    /// name, change and have removed every file in the folders that this server can open, also
    /// those that clients of other servers share: --folder must name a folder of this server's own
    #[arg(long, requires = "folder")]
    files_of_unknown_users: bool,
}

/// The error for a server at a TCP address without `--files-of-unknown-users`.
const FILES_OVER_TCP: &str = "a shmipc:tcp: address needs --files-of-unknown-users and --folder: \
    over TCP no user is known, so that any local process which connects can name, change and have \
    removed every file in the folder that this server can open, also those that clients of other \
    servers share in /dev/shm; give it a folder of its own";

/// The error for `--files-of-unknown-users` with a folder that is not the server's own.
const COMMON_FOLDER: &str = "--files-of-unknown-users needs a --folder of this server's own: \
    /dev/shm also holds the files of other servers' clients, which a client of this one could \
    have removed; make a folder in it, such as /dev/shm/NAME";

/// Returns true if all programs share the folder.
fn is_common(folder: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| Path::new("/dev/shm").starts_with(folder))
}

impl Serving {
    /// An error if something was given that goes with shmipc: only.
    pub(crate) fn refuse(&self) -> Result<(), Failure> {
        refuse_elsewhere("--folder", !self.folder.is_empty())?;
        refuse_elsewhere("--files-of-unknown-users", self.files_of_unknown_users)?;
        refuse_elsewhere("--keep-files", self.keep_files)
    }

    /// Returns the options of the server. Peers can write the memory that both map, so over a unix
    /// socket only peers of the same user are served.
    pub(crate) fn options(
        &self,
        address: &Address,
        session: &SessionSettings,
        server: &ServerSettings,
    ) -> Result<ServerOptions, Failure> {
        let is_tcp = matches!(address, Address::Tcp(_));
        if is_tcp && !self.files_of_unknown_users {
            return Err(FILES_OVER_TCP.into());
        }
        if self.files_of_unknown_users && self.folder.iter().any(|folder| is_common(folder)) {
            return Err(COMMON_FOLDER.into());
        }
        let trust = if is_tcp { Trust::AnyUser } else { Trust::SameUser };
        let options = server.shmipc(ServerOptions::new(trust), address)?;
        let options = options.session(session_options(session)?);
        let options = options.files_of_unknown_users(self.files_of_unknown_users);
        let options = options.remove_files(!self.keep_files);
        let has_folders = !self.folder.is_empty();
        Ok(if has_folders { options.folders(&self.folder) } else { options })
    }
}

/// Memory sharing of a client of shmipc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Sharing {
    /// Memfds over the unix socket, protocol version 3
    Memfd,
    /// Files, protocol version 2, the default of shmipc-go
    FileV2,
    /// Files, protocol version 3
    FileV3,
}

/// Options of a client of shmipc.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct Calling {
    /// Memory sharing with a server of shmipc: [default: memfd; over TCP file-v2]
    #[arg(long, value_enum)]
    memory: Option<Sharing>,
    /// Prefix of the files that are shared with a server of shmipc: [default:
    /// /dev/shm/breezeway-bench]
    #[arg(long, value_name = "PATH")]
    prefix: Option<PathBuf>,
}

impl Calling {
    /// An error if something was given that goes with shmipc: only.
    pub(crate) fn refuse(&self) -> Result<(), Failure> {
        refuse_elsewhere("--memory", self.memory.is_some())?;
        refuse_elsewhere("--prefix", self.prefix.is_some())
    }

    /// Returns the options of the client. The socket is trusted, because the user of the command
    /// named it.
    pub(crate) fn options(
        &self,
        address: &Address,
        session: &SessionSettings,
    ) -> Result<ClientOptions, Failure> {
        let is_tcp = matches!(address, Address::Tcp(_));
        let default = if is_tcp { Sharing::FileV2 } else { Sharing::Memfd };
        let prefix = || self.prefix.clone().unwrap_or_else(|| PREFIX.into());
        let memory = match self.memory.unwrap_or(default) {
            Sharing::Memfd if is_tcp => {
                return Err("--memory memfd does not go with TCP, which passes no descriptors: \
                    take file-v2 or file-v3"
                    .into());
            }
            Sharing::Memfd if self.prefix.is_some() => {
                return Err(
                    "--prefix goes with --memory file-v2 or file-v3: memfds have no path".into()
                );
            }
            Sharing::Memfd => Memory::Memfd,
            Sharing::FileV2 => Memory::FilesV2(prefix()),
            Sharing::FileV3 => Memory::FilesV3(prefix()),
        };
        let options = ClientOptions::new(Trust::AnyUser).memory(memory);
        Ok(options.session(session_options(session)?))
    }
}

fn session_options(settings: &SessionSettings) -> Result<SessionOptions, Failure> {
    let wait: WaitPolicy = settings.wait.unwrap_or_default().into();
    settings.shmipc(SessionOptions::new().wait(wait))
}

fn refuse_elsewhere(option: &str, is_given: bool) -> Result<(), Failure> {
    if !is_given {
        return Ok(());
    }
    Err(format!("{option} goes with a shmipc: address only; leave it out").into())
}

/// Parses the filter of the log: a level, or levels of single targets.
pub(crate) fn log_filter(text: &str) -> Result<Targets, String> {
    let known = ["off", "error", "warn", "info", "debug", "trace"];
    // A name without a level would switch everything on for it, and a misspelt level is one.
    let is_sound = |part: &str| known.contains(&part.rsplit('=').next().unwrap_or_default().trim());
    let filter = Targets::from_str(text).ok().filter(|_| text.split(',').all(is_sound));
    filter.ok_or_else(|| {
        "expected off, error, warn, info, debug or trace, or target=level separated by commas"
            .to_owned()
    })
}
