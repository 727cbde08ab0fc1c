//! Processes that serve.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Result, bail, ensure};
use breezeway_rpc::{AsyncServer, Server};

use crate::ours::{AsyncEchoServer, EchoServer, InPlaceEchoServer, Mirror};
use crate::volo;

/// A process that serves, which ends with this.
pub(crate) struct Served(Child);

impl Served {
    pub(crate) fn start(what: &str, address: &str) -> Result<Self> {
        let mut server = Command::new(std::env::current_exe()?);
        server.args(["serve", what, address]);
        Self::run(server)
    }

    /// Starts a server, which prints a line when it serves.
    pub(crate) fn run(mut server: Command) -> Result<Self> {
        let mut process = server.stdout(Stdio::piped()).spawn()?;
        let output = process.stdout.take();
        let served = Self(process);
        let mut line = String::new();
        if let Some(output) = output {
            BufReader::new(output).read_line(&mut line)?;
        }
        ensure!(!line.is_empty(), "the server does not start");
        Ok(served)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Err(error) = self.0.kill().and_then(|()| self.0.wait()) {
            eprintln!("a server is left behind: {error}");
        }
    }
}

pub(crate) fn serve(what: &str, address: &str) -> Result<()> {
    match what {
        "ours" => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let server = AsyncServer::bind(address)?.with_thrift_clients();
                let server = server.add_service(AsyncEchoServer(Mirror))?;
                println!("ready");
                Ok(server.serve().await?)
            })
        }
        "ours-blocking" => {
            let server = Server::bind(address)?.with_thrift_clients();
            let server = server.add_service(EchoServer(Mirror))?;
            println!("ready");
            Ok(server.serve()?)
        }
        "ours-in-place" => {
            let server = Server::bind(address)?;
            let server = server.add_service(InPlaceEchoServer(Mirror))?;
            println!("ready");
            Ok(server.serve()?)
        }
        "volo-over-shm" => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(volo::serve_over_session(address))
        }
        "volo" => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(volo::serve(address))
        }
        _ => bail!("unknown server {what}"),
    }
}
