//! Hot restarts: a server hands its clients over to its successor without a visible error.

use breezeway_adversary::stopwatch::eventually;
use libtest_mimic::Trial;

use super::folder::Folder;
use super::process::Process;
use super::program::{Program, Sharing};
use super::trial::trial;

/// A server, its successor on the same path, and a client that has used the first.
struct Succession {
    old: Process,
    new: Process,
    client: Process,
    _folder: Folder,
}

impl Succession {
    #[track_caller]
    fn prepare(
        client: Program,
        [old, new]: [Program; 2],
        sharing: Sharing,
        sessions: &str,
    ) -> Self {
        let folder = Folder::new();
        let old = old.serve(&folder.socket(), &[]);
        let client = client.client("client", &folder.socket(), &folder.prefix(), sharing);
        let mut client = client.option("--sessions", sessions).obey();
        assert_eq!(client.ask("exchange 64,100000 40 3"), "done 12007680");
        let new = new.serve(&folder.socket(), &[]);
        Self { old, new, client, _folder: folder }
    }
}

fn follows(client: Program, servers: [Program; 2]) {
    for sharing in [Sharing::V2File, Sharing::V3Memfd] {
        let mut succession = Succession::prepare(client, servers, sharing, "2");
        // The restart comes in the middle of this.
        succession.client.write_line("exchange 64,10000 40 50");
        succession.old.write_line("hot-restart 7");
        assert_eq!(succession.client.hear(), "done 20128000");
        assert_eq!(succession.old.hear(), "restarted");
        let seen_by_old = succession.old.ask("streams");
        assert_eq!(succession.client.ask("exchange 64,10000 40 3"), "done 1207680");
        assert_eq!(succession.old.ask("streams"), seen_by_old);
        assert_ne!(succession.new.ask("streams"), "streams 0");
        assert_eq!(succession.old.ask("close"), "closed");
        assert_eq!(succession.client.ask("exchange 64,10000 40 3"), "done 1207680");
    }
}

/// The crate shmipc does not support hot restarts: it ends a session that announces one, and
/// connects again.
fn a_shmipc_rs_client_of_our_server_comes_back() {
    let servers = [Program::Ours; 2];
    let mut succession = Succession::prepare(Program::Rust, servers, Sharing::V3Memfd, "1");
    succession.old.write_line("hot-restart 7");
    eventually("the client reaches the next server", || {
        // It counts as a failure for the client while it is not connected.
        succession.client.ask("exchange 64 1 1");
        succession.new.ask("streams") != "streams 0"
    });
    assert_eq!(succession.client.ask("exchange 64,10000 40 3"), "done 1207680");
}

pub(crate) fn trials() -> Vec<Trial> {
    use Program::{Go, Ours, Rust};
    let pairs = [
        ("our_client_follows_a_shmipc_go_server", Ours, [Go, Go]),
        ("a_shmipc_go_client_follows_our_server", Go, [Ours, Ours]),
        ("our_client_follows_our_server", Ours, [Ours, Ours]),
        ("a_shmipc_go_client_follows_a_shmipc_go_server", Go, [Go, Go]),
        // A rollout, and the way back.
        ("our_client_follows_from_a_shmipc_go_server_to_ours", Ours, [Go, Ours]),
        ("a_shmipc_go_client_follows_from_a_shmipc_go_server_to_ours", Go, [Go, Ours]),
        ("our_client_follows_back_to_a_shmipc_go_server", Ours, [Ours, Go]),
        ("a_shmipc_go_client_follows_back_to_a_shmipc_go_server", Go, [Ours, Go]),
    ];
    let trial_of = |(name, client, servers): (_, _, [Program; 2])| {
        let needed = [client, servers[0], servers[1]].into_iter().find(|&needed| needed == Go);
        let programs = [client, needed.unwrap_or(client)];
        trial(format!("hot_restart::{name}"), programs, move || follows(client, servers))
    };
    let mut trials: Vec<_> = pairs.map(trial_of).into();
    trials.push(trial(
        "hot_restart::a_shmipc_rs_client_of_our_server_comes_back",
        [Rust, Ours],
        a_shmipc_rs_client_of_our_server_comes_back,
    ));
    trials
}
