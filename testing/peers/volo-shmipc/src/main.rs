//! Volo's Thrift client over its published shmipc transport, against a service of ours, whose
//! connections are streams of shmipc too.
//!
//! ```text
//! cargo run -p volo-shmipc
//! ```
#![forbid(unsafe_code)]

mod client;

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use breezeway_rpc::{Context, ShmipcServer};
use breezeway_shmipc::{Address, Server, ServerOptions, Trust};

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
    let path = folder.path().join("shmipc.sock");
    let address = Address::Unix(path.clone());
    let server = Server::bind(&address, ServerOptions::new(Trust::SameUser))?;
    let server = ShmipcServer::new(server).add_service(UsersServer(Table))?;
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || server.serve());

    let program = std::env::current_exe()?;
    let status = Command::new(program).arg(path).status()?;
    ensure!(status.success(), "Volo's client failed");
    stopper.stop();
    serving.join().expect("the server does not panic");
    Ok(())
}
