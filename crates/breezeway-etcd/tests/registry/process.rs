use std::process::{Child, Command};
use std::time::Duration;

use breezeway_etcd::{Etcd, Lease};
use breezeway_rpc::instances::Instance;
use breezeway_tokio::Server;
use rustix::process::{Signal, set_parent_process_death_signal};
use tempfile::TempDir;
use tokio::time::timeout;

const NAME: &str = "BREEZEWAY_TEST_NAME";
const ETCD: &str = "BREEZEWAY_TEST_ETCD";
const FOLDER: &str = "BREEZEWAY_TEST_FOLDER";

/// Far longer than a test lets one live.
const LONGEST: Duration = Duration::from_secs(120);

/// This test binary once more, as a server of this name, killed when dropped.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(name: &str, etcd: &str, folder: &TempDir) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "another_process"])
            .env(NAME, name)
            .env(ETCD, etcd)
            .env(FOLDER, folder.path())
            .spawn();
        Self(child.unwrap())
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves and registers, if this process was started for that.
pub(crate) fn play() {
    let Ok(name) = std::env::var(NAME) else { return };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let (etcd, folder) = (std::env::var(ETCD).unwrap(), std::env::var(FOLDER).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let address = format!("shm:{folder}/{name}");
        let server = Server::bind(&address).unwrap();
        let instance = Instance::here(&name, server.address()).unwrap();
        let etcd = Etcd::connect(&[&etcd]).await.unwrap();
        let registration = etcd.register("echo", &instance, Lease::seconds(2)).await.unwrap();
        // The test kills it before.
        let _ = timeout(LONGEST, server.serve(|call| async move { call.echo() })).await;
        drop(registration);
    });
}
