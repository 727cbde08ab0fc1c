//! Streams that are put back for the next user, and those of sessions that were replaced.

use std::time::Duration;

use breezeway_adversary::stopwatch::eventually;
use breezeway_shmipc::{Client, Memory, Server, ServerOptions, Trust};

use crate::servers::{PATIENCE, Running, small, unix_in};

#[test]
fn clean_put_back_stream_is_reused_next() {
    let folder = tempfile::tempdir().unwrap();
    let address = unix_in(&folder);
    let _running = Running::start(&address, ServerOptions::new(Trust::SameUser));
    let client = Client::connect(&address, small(Memory::Memfd)).unwrap();
    let answered = |bytes: &[u8]| {
        let mut stream = client.open().unwrap();
        stream.send(bytes).unwrap();
        assert_eq!(stream.peek_at_least(bytes.len()).unwrap().unwrap().to_vec(), bytes);
        stream
    };
    let mut stream = answered(b"one");
    let first = stream.id();
    stream.release(3);
    stream.set_read_timeout(Some(Duration::ZERO));
    client.put_back(stream);
    // The last user's time-out is reset.
    let mut stream = answered(b"again");
    assert_eq!(stream.id(), first);
    stream.release(4);
    client.put_back(stream);
    let stream = answered(b"two");
    assert_ne!(stream.id(), first, "one byte was unread");
    let second = stream.id();
    client.put_back(stream);
    let mut stream = answered(b"three");
    assert_ne!(stream.id(), second);
    stream.release(5);
    stream.shutdown().unwrap();
    let third = stream.id();
    client.put_back(stream);
    assert_ne!(client.open().unwrap().id(), third, "it was ended here");

    let other = Client::connect(&address, small(Memory::Memfd)).unwrap();
    other.put_back(client.open().unwrap());
    assert!(!other.open().unwrap().session().is_replaced());
    assert_eq!(other.sessions()[0].statistics().streams, 0);
    eventually("the streams that were not kept are closed", || {
        client.sessions()[0].statistics().streams == 0
    });
}

#[test]
fn a_stream_whose_bytes_came_after_it_was_put_back_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let address = unix_in(&folder);
    let server = Server::bind(&address, ServerOptions::new(Trust::SameUser)).unwrap();
    let client = Client::connect(&address, small(Memory::Memfd)).unwrap();
    let served = server.accept().unwrap();
    let mut stream = client.open().unwrap();
    stream.send(b"?").unwrap();
    let late = stream.id();
    client.put_back(stream);
    let mut answering = served.accept().unwrap();
    answering.send(b"too late").unwrap();
    let session = client.sessions().remove(0);
    eventually("the bytes are here", || session.statistics().counters.bytes_received == 8);
    assert_ne!(client.open().unwrap().id(), late);
    assert_eq!(answering.peek().unwrap().map(|bytes| bytes.len()), Some(1));
    answering.release(1);
    assert!(answering.peek().unwrap().is_none(), "it was closed");
}

#[test]
fn streams_of_replaced_session_are_not_reused() {
    let folder = tempfile::tempdir().unwrap();
    let address = unix_in(&folder);
    let options = || ServerOptions::new(Trust::SameUser).take_over(true);
    let old = Server::bind(&address, options()).unwrap();
    let client = Client::connect(&address, small(Memory::Memfd)).unwrap();
    let served = old.accept().unwrap();
    let (kept, put_back) = (client.open().unwrap(), client.open().unwrap());
    client.put_back(put_back);
    assert_eq!(kept.session().statistics().streams, 2);
    let new = Server::bind(&address, options()).unwrap();
    assert!(!kept.session().is_replaced());
    let report = old.hot_restart(7, PATIENCE);
    assert_eq!(report.missing, 0);
    let session = kept.session();
    assert!(session.is_replaced() && session.ended().is_none());
    // Closed at once, so that the old server has one stream less to wait for.
    eventually("the one that was put back is closed", || session.statistics().streams == 1);
    let fresh = client.open().unwrap();
    assert!(!fresh.session().is_replaced());
    drop((served, new));
}
