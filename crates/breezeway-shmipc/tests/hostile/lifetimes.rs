//! Ends in every order (B2, B4).

use std::io::Read;

use breezeway_shmipc::{
    Address, ClientOptions, Server, ServerOptions, Session, SessionEnd, StreamError, Trust,
};
use rustix::io::fcntl_getfd;

use crate::raw::{FIRST_SLICE, LISTS, RawClient, SECOND_SLICE, SliceHeader, get};

fn pair() -> (Session, Session) {
    let client =
        ClientOptions::new(Trust::SameUser).buffer_size(1 << 20).slices([(1004, 50), (4076, 50)]);
    Session::pair(&client, &ServerOptions::new(Trust::SameUser)).unwrap()
}

#[test]
fn zero_copy_bytes_held_while_the_peer_goes_away() {
    let (client, server) = pair();
    let mut stream = client.open().unwrap();
    stream.send(&[7; 900]).unwrap();
    let mut served = server.accept().unwrap();
    drop(server);
    let peeked = served.peek().unwrap().unwrap();
    drop(stream);
    client.close();
    drop(client);
    assert_eq!(peeked.to_vec(), [7; 900]);
    served.release(900);
}

#[test]
fn a_flush_followed_at_once_by_a_disconnect() {
    let (client, server) = pair();
    for _ in 0..100 {
        client.open().unwrap().send(b"last words").unwrap();
    }
    client.close();
    for _ in 0..100 {
        let mut words = Vec::new();
        server.accept().unwrap().read_to_end(&mut words).unwrap();
        assert_eq!(words, b"last words");
    }
    assert!(matches!(server.accept(), Err(StreamError::Session(SessionEnd::PeerGone))));
}

#[test]
fn streams_closed_without_reading_leak_no_slices() {
    let (client, server) = pair();
    let free = |session: &Session| -> u32 {
        session.statistics().slices.iter().map(|(_, free, kept)| free + kept).sum()
    };
    let before = free(&client);
    for _ in 0..1000 {
        let mut stream = client.open().unwrap();
        stream.send(b"unread").unwrap();
        let mut served = server.accept().unwrap();
        served.peek().unwrap();
        served.send(b"unread").unwrap();
        stream.peek().unwrap();
    }
    // What each side keeps for itself is counted by the other as taken.
    let kept: u32 = server.statistics().slices.iter().map(|(_, _, kept)| kept).sum();
    assert_eq!(free(&client) + kept, before);
}

#[test]
fn unread_elements_give_their_slices_back_when_the_session_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sock");
    let server =
        Server::bind(&Address::Unix(path.clone()), ServerOptions::new(Trust::SameUser)).unwrap();
    let mut raw = RawClient::connect(&path);
    let session = server.accept().unwrap();
    raw.fill(
        FIRST_SLICE,
        SliceHeader { next: SECOND_SLICE, flags: 3, ..SliceHeader::of(b"x") },
        b"x",
    );
    raw.fill(SECOND_SLICE, SliceHeader::of(b"y"), b"y");
    raw.put(2, FIRST_SLICE, 0);
    let before = get(&raw.buffer, LISTS[0].0);
    drop(session);
    assert_eq!(get(&raw.buffer, LISTS[0].0), before + 2);
}

#[test]
fn a_close_does_not_overtake_bytes_over_the_socket() {
    let (client, server) = pair();
    let sent = vec![7; 2_000_000];
    let receiving = std::thread::spawn(move || {
        let mut served = server.accept().unwrap();
        let len = served.peek_at_least(2_000_001).unwrap().unwrap().len();
        served.release(len);
        len
    });
    let mut stream = client.open().unwrap();
    stream.send(&sent).unwrap();
    stream.close();
    assert_eq!(receiving.join().unwrap(), sent.len());
}

#[test]
fn late_data_opens_no_ghost_stream() {
    let (client, server) = pair();
    let mut stream = client.open().unwrap();
    stream.send(b"first").unwrap();
    drop(server.accept().unwrap());
    // This side has not yet heard of the close, as its queue was not looked at.
    stream.send(b"late").unwrap();
    client.open().unwrap().send(b"next").unwrap();
    assert_eq!(server.accept().unwrap().id(), 3);
}

#[test]
fn reading_more_than_the_peer_ever_sent_ends_with_its_close() {
    let (client, server) = pair();
    let mut stream = client.open().unwrap();
    stream.send(b"few").unwrap();
    stream.close();
    let mut served = server.accept().unwrap();
    assert_eq!(served.peek_at_least(1000).unwrap().unwrap().len(), 3);
    let error = served.read_exact(&mut [0; 4]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
}

#[test]
fn no_descriptor_is_inherited_over_exec() {
    let (_client, _server) = pair();
    for entry in std::fs::read_dir("/proc/self/fd").unwrap() {
        let entry = entry.unwrap();
        let target = std::fs::read_link(entry.path()).unwrap_or_default();
        if !target.to_string_lossy().contains("memfd:shmipc") {
            continue;
        }
        let number = entry.file_name().to_string_lossy().parse().unwrap();
        // SAFETY: open at this moment, and if not, the call only fails.
        let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
        let flags = fcntl_getfd(fd);
        assert!(flags.is_err() || flags.unwrap().contains(rustix::io::FdFlags::CLOEXEC));
    }
}

#[test]
fn a_forked_child_that_drops_its_copy_disturbs_nobody() {
    let (client, server) = pair();
    let mut stream = client.open().unwrap();
    stream.send(b"before").unwrap();
    let mut served = server.accept().unwrap();
    served.peek().unwrap();
    // SAFETY: the child only drops what it has and leaves. That frees memory, which glibc keeps possible over fork, and takes no lock that another thread may hold.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop((served, stream));
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: waits for our own child.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    served.release(6);
    stream.send(b"after").unwrap();
    assert_eq!(served.peek().unwrap().unwrap().to_vec(), b"after");
}
