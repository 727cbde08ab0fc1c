//! `breezeway serve --take-over`: servers that follow each other at one address.

use std::path::PathBuf;
use std::time::Duration;

use breezeway::ServerOptions;

use crate::failure::Failure;
use crate::settings::value;

/// Options of a server with a predecessor or a successor.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Restart options")]
pub(crate) struct Succession {
    /// Take the listening sockets over from a server that was started with this as well, which
    /// then sends its clients here and ends; or from systemd (LISTEN_FDS); or listen, where
    /// there is neither
    #[arg(long)]
    take_over: bool,
    /// Unix socket for a successor [default: beside the first socket file, with .admin after its
    /// name]
    #[arg(long, value_name = "PATH", requires = "take_over")]
    admin: Option<PathBuf>,
    /// Time for which this server still answers pending calls and clients that have not moved, once
    /// it is stopped or a successor has taken over: 0s to 1h [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = value::drain)]
    drain: Option<Duration>,
}

impl Succession {
    /// An error if something was given, which a server of shmipc does not have.
    pub(crate) fn refuse(&self) -> Result<(), Failure> {
        if self.take_over || self.drain.is_some() {
            return Err(
                "--take-over and --drain do nothing for a shmipc: address; leave them out \
                        (the library has its own hot restart, see docs/shmipc.md)"
                    .into(),
            );
        }
        Ok(())
    }

    /// Returns the drain time of a server that is stopped.
    #[cfg(feature = "grpc")]
    pub(crate) fn drain(&self) -> Duration {
        self.drain.unwrap_or(Duration::from_secs(1))
    }

    /// Returns true if the server may have a predecessor or a successor.
    #[cfg(feature = "metrics")]
    pub(crate) fn takes_over(&self) -> bool {
        self.take_over
    }

    pub(crate) fn options(self, options: ServerOptions) -> ServerOptions {
        let mut options = options.take_over(self.take_over);
        if let Some(path) = self.admin {
            options = options.admin_socket(path);
        }
        match self.drain {
            Some(time) => options.drain_timeout(time),
            None => options,
        }
    }
}
