//! Processes in user, pid, ipc and mount namespaces of their own, as in two containers: they have
//! only the folder of the socket in common.

use std::process::Command;

use crate::support::{Folder, Process, Settings};

/// Nothing of `/dev/shm` is shared, and no process number means anything elsewhere.
const APART: [&str; 10] = [
    "--user",
    "--map-root-user",
    "--pid",
    "--ipc",
    "--mount",
    "--fork",
    "--kill-child",
    "sh",
    "-c",
    "mount -t tmpfs tmpfs /dev/shm && mount -t proc proc /proc && exec \"$@\"",
];

/// Starts a role apart, as this user or another one.
fn start(role: &str, settings: &Settings, user: Option<u32>) -> Process {
    let mut command = Command::new("unshare");
    command.args(APART).arg("sh");
    Process::start_by(command, user, role, settings)
}

fn listening(folder: &Folder, settings: Settings) -> Process {
    let mut server = start("server", &settings.with("address", folder.address()), None);
    server.expect("listening");
    server
}

mod needs_user_namespaces {
    use super::*;

    #[test]
    #[ignore = "needs user namespaces: `make needs` runs it where there are"]
    fn processes_that_share_only_the_socket_folder_connect() {
        let folder = Folder::new();
        let mut server = listening(&folder, Settings::new());
        let to_call = || {
            let settings = Settings::new().with("address", folder.address()).with("number", 1);
            let mut client = start("client", &settings.with("calls", 200), None);
            client.expect("connected");
            client.write_line("go");
            client.expect("done");
            client
        };
        let settings = Settings::new().with("address", folder.address());
        // The same user; its process has no number there.
        assert_eq!(start("visitor", &settings, None).expect("in"), "None Some(0) Some(0)");
        let mut killed = to_call();
        killed.kill();
        let mut client = to_call();
        client.write_line("go");
        client.succeeds();
        server.write_line("stop");
        server.expect("served");
    }
}

/// Only root can play other users.
mod needs_root {
    use super::*;

    #[test]
    #[ignore = "needs root: `make needs` runs it where there is"]
    fn unmapped_user_is_not_the_servers_user() {
        const STRANGER: u32 = 23_456;
        let folder = Folder::new();
        folder.open_to_others();
        let anybody = Settings::new().with("mode", 0o777).with("umask", 0);
        let mut server = listening(&folder, anybody);
        let settings = Settings::new().with("address", folder.address());
        let known = start("visitor", &settings, Some(STRANGER)).expect("in");
        assert_eq!(known, "None None None");
        server.write_line("stop");
        server.expect("served");
        // A policy for the server's own user, which is 0 in both namespaces, keeps them out.
        let own = Settings::new().with("mode", 0o777).with("umask", 0).with("only", 0);
        let _server = listening(&folder, own);
        start("visitor", &settings, Some(STRANGER)).expect("out");
        start("visitor", &settings, None).expect("in");
    }
}
