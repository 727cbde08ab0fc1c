//! The two programs of upstream's quick start, with this crate on one side.

use libtest_mimic::Trial;

use super::folder::Folder;
use super::program::{Program, Sharing};
use super::trial::trial;

fn say_hello(client: Program, server: Program, sharing: Sharing) {
    let folder = Folder::new();
    let server = server.serve_hello(&folder.socket(), &[]);
    let client = client.client("hello-client", &folder.socket(), &folder.prefix(), sharing).start();
    server.expect("server receive request message:client say hello world!!!");
    client.expect("client stream receive response server hello world!!!");
    client.succeeds();
    server.succeeds();
}

pub(crate) fn trials() -> Vec<Trial> {
    use Program::{Go, Ours, Rust};
    let pairs = [
        ("our_client_greets_the_shmipc_go_server", Ours, Go),
        ("the_shmipc_go_client_greets_our_server", Go, Ours),
        ("our_client_greets_the_shmipc_rs_server", Ours, Rust),
        ("the_shmipc_rs_client_greets_our_server", Rust, Ours),
    ];
    let trial_of = |(name, client, server)| {
        trial(format!("hello_world::{name}"), [client, server], move || {
            for sharing in [Sharing::V2File, Sharing::V3Memfd] {
                say_hello(client, server, sharing);
            }
        })
    };
    pairs.map(trial_of).into()
}
