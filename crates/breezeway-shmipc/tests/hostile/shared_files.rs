//! Files that two sessions name: a session may only read the files of its own user.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use breezeway_adversary::shmipc::message::{message, names};
use breezeway_adversary::shmipc::region::contents;
use breezeway_adversary::shmipc::{buffers, queue};
use breezeway_shmipc::{Address, Server, ServerOptions, Session, Trust};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use tempfile::TempDir;

/// A server, and a folder in which clients may name files.
struct Shared {
    server: Server,
    folder: TempDir,
}

impl Shared {
    fn over_tcp() -> Self {
        let address = Address::Tcp("127.0.0.1:0".to_owned());
        Self::at(|_| address, |options| options.files_of_unknown_users(true))
    }

    fn over_unix() -> Self {
        Self::at(|folder| Address::Unix(folder.join("sock")), |options| options)
    }

    fn at(
        address: impl FnOnce(&Path) -> Address,
        change: impl FnOnce(ServerOptions) -> ServerOptions,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = ServerOptions::new(Trust::AnyUser).folders([folder.path()]);
        // They are offered again.
        let options = options.remove_files(false);
        let server = Server::bind(&address(folder.path()), change(options)).unwrap();
        Self { server, folder }
    }

    fn file(&self, name: &str, region: &OwnedFd) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, contents(region)).unwrap();
        path
    }

    /// Returns the session that a client of version 2 gets for these files; `None` if it is
    /// refused.
    fn offer(&self, queue: &Path, buffer: &Path) -> Option<(File, Session)> {
        let socket = match self.server.address() {
            Address::Unix(path) => OwnedFd::from(UnixStream::connect(path).unwrap()),
            Address::Tcp(socket) => OwnedFd::from(TcpStream::connect(socket).unwrap()),
            other => panic!("{other}"),
        };
        let patience = Some(Duration::from_secs(20));
        set_socket_timeout(&socket, Timeout::Recv, patience).unwrap();
        let mut socket = File::from(socket);
        let body = names(queue.to_str().unwrap(), buffer.to_str().unwrap());
        // Version 3, which notifies a client that its regions are mapped.
        socket.write_all(&message(3, 4, &[])).unwrap();
        socket.write_all(&message(3, 0, &body)).unwrap();
        let mut answers = [0; 16];
        let mapped = socket.read_exact(&mut answers).is_ok() && answers[15] == 6;
        mapped.then(|| (socket, self.server.accept().unwrap()))
    }
}

#[test]
fn over_tcp_no_file_is_mapped_for_two_sessions() {
    let shared = Shared::over_tcp();
    let queues = ["q1", "q2"].map(|name| shared.file(name, &queue::region()));
    let buffers = ["b1", "b2"].map(|name| shared.file(name, &buffers::region()));
    let victim = shared.offer(&queues[0], &buffers[0]).expect("the first to name them");
    for (queue, buffer) in [(0, 0), (0, 1), (1, 0)] {
        assert!(
            shared.offer(&queues[queue], &buffers[buffer]).is_none(),
            "a stranger maps queue {queue} and buffer {buffer} of the victim"
        );
    }
    assert!(victim.1.ended().is_none());
    // Files of a refused offer are free again, and so are those of an ended session.
    assert!(shared.offer(&queues[1], &buffers[1]).is_some());
    let (socket, session) = victim;
    drop(socket);
    assert!(session.accept().is_err());
    drop(session);
    assert!(shared.offer(&queues[0], &buffers[0]).is_some());
}

#[test]
fn sessions_of_one_process_share_a_buffer_file_and_no_queue() {
    let shared = Shared::over_unix();
    let queues = ["q1", "q2"].map(|name| shared.file(name, &queue::region()));
    let buffer = shared.file("b", &buffers::region());
    let _first = shared.offer(&queues[0], &buffer).expect("the first to name them");
    let _second = shared.offer(&queues[1], &buffer).expect("the same process");
    assert!(shared.offer(&queues[0], &buffer).is_none(), "a queue is that of one session");
}

#[test]
fn one_file_is_not_both_regions() {
    let shared = Shared::over_unix();
    let buffer = shared.file("b", &buffers::region());
    assert!(shared.offer(&buffer, &buffer).is_none());
}

#[test]
fn files_over_tcp_have_to_be_asked_for() {
    let address = Address::Tcp("127.0.0.1:0".to_owned());
    let error = Server::bind(&address, ServerOptions::new(Trust::AnyUser)).err().unwrap();
    assert!(error.to_string().contains("files_of_unknown_users = false"), "{error}");
}
