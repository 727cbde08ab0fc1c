//! Protocol 4 of the crate shmipc. A server that refuses it must close at once, otherwise its
//! clients wait for ever.

use libtest_mimic::Trial;

use super::folder::Folder;
use super::program::{Program, Sharing};
use super::trial::trial;

fn protocol_4_is_refused_and_client_uses_3() {
    let folder = Folder::new();
    let _server = Program::Ours.serve(&folder.socket(), &[]);
    let client = Program::Rust;
    let client = client.client("client", &folder.socket(), &folder.prefix(), Sharing::V3Memfd);
    let mut client = client.flag("--v4").obey();
    assert_eq!(client.ask("exchange 64,100000 10 3"), "done 3001920");
}

pub(crate) fn trials() -> Vec<Trial> {
    let name = "protocol_4::protocol_4_is_refused_and_client_uses_3";
    let programs = [Program::Rust, Program::Ours];
    vec![trial(name, programs, protocol_4_is_refused_and_client_uses_3)]
}
