//! Runs of the two programs, as their comments describe them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

/// The server, which ends with this.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(address: &str) -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_grpc-greeter-server"));
        let mut process = server.arg(address).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on ").unwrap().to_owned();
        Self { process, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn greet(address: &str, name: &str) -> Output {
    let mut client = Command::new(env!("CARGO_BIN_EXE_grpc-greeter-client"));
    client.args([address, name]).output().unwrap()
}

#[test]
fn address_argument_selects_the_carrier() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    let addresses = [
        ("shm", format!("shm:{path}/shm.sock")),
        ("unix", format!("unix:{path}/unix.sock")),
        ("tcp", "tcp:127.0.0.1:0".to_owned()),
    ];
    for (carrier, address) in addresses {
        let server = Server::start(&address);
        let Output { status, stdout, stderr } = greet(&server.address, "Ada");
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        assert_eq!(String::from_utf8_lossy(&stdout), format!("hello Ada, by {carrier}\n"));
    }
}

#[test]
fn refusal_and_missing_server_end_the_client_with_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("shm:{}/greeter.sock", folder.path().display());
    for expected in ["start the server first", "a name is missing"] {
        let server = expected.contains("name").then(|| Server::start(&address));
        let Output { status, stderr, .. } = greet(&address, "");
        let complaint = String::from_utf8_lossy(&stderr);
        assert!(!status.success() && complaint.contains(expected), "{complaint}");
        drop(server);
    }
}

/// The containers of `compose.yaml`, as far as the kernel has them: namespaces.
mod needs_namespaces {
    use super::*;

    const ADDRESS: &str = "shm:/run/greeter/greeter.sock";
    /// The only folder of the machine's file system that both see, except for programs.
    const CONTAINER: &str = "mount -t tmpfs tmpfs /run && mkdir /run/greeter && \
        mount --bind \"$0\" /run/greeter && mount -t tmpfs tmpfs /dev/shm && exec \"$@\"";

    /// A program in mount, pid, network, ipc and host name namespaces of its own.
    fn in_a_container(volume: &std::path::Path, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child"]);
        command.args(["--mount-proc", "sh", "-c", CONTAINER]).arg(volume);
        command.arg(program).args(arguments);
        command
    }

    #[test]
    #[ignore = "needs namespaces: `make needs` runs it where there are"]
    fn containers_sharing_only_the_socket_folder_share_memory() {
        let compose = include_str!("../compose.yaml");
        assert_eq!(compose.matches(ADDRESS).count(), 2, "what is tried here is another address");
        let volume = tempfile::tempdir().unwrap();
        let server = env!("CARGO_BIN_EXE_grpc-greeter-server");
        let mut server = in_a_container(volume.path(), server, &[ADDRESS]);
        let mut process = server.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let _server = Server { process, address: ADDRESS.to_owned() };
        assert_eq!(line, format!("listening on {ADDRESS}\n"));
        let client = env!("CARGO_BIN_EXE_grpc-greeter-client");
        let output = in_a_container(volume.path(), client, &[ADDRESS, "Ada"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "hello Ada, by shm\n");
        let shared: Vec<_> = std::fs::read_dir(volume.path()).unwrap().flatten().collect();
        assert!(shared.len() == 1 && shared[0].file_name() == "greeter.sock", "{shared:?}");
    }
}
