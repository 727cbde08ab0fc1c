//! The process that serves, by tonic's own transport and by ours.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::service::Routes;
use tonic::transport::server::TcpIncoming;

/// Addresses at which a server listens.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    folder: PathBuf,
    /// The TCP ports of ours and of tonic's.
    pub(crate) ports: [u16; 2],
}

impl Places {
    pub(crate) fn of_ours(&self, carrier: &str) -> String {
        match carrier {
            "tcp" => format!("tcp:127.0.0.1:{}", self.ports[0]),
            carrier => format!("{carrier}:{}/{carrier}", self.folder.display()),
        }
    }

    pub(crate) fn of_tonic(&self, socket: &str) -> String {
        match socket {
            "tcp" => format!("http://127.0.0.1:{}", self.ports[1]),
            _ => format!("unix:{}/tonic", self.folder.display()),
        }
    }
}

/// A process of this program that serves in a folder, which ends with this.
pub(crate) struct Server {
    process: Child,
    pub(crate) places: Places,
}

impl Server {
    pub(crate) fn start(folder: &Path) -> Result<Self> {
        let mut server = Command::new(std::env::current_exe()?);
        let process = server.arg("serve").arg(folder).stdout(Stdio::piped()).spawn()?;
        let places = Places { folder: folder.to_owned(), ports: [0; 2] };
        let mut server = Self { process, places };
        let mut line = String::new();
        if let Some(output) = server.process.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let (ours, tonic) = line.trim().split_once(' ').context("the server does not start")?;
        server.places.ports = [ours.parse()?, tonic.parse()?];
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.process.kill().and_then(|()| self.process.wait()) {
            eprintln!("the server is left behind: {error}");
        }
    }
}

/// The standard health check and the service of the interoperability test.
pub(crate) fn routes() -> Routes {
    let (_reporter, health) = tonic_health::server::health_reporter();
    Routes::new(health).add_service(breezeway_grpc_interop::server())
}

/// Serves the standard health check and the service of the interoperability test, after passing its
/// addresses to `started`.
pub(crate) async fn serve(folder: &Path, started: impl FnOnce(Places)) -> Result<()> {
    let routes = routes();
    let path = folder.display();
    let address = format!("unix:{path}/unix,shm:{path}/shm,tcp:127.0.0.1:0");
    let ours = breezeway_grpc::Server::builder().add_routes(routes.clone()).bind(address)?;
    let address = ours.address().to_string();
    let port = address.rsplit(':').next().context("a port")?.parse()?;
    let unix = UnixListenerStream::new(UnixListener::bind(folder.join("tonic"))?);
    let tcp = TcpIncoming::bind("127.0.0.1:0".parse()?)?.with_nodelay(Some(true));
    let ports = [port, tcp.local_addr()?.port()];
    started(Places { folder: folder.to_owned(), ports });
    let tonic = tonic::transport::Server::builder;
    let unix = tonic().add_routes(routes.clone()).serve_with_incoming(unix);
    let tcp = tonic().add_routes(routes).serve_with_incoming(tcp);
    tokio::try_join!(
        async { anyhow::Ok(ours.serve().await?) },
        async { anyhow::Ok(unix.await?) },
        async { anyhow::Ok(tcp.await?) }
    )?;
    Ok(())
}
