//! Files as shared memory, with a TCP socket.

use std::path::Path;

use libtest_mimic::Trial;

use super::folder::Folder;
use super::program::{Program, Sharing};
use super::trial::trial;

fn talk_over_tcp(client: Program, server: Program) {
    let folder = Folder::new();
    let (_server, address) = server.serve_anywhere("tcp:127.0.0.1:0");
    let client = client.client("client", Path::new(&address), &folder.prefix(), Sharing::V2File);
    let mut client = client.obey();
    assert_eq!(client.ask("exchange 64,100000,3 10 3"), "done 3002010");
}

pub(crate) fn trials() -> Vec<Trial> {
    use Program::{Go, Ours};
    let pairs = [
        ("our_client_talks_to_a_shmipc_go_server", Ours, Go),
        ("a_shmipc_go_client_talks_to_our_server", Go, Ours),
        ("our_client_talks_to_our_server", Ours, Ours),
    ];
    let trial_of = |(name, client, server)| {
        trial(format!("tcp::{name}"), [client, server], move || {
            talk_over_tcp(client, server);
        })
    };
    pairs.map(trial_of).into()
}
