//! The process that serves, by tonic's own transport and by ours.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Result, ensure};
use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::service::Routes;

/// A process of this program that serves in a folder, which ends with this.
pub(crate) struct Server(Child);

impl Server {
    pub(crate) fn start(folder: &Path) -> Result<Self> {
        let mut server = Command::new(std::env::current_exe()?);
        let mut process = server.arg("serve").arg(folder).stdout(Stdio::piped()).spawn()?;
        let output = process.stdout.take();
        let server = Self(process);
        let mut line = String::new();
        if let Some(output) = output {
            BufReader::new(output).read_line(&mut line)?;
        }
        ensure!(line == "ready\n", "the server does not start");
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.0.kill().and_then(|()| self.0.wait()) {
            eprintln!("the server is left behind: {error}");
        }
    }
}

/// Serves the standard health check and the service of the interoperability test.
pub(crate) async fn serve(folder: &Path) -> Result<()> {
    let (_reporter, health) = tonic_health::server::health_reporter();
    let routes = Routes::new(health).add_service(breezeway_grpc_interop::server());
    let path = folder.display();
    let address = format!("unix:{path}/unix,shm:{path}/shm");
    let ours = breezeway_grpc::Server::builder().add_routes(routes.clone()).bind(address)?;
    let incoming = UnixListenerStream::new(UnixListener::bind(folder.join("tonic"))?);
    let tonic = tonic::transport::Server::builder().add_routes(routes);
    println!("ready");
    let tonic = async { anyhow::Ok(tonic.serve_with_incoming(incoming).await?) };
    tokio::try_join!(async { anyhow::Ok(ours.serve().await?) }, tonic)?;
    Ok(())
}
