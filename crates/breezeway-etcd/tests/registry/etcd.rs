//! A real etcd for one test.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use breezeway_etcd::Etcd;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

const PATIENCE: Duration = Duration::from_secs(30);
/// Time limit of one request while etcd starts.
const PAUSE: Duration = Duration::from_millis(500);

/// etcd with its data in a folder, killed when dropped.
pub(crate) struct Running {
    folder: TempDir,
    ports: (u16, u16),
    child: Child,
}

impl Running {
    pub(crate) async fn start() -> Self {
        // Another process may take a port before etcd does.
        for _ in 0..5 {
            let folder = tempfile::tempdir().unwrap();
            let ports = free_ports();
            let child = spawn(&folder, ports);
            let mut running = Self { folder, ports, child };
            if running.answers().await {
                return running;
            }
        }
        panic!("etcd does not start");
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.0)
    }

    pub(crate) async fn connect(&self) -> Etcd {
        Etcd::connect(&[&self.endpoint()]).await.unwrap()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// With the data that it had, at the same ports.
    pub(crate) async fn start_again(&mut self) {
        self.child = spawn(&self.folder, self.ports);
        assert!(self.answers().await, "etcd does not start again");
    }

    /// Throws away its data.
    pub(crate) fn lose_all(&mut self) {
        self.folder = tempfile::tempdir().unwrap();
    }

    /// Returns true once it answers reads. It takes connections some time before it does.
    async fn answers(&mut self) -> bool {
        let endpoint = self.endpoint();
        let from = Instant::now();
        while from.elapsed() < PATIENCE {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            let listed = timeout(PAUSE, async {
                etcd_client::Client::connect([&endpoint], None).await?.get("a", None).await
            });
            if matches!(listed.await, Ok(Ok(_))) {
                return true;
            }
            sleep(PAUSE / 50).await;
        }
        false
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_ports() -> (u16, u16) {
    let hosts = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [one, other] = hosts.map(|host| host.local_addr().unwrap().port());
    (one, other)
}

/// Starts etcd, which ends with the thread that starts it, also when the test is killed.
fn spawn(folder: &TempDir, (clients, peers): (u16, u16)) -> Child {
    let (clients, peers) =
        (format!("http://127.0.0.1:{clients}"), format!("http://127.0.0.1:{peers}"));
    Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "etcd", "--name", "one", "--data-dir"])
        .arg(folder.path())
        .args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients])
        .args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers])
        .args(["--initial-cluster", &format!("one={peers}")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("setpriv is there")
}
