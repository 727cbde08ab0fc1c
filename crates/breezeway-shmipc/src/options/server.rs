//! The settings of a server.

use std::path::{Path, PathBuf};

use super::{OptionError, SessionOptions, Trust};
use crate::address::Address;

/// Largest region that the protocol can address.
const LARGEST_REGION: u64 = u32::MAX as u64;

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    pub(crate) session: SessionOptions,
    pub(crate) trust: Trust,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) remove_files: bool,
    pub(crate) files_of_unknown_users: bool,
    pub(crate) require_sealed: bool,
    pub(crate) largest_region: u64,
    pub(crate) max_sessions: usize,
    pub(crate) max_half_open: usize,
    pub(crate) socket_mode: u32,
    pub(crate) take_over: bool,
}

impl ServerOptions {
    /// Creates the default options, for clients that are trusted as given.
    pub fn new(trust: Trust) -> Self {
        Self {
            session: SessionOptions::default(),
            trust,
            folders: vec![PathBuf::from("/dev/shm")],
            remove_files: true,
            files_of_unknown_users: false,
            require_sealed: false,
            largest_region: LARGEST_REGION,
            max_sessions: 1024,
            max_half_open: 256,
            socket_mode: 0o600,
            take_over: false,
        }
    }

    /// Sets the options of each session.
    pub fn session(mut self, options: SessionOptions) -> Self {
        self.session = options;
        self
    }

    /// Sets the folders in and below which clients may name files; none refuses file mode. Default
    /// `/dev/shm`. Outside of them no path is opened at all, inside none through a symbolic link or
    /// on another file system than the folder's, and only regular files that belong to the client's
    /// user. Access to a file waits for its file system: name only folders on reliable ones,
    /// preferably in memory.
    pub fn folders<P: AsRef<Path>>(mut self, folders: impl IntoIterator<Item = P>) -> Self {
        self.folders = folders.into_iter().map(|folder| folder.as_ref().to_owned()).collect();
        self
    }

    /// Removes a client's files, as upstream's servers do: when the session ends; a buffer file
    /// that several sessions of one client share, with the last of them. Clients of upstream leave
    /// them behind when they are killed; Breezeway's remove theirs early. Only files that were
    /// found to be regions, in the [`folders`](Self::folders), and still the same ones. Default
    /// true.
    pub fn remove_files(mut self, allowed: bool) -> Self {
        self.remove_files = allowed;
        self
    }

    /// Accepts files from clients of an unknown user, as over TCP, where memory can be shared in no
    /// other way. Any local process that can connect may then name any file in the
    /// [`folders`](Self::folders) that this process can open, also one that a client of another
    /// server shares, which is then removed; only a file that a session of this process has already
    /// mapped is refused, which includes the second session of a shmipc-go client that has several.
    /// Name a folder that no other server uses. Default false.
    pub fn files_of_unknown_users(mut self, allowed: bool) -> Self {
        self.files_of_unknown_users = allowed;
        self
    }

    /// Refuses memfds that are not sealed against shrinking. Upstream's are not; Breezeway's are.
    /// Default false: a truncation is detected and ends that session.
    pub fn require_sealed(mut self, required: bool) -> Self {
        self.require_sealed = required;
        self
    }

    /// Sets the maximum size of a client's region in bytes. Default: the protocol's maximum, 4 GiB.
    pub fn largest_region(mut self, bytes: u64) -> Self {
        self.largest_region = bytes;
        self
    }

    /// Sets the maximum number of concurrent sessions; more are refused. Default 1024.
    pub fn max_sessions(mut self, count: usize) -> Self {
        self.max_sessions = count;
        self
    }

    /// Sets the maximum number of unfinished handshakes; another one ends the oldest. Default 256.
    pub fn max_half_open(mut self, count: usize) -> Self {
        self.max_half_open = count;
        self
    }

    /// Sets the permission bits of the socket file. Default `0o600`.
    pub fn socket_mode(mut self, mode: u32) -> Self {
        self.socket_mode = mode;
        self
    }

    /// Takes the address over from a running server, which should then do a hot restart. Default
    /// false: an address in use is an error.
    pub fn take_over(mut self, allowed: bool) -> Self {
        self.take_over = allowed;
        self
    }

    /// Fails if a value is invalid.
    pub fn validate(&self) -> Result<(), OptionError> {
        self.session.validate()?;
        let region = self.largest_region;
        OptionError::check("largest_region", region, 1..=LARGEST_REGION, "in 1..=4294967295")?;
        let (sessions, half_open) = (self.max_sessions, self.max_half_open);
        OptionError::check("max_sessions", sessions, 1..=usize::MAX, "at least 1")?;
        OptionError::check("max_half_open", half_open, 1..=usize::MAX, "at least 1")?;
        let mode = self.socket_mode;
        let octal = format_args!("{mode:#o}");
        OptionError::check_that(mode <= 0o777, "socket_mode", octal, "in 0o0..=0o777")?;
        match self.folders.iter().find(|folder| !folder.is_absolute()) {
            None => Ok(()),
            Some(folder) => Err(OptionError::new("folders", folder.display(), "an absolute path")),
        }
    }

    /// Fails if a value is invalid at this address.
    pub(crate) fn validate_at(&self, address: &Address) -> Result<(), OptionError> {
        self.validate()?;
        if let Address::Abstract(_) = address {
            let allowed = "possible in the abstract namespace, where no socket file is taken over";
            return OptionError::check_that(!self.take_over, "take_over", true, allowed);
        }
        if address.is_unix() {
            return Ok(());
        }
        let allowed = "possible over TCP, where no socket file is taken over";
        OptionError::check_that(!self.take_over, "take_over", true, allowed)?;
        OptionError::check_that(
            self.files_of_unknown_users,
            "files_of_unknown_users",
            false,
            "possible over TCP, where memory is shared in files and users are unknown: true is",
        )?;
        self.trust.validate_over_tcp()
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::assert_refused;
    use super::*;

    fn options() -> ServerOptions {
        ServerOptions::new(Trust::AnyUser)
    }

    #[test]
    fn invalid_option_is_refused_with_value_and_range() {
        for (refused, text) in [
            (options().largest_region(0), "largest_region = 0 is not in 1..=4294967295"),
            (
                options().largest_region(1 << 32),
                "largest_region = 4294967296 is not in 1..=4294967295",
            ),
            (options().max_sessions(0), "max_sessions = 0 is not at least 1"),
            (options().max_half_open(0), "max_half_open = 0 is not at least 1"),
            (options().socket_mode(0o1777), "socket_mode = 0o1777 is not in 0o0..=0o777"),
            (options().folders(["shm"]), "folders = shm is not an absolute path"),
            (
                options().session(SessionOptions::new().fallback_limit(0)),
                "fallback_limit = 0 is not at least 1 byte",
            ),
        ] {
            assert_refused(refused.validate(), text);
        }
        assert!(options().validate().is_ok());
    }

    #[test]
    fn options_without_tcp_support_are_refused() {
        let tcp = Address::Tcp("localhost:0".to_owned());
        let option = |options: ServerOptions| {
            options.validate_at(&tcp).err().map(|error| error.option().to_owned())
        };
        assert_eq!(option(options().take_over(true)).as_deref(), Some("take_over"));
        let same_user = ServerOptions::new(Trust::SameUser).files_of_unknown_users(true);
        assert_eq!(option(same_user).as_deref(), Some("trust"));
        assert_eq!(option(options()).as_deref(), Some("files_of_unknown_users"));
        assert_eq!(option(options().files_of_unknown_users(true)), None);
    }
}
