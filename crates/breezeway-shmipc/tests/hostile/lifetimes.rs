//! Ends in every order (B2, B4).

use std::io::{Read, Write};
use std::sync::Barrier;
use std::time::Duration;

use breezeway_adversary::shmipc::Peer;
use breezeway_adversary::shmipc::buffers::{FIRST_SLICE, LISTS, SECOND_SLICE, SliceHeader};
use breezeway_adversary::shmipc::region::get;
use breezeway_shmipc::{
    Address, ClientOptions, Server, ServerOptions, Session, SessionEnd, StreamError, Trust,
};

use crate::victim::PATIENCE;

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
    let peeked = served.peek().unwrap().unwrap();
    drop(stream);
    client.close();
    drop(client);
    // This side knows of the end as well, and only the stream keeps the memory.
    assert!(matches!(server.accept(), Err(StreamError::Session(SessionEnd::PeerGone))));
    drop(server);
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
    // The peer counts the slices that each side keeps as taken.
    let kept: u32 = server.statistics().slices.iter().map(|(_, _, kept)| kept).sum();
    assert_eq!(free(&client) + kept, before);
}

#[test]
fn unread_elements_give_their_slices_back_when_the_session_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sock");
    let server =
        Server::bind(&Address::Unix(path.clone()), ServerOptions::new(Trust::SameUser)).unwrap();
    let mut raw = Peer::connect(&path);
    let session = server.accept().unwrap();
    raw.slices.fill(
        FIRST_SLICE,
        SliceHeader { next: SECOND_SLICE, flags: 3, ..SliceHeader::of(b"x") },
        b"x",
    );
    raw.slices.fill(SECOND_SLICE, SliceHeader::of(b"y"), b"y");
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
    // This side has not seen the close yet, because its queue was not polled.
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
fn a_session_closed_while_others_send_and_receive() {
    for _ in 0..20 {
        let (client, server) = pair();
        let serving = std::thread::spawn(move || server.serve(crate::victim::send_back));
        let started = Barrier::new(5);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut stream = client.open().unwrap();
                    stream.set_read_timeout(Some(PATIENCE));
                    stream.set_write_timeout(Some(PATIENCE));
                    let mut bytes = [7; 3000];
                    stream.send(&bytes).unwrap();
                    stream.read_exact(&mut bytes).unwrap();
                    started.wait();
                    let ended = loop {
                        let sent = stream.send(&bytes);
                        if let Err(error) = sent.and_then(|()| stream.peek().map(drop)) {
                            break error;
                        }
                        assert!(stream.read(&mut bytes).is_ok_and(|count| count > 0));
                    };
                    assert!(matches!(ended, StreamError::Session(SessionEnd::Closed)), "{ended}");
                });
            }
            started.wait();
            client.close();
        });
        let end = serving.join().unwrap();
        assert!(matches!(end, SessionEnd::PeerGone), "{end}");
    }
}

#[test]
fn unacknowledged_hot_restart_is_reported_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sock");
    let server =
        Server::bind(&Address::Unix(path.clone()), ServerOptions::new(Trust::SameUser)).unwrap();
    let mut raw = Peer::connect(&path);
    let _session = server.accept().unwrap();
    // Twice, to check that the first leaves nothing behind.
    for epoch in [7, 8] {
        let report = server.hot_restart(epoch, Duration::from_millis(20));
        assert_eq!((report.acknowledged, report.missing), (0, 1));
        let mut told = [0; 16];
        raw.socket.read_exact(&mut told).unwrap();
        assert_eq!(told, [0, 0, 0, 16, 0x77, 0x58, 3, 8, 0, 0, 0, 0, 0, 0, 0, epoch as u8]);
    }
    raw.socket
        .write_all(&breezeway_adversary::shmipc::message::message(3, 9, &9_u64.to_be_bytes()))
        .unwrap();
    assert_eq!(server.hot_restart(9, PATIENCE).acknowledged, 1);
}

#[test]
fn forked_child_dropping_its_copy_changes_nothing() {
    let (client, server) = pair();
    let mut stream = client.open().unwrap();
    stream.send(b"before").unwrap();
    let mut served = server.accept().unwrap();
    served.peek().unwrap();
    // SAFETY: the child only drops what it has and leaves. That frees memory, which glibc keeps
    // possible over fork, and takes no lock that another thread may hold.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends the child if it waits for anything.
        unsafe { libc::alarm(20) };
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
