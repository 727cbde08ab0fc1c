//! Clients that share memory in files end in all ways, and no file is left behind.

use std::path::Path;

use breezeway_adversary::stopwatch::eventually;
use libtest_mimic::Trial;

use super::folder::Folder;
use super::process::Process;
use super::program::{Program, Sharing};
use super::trial::trial;

/// Kind of a server's address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Unix,
    Tcp,
}

/// A server of this crate, and its address.
struct Served {
    server: Process,
    address: String,
    client: Program,
    folder: Folder,
}

impl Served {
    fn start(client: Program, carrier: Carrier) -> Self {
        let folder = Folder::new();
        let (server, address) = match carrier {
            Carrier::Unix => {
                let path = folder.socket();
                (Program::Ours.serve(&path, &[]), path.to_str().expect("our own path").to_owned())
            }
            Carrier::Tcp => Program::Ours.serve_anywhere("tcp:127.0.0.1:0"),
        };
        Self { server, address, client, folder }
    }

    #[track_caller]
    fn connect(&self, sessions: &str) -> Process {
        let (address, prefix) = (Path::new(&self.address), self.folder.prefix());
        let client = self.client.client("client", address, &prefix, Sharing::V2File);
        client.option("--sessions", sessions).obey()
    }

    #[track_caller]
    fn assert_nothing_left(&self) {
        let folder = &self.folder;
        eventually("its files are removed", || folder.regions().is_empty());
    }

    /// Restarts the same server program in another process, at the same address.
    fn restart(&mut self) {
        self.server.kill();
        let address = Path::new(&self.address).to_owned();
        self.server = Program::Ours.serve(&address, &[]);
    }
}

fn killed(client: Program, carrier: Carrier) {
    let served = Served::start(client, carrier);
    // At once, before it has sent anything.
    served.connect("1").kill();
    served.assert_nothing_left();
    let mut client = served.connect("1");
    assert_eq!(client.ask("exchange 64,100000 3 2"), "done 600384");
    client.kill();
    served.assert_nothing_left();
    let mut client = served.connect("1");
    client.write_line("exchange 64,100000 20 1000000");
    eventually("it has files", || !served.folder.regions().is_empty());
    client.kill();
    served.assert_nothing_left();
}

fn ended(client: Program, carrier: Carrier) {
    let served = Served::start(client, carrier);
    let mut client = served.connect("1");
    assert_eq!(client.ask("exchange 64,100000 3 2"), "done 600384");
    client.tell_no_more();
    served.assert_nothing_left();
}

fn outlived_its_server(client: Program, carrier: Carrier) {
    let mut served = Served::start(client, carrier);
    let mut client = served.connect("1");
    for _ in 0..2 {
        assert_eq!(client.ask("exchange 64,100000 3 2"), "done 600384");
        served.restart();
        eventually("the client reaches the next server", || {
            client.ask("exchange 64,100000 3 2") == "done 600384"
        });
    }
    client.kill();

    served.assert_nothing_left();
}

/// All sessions of a shmipc-go client share one buffer file, which it names again when it replaces
/// one of them.
fn lost_its_first_session(client: Program) {
    let mut served = Served::start(client, Carrier::Unix);
    let mut client = served.connect("2");
    assert_eq!(client.ask("exchange 64,100000 80 2"), "done 16010240");
    for _ in 0..2 {
        assert_eq!(served.server.ask("close-first"), "closed");
        eventually("the client has two sessions again", || {
            // It counts as a failure for the client while one of them is not connected.
            client.ask("exchange 64,100000 80 2") == "done 16010240"
                && served.server.ask("sessions") == "sessions 2"
        });
    }
    client.kill();
    served.assert_nothing_left();
}

pub(crate) fn trials() -> Vec<Trial> {
    use Program::{Go, Ours, Rust};
    type Scenario = (&'static str, fn(Program, Carrier));
    const SCENARIOS: &[Scenario] = &[
        ("that_was_killed", killed),
        ("that_ended", ended),
        ("that_outlived_its_server", outlived_its_server),
    ];
    let mut trials = Vec::new();
    for (name, client) in [("our", Ours), ("a_shmipc_go", Go), ("a_shmipc_rs", Rust)] {
        for (place, carrier) in [("unix", Carrier::Unix), ("tcp", Carrier::Tcp)] {
            // The crate shmipc connects to unix sockets only. It never removes a file, and finds
            // its own in the way when it connects for the third time.
            let scenarios = match (client, carrier) {
                (Rust, Carrier::Tcp) => &[],
                (Rust, Carrier::Unix) => &SCENARIOS[..2],
                _ => SCENARIOS,
            };
            for &(scenario, run) in scenarios {
                let name = format!("shared_files::{place}::no_file_of_{name}_client_{scenario}");
                trials.push(trial(name, [client, Ours], move || run(client, carrier)));
            }
        }
        if client != Rust {
            let name = format!("shared_files::{name}_client_replaces_its_first_session");
            trials.push(trial(name, [client, Ours], move || lost_its_first_session(client)));
        }
    }
    trials
}
