use std::process::{Command, Output};

use crate::programs::{Server, addresses, program, run};

fn greet(address: &str, name: &str) -> Output {
    run("grpc-client", &[address, name])
}

#[test]
fn address_argument_selects_the_carrier() {
    let folder = tempfile::tempdir().unwrap();
    for (address, carrier) in addresses(folder.path()) {
        let server = Server::start("grpc-server", &[&address]);
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
        let server = expected.contains("name").then(|| Server::start("grpc-server", &[&address]));
        let Output { status, stderr, .. } = greet(&address, "");
        let complaint = String::from_utf8_lossy(&stderr);
        assert!(!status.success() && complaint.contains(expected), "{complaint}");
        drop(server);
    }
}

/// The containers of `compose.yaml`, as far as the kernel has them: namespaces.
mod needs_namespaces {
    use std::path::Path;

    use super::*;

    const ADDRESS: &str = "shm:/run/greeter/greeter.sock";
    /// The only folder of the machine's file system that both see, except for programs.
    const CONTAINER: &str = "mount -t tmpfs tmpfs /run && mkdir /run/greeter && \
        mount --bind \"$0\" /run/greeter && mount -t tmpfs tmpfs /dev/shm && exec \"$@\"";

    /// A program in mount, pid, network, ipc and host name namespaces of its own.
    fn in_a_container(volume: &Path, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child"]);
        command.args(["--mount-proc", "sh", "-c", CONTAINER]).arg(volume);
        command.arg(program).args(arguments);
        command
    }

    #[test]
    #[ignore = "needs namespaces: `make needs` runs it where there are"]
    fn containers_sharing_only_the_socket_folder_share_memory() {
        let compose = include_str!("../../grpc/compose.yaml");
        assert_eq!(compose.matches(ADDRESS).count(), 2, "what is tried here is another address");
        let volume = tempfile::tempdir().unwrap();
        let server = program("grpc-server");
        let server = Server::spawn(&mut in_a_container(volume.path(), &server, &[ADDRESS]));
        assert_eq!(server.address, ADDRESS);
        let client = program("grpc-client");
        let output = in_a_container(volume.path(), &client, &[ADDRESS, "Ada"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "hello Ada, by shm\n");
        let shared: Vec<_> = std::fs::read_dir(volume.path()).unwrap().flatten().collect();
        assert!(shared.len() == 1 && shared[0].file_name() == "greeter.sock", "{shared:?}");
    }
}
