//! `breezeway completions` and `breezeway man`: texts for shells and for `man`, made of the
//! definition of the command line.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

use clap_complete::Shell;

use crate::failure::Failure;

const COMPLETIONS: &str = "\
Examples:
  breezeway completions bash > /usr/share/bash-completion/completions/breezeway
  breezeway completions fish > ~/.config/fish/completions/breezeway.fish
  breezeway completions zsh > ~/.zfunc/_breezeway";

const MAN: &str = "\
Examples:
  breezeway man /usr/local/share/man/man1   then: man breezeway, man breezeway-bench";

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = COMPLETIONS)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Prints the completions of `command`, without hidden subcommands.
    pub(crate) fn run(self, command: &clap::Command) -> Result<(), Failure> {
        let visible = command.get_subcommands().filter(|found| !found.is_hide_set());
        let mut visible = clap::Command::new("breezeway")
            .version(env!("CARGO_PKG_VERSION"))
            .subcommands(visible.cloned());
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut visible, "breezeway", &mut text);
        match io::stdout().lock().write_all(&text) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            outcome => outcome.map_err(Into::into),
        }
    }
}

/// Write a man page for each command
#[derive(Debug, clap::Args)]
#[command(after_help = MAN)]
pub(crate) struct Man {
    /// The folder, which is created if it does not exist
    folder: PathBuf,
}

impl Man {
    /// Writes the pages of `command` and of its subcommands.
    pub(crate) fn run(self, command: clap::Command) -> Result<(), Failure> {
        let written = fs::create_dir_all(&self.folder)
            .and_then(|()| clap_mangen::generate_to(command, &self.folder));
        let cannot = |error| format!("cannot write into {}: {error}", self.folder.display());
        Ok(written.map_err(cannot)?)
    }
}
