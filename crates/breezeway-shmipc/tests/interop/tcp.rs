//! With files the socket may also be one of TCP.

use std::path::Path;

use super::folder::Folder;
use super::program::{Program, Sharing};

#[track_caller]
fn talk_over_tcp(client: Program, server: Program) {
    if !(client.is_here() && server.is_here()) {
        return;
    }
    let folder = Folder::new();
    let (_server, address) = server.serve_anywhere("tcp:127.0.0.1:0");
    let client = client.client("client", Path::new(&address), &folder.prefix(), Sharing::V2File);
    let mut client = client.obey();
    assert_eq!(client.ask("exchange 64,100000,3 10 3"), "done 3002010");
}

#[test]
fn our_client_talks_to_a_shmipc_go_server() {
    talk_over_tcp(Program::Ours, Program::Go);
}

#[test]
fn a_shmipc_go_client_talks_to_our_server() {
    talk_over_tcp(Program::Go, Program::Ours);
}

#[test]
fn our_client_talks_to_our_server() {
    talk_over_tcp(Program::Ours, Program::Ours);
}
