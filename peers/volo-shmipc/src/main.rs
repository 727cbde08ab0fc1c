//! Volo's Thrift client over its published shmipc transport, against a service of ours.
//!
//! Volo writes to a stream of shmipc what it writes to a socket, so our side is a shmipc server
//! that hands each stream's bytes on to a `breezeway-rpc` server, which speaks Volo's framing.
//!
//! ```text
//! cargo run -p volo-shmipc
//! ```
#![forbid(unsafe_code)]

mod client;

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use breezeway_rpc::{Context, Server};
use breezeway_shmipc::asynchronous;
use breezeway_shmipc::{ServerOptions, Trust};
use tokio::net::UnixStream;

#[allow(dead_code, reason = "the client is Volo's")]
#[allow(missing_docs, reason = "generated")]
mod thrift {
    include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
}
use thrift::users::{NoSuchUser, Users, UsersAgeError, UsersServer};

struct Table;

impl Users for Table {
    fn age(&self, _: &Context, name: String) -> Result<i64, UsersAgeError> {
        if name == "Ada" { Ok(36) } else { Err(NoSuchUser { name }.into()) }
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    if let Some(path) = std::env::args().nth(1) {
        return client::run(Path::new(&path)).await;
    }
    let folder = tempfile::tempdir()?;
    let (sockets, shmipc) = (folder.path().join("rpc.sock"), folder.path().join("shmipc.sock"));
    let address = breezeway::Address::unix(&sockets);
    let server = Server::bind(&address)?.with_thrift_clients().add_service(UsersServer(Table))?;
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || server.serve());
    let address = breezeway_shmipc::Address::Unix(shmipc.clone());
    let options = ServerOptions::new(Trust::SameUser);
    let forwarding = asynchronous::Server::bind(&address, options)?;
    let sessions = tokio::spawn(forward_sessions(forwarding, sockets));

    let program = std::env::current_exe()?;
    let calling = move || Command::new(program).arg(shmipc).status();
    let status = tokio::task::spawn_blocking(calling).await??;
    ensure!(status.success(), "Volo's client failed");
    sessions.abort();
    stopper.stop();
    serving.join().expect("the server does not panic")?;
    Ok(())
}

/// Hands each stream's bytes on to the service's socket, and back.
async fn forward_sessions(server: asynchronous::Server, sockets: std::path::PathBuf) {
    while let Some(session) = server.accept().await {
        let sockets = sockets.clone();
        tokio::spawn(async move {
            while let Ok(mut stream) = session.accept().await {
                let sockets = sockets.clone();
                tokio::spawn(async move {
                    let mut socket = UnixStream::connect(sockets).await?;
                    tokio::io::copy_bidirectional(&mut stream, &mut socket).await
                });
            }
        });
    }
}
