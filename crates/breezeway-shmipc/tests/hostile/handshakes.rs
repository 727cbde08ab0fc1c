//! Invalid handshakes (B1.1 4 to 7, B1.3, B2).

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use breezeway_adversary::memfd::unsealable;
use breezeway_adversary::shmipc::handshake::{dial, exchange, read_to_end, send_descriptors};
use breezeway_adversary::shmipc::message::{message, message_of_length, names};
use breezeway_adversary::shmipc::region::{contents, set};
use breezeway_adversary::shmipc::{Peer, buffers, queue};
use breezeway_shmipc::SessionOptions;

use crate::victim::Victim;

/// Checks that the connection is closed after these bytes.
fn is_refused(messages: &[Vec<u8>]) {
    let mut victim = Victim::new();
    let mut socket = dial(&victim.path);
    for message in messages {
        let _ = socket.write_all(message);
    }
    read_to_end(&mut socket);
    victim.is_well();
}

/// Checks that the connection is closed after these regions, without the message that they are
/// mapped.
fn regions_are_refused(queue: OwnedFd, buffer: OwnedFd) {
    let mut victim = Victim::new();
    let mut raw = Peer::offer(&victim.path, queue, buffer, "name");
    assert_eq!(read_to_end(&mut raw.socket), b"");
    victim.is_well();
}

#[test]
fn names_longer_than_the_message() {
    is_refused(&[exchange(), message(3, 5, &[0xff, 0xff, b'q', 0, 1, b'b'])]);
    is_refused(&[message(2, 0, &[0, 1, b'q', 0xff, 0xff, b'b'])]);
}

#[test]
fn names_in_a_message_declared_shorter_than_a_header() {
    for length in [0, 1, 7, 8, 11] {
        is_refused(&[exchange(), message_of_length(length, 3, 5, &names("q", "b"))]);
        is_refused(&[message_of_length(length, 2, 0, &names("q", "b"))]);
    }
    is_refused(&[exchange(), message_of_length(u32::MAX, 3, 5, &names("q", "b"))]);
}

#[test]
fn a_queue_smaller_than_a_ring_header() {
    for size in [0, 1, 8, 24, 48, 71] {
        regions_are_refused(unsealable(size), buffers::region());
    }
}

#[test]
fn a_ring_of_capacity_zero_or_beyond_its_region() {
    for base in [0, queue::SIZE / 2] {
        for capacity in [0, 17, u32::MAX] {
            let queue = queue::region();
            set(&queue, base, capacity);
            regions_are_refused(queue, buffers::region());
        }
    }
}

#[test]
fn a_buffer_region_whose_lists_do_not_fit() {
    for (at, value) in [
        (0, 0),
        (0, 0xffff),
        (0, 3),
        (12, 0),
        (12, u32::MAX),
        (24, 0),
        (24, 1001),
        (24, u32::MAX - 3),
    ] {
        let buffer = buffers::region();
        set(&buffer, at, value);
        regions_are_refused(queue::region(), buffer);
    }
    for size in [0, 1, 43, 44] {
        regions_are_refused(queue::region(), unsealable(size));
    }
}

#[test]
fn duplicate_slice_sizes() {
    let buffer = buffers::region();
    set(&buffer, 523_308 + 16, 1004);
    regions_are_refused(queue::region(), buffer);
}

#[test]
fn descriptors_that_are_missing_too_many_or_no_files() {
    let regions = [queue::region(), buffers::region(), queue::region()];
    let [queue, buffer, third] = regions.each_ref();
    let (pipe, _writer) = std::io::pipe().unwrap();
    let pipe = pipe.into();
    for descriptors in
        [&[][..], &[queue], &[buffer, queue, third], &[&pipe, queue], &[buffer, &pipe]]
    {
        let mut victim = Victim::new();
        let mut socket = dial(&victim.path);
        let mut answer = [0; 16];
        socket.write_all(&exchange()).unwrap();
        socket.write_all(&message(3, 5, &names("q", "b"))).unwrap();
        socket.read_exact(&mut answer).unwrap();
        send_descriptors(&socket, descriptors);
        assert_eq!(read_to_end(&mut socket), b"");
        victim.is_well();
    }
}

#[test]
fn descriptors_of_files_that_are_not_memory() {
    // Like files of a file system that the client serves itself.
    let folder = folder_on_disk();
    let on_disk = |name: &str, region: &OwnedFd| -> OwnedFd {
        let path = folder.path().join(name);
        std::fs::write(&path, contents(region)).unwrap();
        File::options().read(true).write(true).open(path).unwrap().into()
    };
    let queue = on_disk("queue", &queue::region());
    let buffer = on_disk("buffer", &buffers::region());
    regions_are_refused(queue, buffers::region());
    regions_are_refused(queue::region(), buffer);
}

/// Creates a folder whose files are not in memory: only those in memory have seals.
fn folder_on_disk() -> tempfile::TempDir {
    let folders = [env!("CARGO_TARGET_TMPDIR"), "/var/tmp", env!("CARGO_MANIFEST_DIR"), "/"];
    let is_on_disk = |folder: &&&str| {
        let file = tempfile::tempfile_in(*folder);
        file.is_ok_and(|file| rustix::fs::fcntl_get_seals(&file).is_err())
    };
    let on_disk = folders.iter().find(is_on_disk);
    tempfile::tempdir_in(on_disk.unwrap_or_else(|| panic!("no folder on a disk among {folders:?}")))
        .unwrap()
}

#[test]
fn a_version_that_is_not_spoken_is_refused_at_once() {
    for version in [1, 4, 7, 255] {
        is_refused(&[message(version, 4, &[])]);
    }
    is_refused(&[message(2, 4, &[])]);
    is_refused(&[message(2, 5, &names("q", "b"))]);
    is_refused(&[message(3, 0, &names("q", "b"))]);
}

#[test]
fn unsealed_memfd_is_refused_if_sealing_is_required() {
    let mut victim = Victim::with(|options| options.require_sealed(true));
    let mut raw = Peer::offer(&victim.path, queue::region(), buffers::region(), "name");
    assert_eq!(read_to_end(&mut raw.socket), b"");
    victim.is_well();
}

#[test]
fn slow_handshake_delays_no_other() {
    let mut victim = Victim::new();
    // The handshake's time limit is longer than the test's, so that its end is not what lets others
    // through.
    let silent: Vec<_> = (0..50).map(|_| dial(&victim.path)).collect();
    let mut halfway = dial(&victim.path);
    halfway.write_all(&[0, 0, 0]).unwrap();
    victim.is_well();
    drop(silent);
}

#[test]
fn at_the_limit_of_unfinished_handshakes_the_oldest_goes() {
    let mut victim = Victim::with(|options| options.max_half_open(4));
    let mut sockets: Vec<_> = (0..8).map(|_| dial(&victim.path)).collect();
    for socket in &mut sockets[..4] {
        assert_eq!(read_to_end(socket), b"");
    }
    victim.is_well();
}

#[test]
fn slow_handshake_is_closed_at_its_timeout() {
    use breezeway_shmipc::{Address, Server, ServerOptions, Trust};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sock");
    let short = SessionOptions::new().handshake_timeout(std::time::Duration::from_millis(30));
    let options = ServerOptions::new(Trust::SameUser).session(short);
    let server = Server::bind(&Address::Unix(path.clone()), options).unwrap();
    let mut socket = dial(&path);
    let _ = socket.write_all(&exchange());
    read_to_end(&mut socket);
    assert!(socket.write_all(&message(3, 5, &names("q", "b"))).is_err());
    server.stopper().stop();
    assert!(server.accept().is_none());
}
