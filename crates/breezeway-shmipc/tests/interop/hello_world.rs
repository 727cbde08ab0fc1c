//! The pair of programs of upstream's quick start, with one side ours.

use super::folder::Folder;
use super::program::{Program, Sharing};

#[track_caller]
fn say_hello(client: Program, server: Program, sharing: Sharing) {
    if !(client.is_here() && server.is_here()) {
        return;
    }
    let folder = Folder::new();
    let server = server.serve_hello(&folder.socket(), &[]);
    let client = client.client("hello-client", &folder.socket(), &folder.prefix(), sharing).start();
    server.expect("server receive request message:client say hello world!!!");
    client.expect("client stream receive response server hello world!!!");
    client.succeeds();
    server.succeeds();
}

#[test]
fn our_client_greets_the_shmipc_go_server() {
    say_hello(Program::Ours, Program::Go, Sharing::V2File);
    say_hello(Program::Ours, Program::Go, Sharing::V3Memfd);
}

#[test]
fn the_shmipc_go_client_greets_our_server() {
    say_hello(Program::Go, Program::Ours, Sharing::V2File);
    say_hello(Program::Go, Program::Ours, Sharing::V3Memfd);
}

#[test]
fn our_client_greets_the_shmipc_rs_server() {
    say_hello(Program::Ours, Program::Rust, Sharing::V2File);
    say_hello(Program::Ours, Program::Rust, Sharing::V3Memfd);
}

#[test]
fn the_shmipc_rs_client_greets_our_server() {
    say_hello(Program::Rust, Program::Ours, Sharing::V2File);
    say_hello(Program::Rust, Program::Ours, Sharing::V3Memfd);
}
