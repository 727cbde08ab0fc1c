//! Files that a client names (B1.4, B1.5).

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use breezeway_adversary::shmipc::handshake::{dial, read_to_end};
use breezeway_adversary::shmipc::message::{message, names};
use breezeway_adversary::shmipc::region::contents;
use breezeway_adversary::shmipc::{Peer, buffers, queue};
use breezeway_shmipc::{Address, Server, ServerOptions, Session, Trust};
use tempfile::TempDir;

use crate::victim::Victim;

fn offer_files(victim: &Victim, queue: &Path, buffer: &Path) -> Vec<u8> {
    let mut socket = dial(&victim.path);
    let body = names(queue.to_str().unwrap(), buffer.to_str().unwrap());
    socket.write_all(&message(2, 0, &body)).unwrap();
    read_to_end(&mut socket)
}

#[test]
fn path_outside_allowed_folders_is_left_alone() {
    let mut victim = Victim::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let precious = elsewhere.path().join("precious");
    std::fs::write(&precious, vec![0; 4096]).unwrap();
    let inside = victim.folder.path().join("absent");
    assert_eq!(offer_files(&victim, &precious, &inside), b"");
    assert_eq!(offer_files(&victim, &inside, &precious), b"");
    assert_eq!(std::fs::read(&precious).unwrap(), vec![0; 4096]);
    victim.is_well();
}

#[test]
fn a_file_that_is_no_region_is_neither_changed_nor_removed() {
    let mut victim = Victim::new();
    let precious = victim.folder.path().join("precious");
    std::fs::write(&precious, vec![0; 4096]).unwrap();
    assert_eq!(offer_files(&victim, &precious, &precious), b"");
    assert_eq!(offer_files(&victim, &precious, &victim.folder.path().join("absent")), b"");
    assert_eq!(std::fs::read(&precious).unwrap(), vec![0; 4096]);
    victim.is_well();
}

#[test]
fn a_link_out_of_the_allowed_folder_is_not_followed() {
    let mut victim = Victim::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let precious = elsewhere.path().join("precious");
    std::fs::write(&precious, vec![0; 4096]).unwrap();
    let link = victim.folder.path().join("link");
    symlink(&precious, &link).unwrap();
    assert_eq!(offer_files(&victim, &link, &link), b"");
    assert!(link.is_symlink());
    assert_eq!(std::fs::read(&precious).unwrap(), vec![0; 4096]);
    victim.is_well();
}

#[test]
fn clients_with_same_file_names_have_own_memory() {
    let mut victim = Victim::new();
    let mut first = Peer::connect(&victim.path);
    first.send(2, b"secret of client a");
    let [_, secret, _] = first.take();
    assert_eq!(first.slices.payload(secret), b"secret of client a");
    // The second names the same regions, and the offset where the first one's bytes lie.
    let mut second = Peer::connect(&victim.path);
    second.send(2, b"mine");
    let [_, offset, _] = second.take();
    assert_eq!(second.slices.payload(offset), b"mine");
    first.send(3, b"again");
    let [stream, offset, _] = first.take();
    assert_eq!((stream, first.slices.payload(offset)), (3, b"again".to_vec()));
    victim.is_well();
}

/// A server of this folder, and files in it like those that a client creates.
struct Served {
    server: Server,
    folder: TempDir,
}

impl Served {
    fn new(change: impl FnOnce(ServerOptions) -> ServerOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = ServerOptions::new(Trust::SameUser).folders([folder.path()]);
        let address = Address::Unix(folder.path().join("sock"));
        Self { server: Server::bind(&address, change(options)).unwrap(), folder }
    }

    fn file(&self, name: &str, region: &OwnedFd) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, contents(region)).unwrap();
        path
    }

    fn connect(&self, queue: &Path, buffer: &Path) -> (UnixStream, Session) {
        let mut socket = dial(&self.folder.path().join("sock"));
        let body = names(queue.to_str().unwrap(), buffer.to_str().unwrap());
        socket.write_all(&message(2, 0, &body)).unwrap();
        (socket, self.server.accept().unwrap())
    }
}

fn end(client: UnixStream, session: &Session) {
    drop(client);
    assert!(session.accept().is_err());
}

#[test]
fn client_files_are_removed_at_end_unless_disabled() {
    for choice in [None, Some(true), Some(false)] {
        let served = Served::new(|options| match choice {
            None => options,
            Some(choice) => options.remove_files(choice),
        });
        let queue = served.file("queue", &queue::region());
        let buffer = served.file("buffer", &buffers::region());
        let (client, session) = served.connect(&queue, &buffer);
        assert!(queue.exists() && buffer.exists());
        // The handle is still held.
        end(client, &session);
        let stays = choice == Some(false);
        assert_eq!((queue.exists(), buffer.exists()), (stays, stays));
    }
}

#[test]
fn shared_buffer_file_is_removed_with_last_session() {
    let served = Served::new(|options| options);
    let queues = ["q1", "q2", "q3"].map(|name| served.file(name, &queue::region()));
    let buffer = served.file("buffer", &buffers::region());
    let (first, first_session) = served.connect(&queues[0], &buffer);
    let (second, second_session) = served.connect(&queues[1], &buffer);
    end(first, &first_session);
    assert!(!queues[0].exists() && queues[1].exists() && buffer.exists());
    let (third, third_session) = served.connect(&queues[2], &buffer);
    end(second, &second_session);
    assert!(buffer.exists());
    end(third, &third_session);
    assert!(queues.iter().all(|queue| !queue.exists()) && !buffer.exists());
}

#[test]
fn a_file_that_was_replaced_meanwhile_is_not_removed() {
    let served = Served::new(|options| options);
    let queue = served.file("queue", &queue::region());
    let buffer = served.file("buffer", &buffers::region());
    let (client, session) = served.connect(&queue, &buffer);
    let elsewhere = served.folder.path().join("elsewhere");
    std::fs::rename(&buffer, &elsewhere).unwrap();
    symlink(&elsewhere, &buffer).unwrap();
    std::fs::remove_file(&queue).unwrap();
    std::fs::write(&queue, "precious").unwrap();
    end(client, &session);
    assert!(elsewhere.exists() && buffer.is_symlink());
    assert_eq!(std::fs::read(&queue).unwrap(), b"precious");
}
