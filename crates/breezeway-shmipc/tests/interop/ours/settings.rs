//! The options of the command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use breezeway_shmipc::{
    Address, Client, ClientOptions, Memory, Server, ServerOptions, SessionOptions, Trust,
};

use super::{Outcome, say};

/// Time limit of a handshake and of a new session: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// Options as pairs of a name and a value; a flag has none.
pub(super) struct Settings(Vec<(String, String)>);

impl Settings {
    pub(super) fn parse(arguments: impl Iterator<Item = String>) -> Self {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for argument in arguments {
            match (argument.strip_prefix("--"), pairs.last_mut()) {
                (Some(name), _) => pairs.push((name.to_owned(), String::new())),
                (None, Some((_, value))) => *value = argument,
                (None, None) => panic!("{argument} belongs to no option"),
            }
        }
        Self(pairs)
    }

    pub(super) fn has(&self, flag: &str) -> bool {
        self.find(flag).is_some()
    }

    pub(super) fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn get<T: FromStr>(&self, name: &str, default: T) -> T {
        let parse = |value: &str| value.parse().ok();
        self.find(name)
            .map_or(Some(default), parse)
            .unwrap_or_else(|| panic!("--{name} makes no sense"))
    }

    /// Returns the address in the form of the other programs: the path of a socket, or
    /// tcp:HOST:PORT.
    pub(super) fn address(&self) -> Outcome<Address> {
        Ok(self.path()?.parse()?)
    }

    pub(super) fn path(&self) -> Outcome<&str> {
        Ok(self.find("path").ok_or("--path is missing")?)
    }

    /// Returns the trust that is possible at this kind of address.
    fn trust(address: &Address) -> Trust {
        if matches!(address, Address::Tcp(_)) { Trust::AnyUser } else { Trust::SameUser }
    }

    fn session(&self) -> SessionOptions {
        SessionOptions::new().handshake_timeout(PATIENCE)
    }

    pub(super) fn connect(&self) -> Outcome<Client> {
        Ok(Client::connect(&self.address()?, self.client()?)?)
    }

    pub(super) fn client(&self) -> Outcome<ClientOptions> {
        let prefix: PathBuf = self.find("prefix").unwrap_or("/dev/shm/shmipc-ours").into();
        let memory = match (self.find("mode"), self.find("version")) {
            (Some("file"), Some("2")) => Memory::FilesV2(prefix),
            (Some("file"), Some("3")) => Memory::FilesV3(prefix),
            (Some("memfd"), Some("3") | None) => Memory::Memfd,
            other => return Err(format!("no way to share memory: {other:?}").into()),
        };
        let mut options = ClientOptions::new(Self::trust(&self.address()?))
            .memory(memory)
            .session(self.session())
            .sessions(self.get("sessions", 1))
            .connect_timeout(PATIENCE)
            .queue_capacity(self.get("queue", 8192))
            .buffer_size(self.get("buffer", 32 << 20));
        if let Some(slices) = self.slices() {
            options = options.slices(slices);
        }
        Ok(options)
    }

    /// Returns the slice sizes and the percentage of each.
    fn slices(&self) -> Option<Vec<(u32, u32)>> {
        let pair = |pair: &str| {
            let (size, percent) = pair.split_once(':').expect("SIZE:PERCENT");
            (size.parse().expect("a size"), percent.parse().expect("a percentage"))
        };
        self.find("slices").map(|slices| slices.split(',').map(pair).collect())
    }

    pub(super) fn listen(&self) -> Outcome<Server> {
        let server = Server::bind(&self.address()?, self.server()?)?;
        let listening = server.address().to_string();
        say(format_args!("listening on {}", listening.trim_start_matches("shmipc:")));
        Ok(server)
    }

    pub(super) fn server(&self) -> Outcome<ServerOptions> {
        let address = self.address()?;
        let has_users = matches!(address, Address::Unix(_));
        let options = ServerOptions::new(Self::trust(&address))
            .session(self.session())
            // A second server on the same path is the successor of the first.
            .take_over(has_users)
            .files_of_unknown_users(!has_users);
        Ok(options)
    }
}
