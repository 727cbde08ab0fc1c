//! Names that a client announces (B1.4, B1.5).

use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;

use breezeway_adversary::shmipc::handshake::{dial, read_to_end};
use breezeway_adversary::shmipc::message::{message, names};
use breezeway_adversary::shmipc::region::contents;
use breezeway_adversary::shmipc::{Peer, buffers, queue};

use crate::victim::Victim;

fn offer_files(victim: &Victim, queue: &Path, buffer: &Path) -> Vec<u8> {
    let mut socket = dial(&victim.path);
    let body = names(queue.to_str().unwrap(), buffer.to_str().unwrap());
    socket.write_all(&message(2, 0, &body)).unwrap();
    read_to_end(&mut socket)
}

#[test]
fn a_path_outside_the_allowed_folders_is_neither_opened_nor_removed() {
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
fn two_clients_that_announce_the_same_name_have_memory_of_their_own() {
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

#[test]
fn files_are_removed_at_the_end_only_by_choice_and_only_if_they_were_mapped() {
    use breezeway_shmipc::{Address, Server, ServerOptions, Trust};
    for choice in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sock");
        let options =
            ServerOptions::new(Trust::SameUser).folders([folder.path()]).remove_files(choice);
        let server = Server::bind(&Address::Unix(path.clone()), options).unwrap();
        let [queue, buffer] = ["queue", "buffer"].map(|name| folder.path().join(name));
        std::fs::write(&queue, contents(&queue::region())).unwrap();
        std::fs::write(&buffer, contents(&buffers::region())).unwrap();
        let mut socket = dial(&path);
        let body = names(queue.to_str().unwrap(), buffer.to_str().unwrap());
        socket.write_all(&message(2, 0, &body)).unwrap();
        let session = server.accept().unwrap();
        assert!(queue.exists() && buffer.exists());
        drop(socket);
        assert!(session.accept().is_err());
        assert_eq!((queue.exists(), buffer.exists()), (!choice, !choice));
    }
}
