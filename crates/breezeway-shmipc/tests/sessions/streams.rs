//! Streams between two sides of this crate in one process.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use breezeway_shmipc::{
    ClientOptions, Deadline, ServerOptions, Session, SessionEnd, SessionOptions, Stream,
    StreamError, Trust, TrustedPeer, WaitPolicy, WhenExhausted, WhenFull,
};

const PATIENCE: Duration = Duration::from_secs(20);

fn client_options() -> ClientOptions {
    ClientOptions::new(Trust::SameUser).buffer_size(1 << 20).slices([(1004, 50), (4076, 50)])
}

fn pair_with(client: SessionOptions, server: SessionOptions) -> (Session, Session) {
    let server = ServerOptions::new(Trust::SameUser).session(server);
    Session::pair(&client_options().session(client), &server).unwrap()
}

fn pair() -> (Session, Session) {
    pair_with(SessionOptions::new(), SessionOptions::new())
}

/// Sets the test's time limit on all waits of a stream.
fn patient(mut stream: Stream) -> Stream {
    stream.set_read_timeout(Some(PATIENCE));
    stream.set_write_timeout(Some(PATIENCE));
    stream
}

fn open(client: &Session) -> Stream {
    patient(client.open().unwrap())
}

fn accept(server: &Session) -> Stream {
    patient(server.accept_until(Deadline::after(PATIENCE)).unwrap())
}

/// Returns bytes that show their position.
fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + at / 251) as u8).collect()
}

fn echo(server: &Session) -> SessionEnd {
    server.serve(|stream| {
        while let Some(bytes) = stream.try_peek()? {
            let bytes = bytes.to_vec();
            stream.send(&bytes)?;
            stream.release(bytes.len());
        }
        Ok(())
    })
}

fn all_slices_are_back(session: &Session) -> bool {
    session
        .statistics()
        .slices
        .iter()
        .zip([511, 127])
        .all(|((_, free, kept), count)| free + kept <= count)
}

#[test]
fn sent_bytes_arrive_before_the_end() {
    let (client, server) = pair();
    let mut stream = open(&client);
    stream.send(b"hello").unwrap();
    let mut served = accept(&server);
    assert_eq!(served.id(), 2);
    let peeked = served.peek().unwrap().unwrap();
    assert_eq!((peeked.len(), peeked.to_vec()), (5, b"hello".to_vec()));
    served.release(5);
    stream.close();
    assert!(served.peek().unwrap().is_none());
    assert!(served.is_at_end());
    assert!(matches!(served.send(b"late"), Err(StreamError::Closed)));
}

#[test]
fn every_size_comes_back_as_it_was_sent() {
    for policy in [WaitPolicy::Adaptive, WaitPolicy::Park] {
        let options = || SessionOptions::new().wait(policy);
        let (client, server) = pair_with(options(), options());
        let serving = std::thread::spawn(move || echo(&server));
        let mut stream = open(&client);
        for len in [1, 2, 63, 1003, 1004, 1005, 4076, 4077, 20_000, 300_000] {
            let sent = content(len);
            let mut received = vec![0; len];
            stream.write_all(&sent).unwrap();
            stream.read_exact(&mut received).unwrap();
            assert!(received == sent, "{len} bytes");
        }
        assert!(all_slices_are_back(&client));
        client.close();
        assert!(matches!(serving.join().unwrap(), SessionEnd::PeerGone));
    }
}

#[test]
fn a_deadline_ends_a_wait() {
    let (client, _server) = pair();
    let mut stream = open(&client);
    stream.set_read_timeout(Some(Duration::from_millis(20)));
    assert!(matches!(stream.peek(), Err(StreamError::TimedOut)));
    stream.set_read_timeout(None);
    stream.set_read_deadline(Deadline::after(Duration::ZERO));
    let error = stream.read(&mut [0; 1]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
}

#[test]
fn a_full_queue_is_an_error_that_loses_nothing_or_a_wait() {
    let server = ServerOptions::new(Trust::SameUser);
    let options = SessionOptions::new().when_full(WhenFull::Fail);
    let client = client_options().queue_capacity(8).session(options);
    let (client, server) = Session::pair(&client, &server).unwrap();
    let mut stream = open(&client);
    for number in 0..8 {
        stream.send(&[number]).unwrap();
    }
    let mut reserved = stream.reserve(1).unwrap();
    reserved.write(&[8]);
    assert!(matches!(reserved.try_commit(), Err(StreamError::QueueFull)));
    let mut served = accept(&server);
    let mut bytes = [0; 8];
    served.read_exact(&mut bytes).unwrap();
    reserved.commit().unwrap();
    let mut last = [0];
    served.read_exact(&mut last).unwrap();
    assert_eq!((bytes, last), ([0, 1, 2, 3, 4, 5, 6, 7], [8]));
}

#[test]
fn exhausted_memory_is_an_error_by_choice() {
    let options = SessionOptions::new().when_exhausted(WhenExhausted::Fail);
    let (client, server) = pair_with(options, SessionOptions::new());
    let mut stream = open(&client);
    let chunk = content(100_000);
    let mut sent = 0;
    let error = loop {
        match stream.write(&chunk) {
            Ok(count) => sent += count,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    let mut served = accept(&server);
    let mut received = vec![0; sent];
    served.read_exact(&mut received).unwrap();
    assert!(stream.write(&chunk).is_ok());
}

#[test]
fn exhausted_memory_goes_over_the_socket_in_order() {
    let (client, server) = pair();
    let sent = content(3_000_000);
    let receiving = std::thread::spawn(move || {
        let mut served = accept(&server);
        // All is held until all has arrived, so the region cannot suffice.
        let bytes = served.peek_at_least(3_000_000).unwrap().unwrap().to_vec();
        served.release(bytes.len());
        served.send(b"got it").unwrap();
        assert!(served.peek().unwrap().is_none());
        bytes
    });
    let mut stream = open(&client);
    stream.send(&sent).unwrap();
    let mut answer = [0; 6];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(client.statistics().streams_over_socket, 1);
    stream.close();
    assert!(receiving.join().unwrap() == sent);
    assert_eq!(client.statistics().streams_over_socket, 0);
}

#[test]
fn many_concurrent_streams_get_their_own_bytes() {
    let (client, server) = pair();
    let serving = std::thread::spawn(move || echo(&server));
    std::thread::scope(|scope| {
        for number in 0..32u32 {
            let client = &client;
            scope.spawn(move || {
                let mut stream = open(client);
                for round in 0..50u32 {
                    let sent = content(1 + (number * 97 + round * 31) as usize % 6000);
                    stream.write_all(&sent).unwrap();
                    let mut received = vec![0; sent.len()];
                    stream.read_exact(&mut received).unwrap();
                    assert!(received == sent);
                }
            });
        }
    });
    client.close();
    serving.join().unwrap();
}

#[test]
fn bytes_before_the_peers_end_are_read_first() {
    let (client, server) = pair();
    let mut stream = open(&client);
    stream.send(b"last words").unwrap();
    drop(stream);
    drop(client);
    let mut served = accept(&server);
    let mut bytes = Vec::new();
    served.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, b"last words");
    assert!(matches!(server.accept(), Err(StreamError::Session(SessionEnd::PeerGone))));
}

#[test]
fn an_interrupter_ends_the_next_wait() {
    let (client, _server) = pair();
    let mut stream = open(&client);
    stream.interrupter().unwrap().interrupt();
    assert!(matches!(stream.peek(), Err(StreamError::Interrupted)));
}

#[test]
fn an_interrupter_ends_a_wait_from_another_thread() {
    let (client, _server) = pair();
    let mut stream = open(&client);
    let interrupter = stream.interrupter().unwrap();
    let (starts, started) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        starts.send(rustix::thread::gettid()).unwrap();
        stream.peek().map(drop)
    });
    wait_for_sleep(started.recv().unwrap());
    interrupter.interrupt();
    assert!(matches!(waiting.join().unwrap(), Err(StreamError::Interrupted)));
}

/// Waits until a thread of this process sleeps, by the kernel's state.
fn wait_for_sleep(thread: rustix::thread::Pid) {
    let stat = format!("/proc/self/task/{}/stat", thread.as_raw_nonzero());
    let start = Instant::now();
    while !std::fs::read_to_string(&stat).unwrap().contains(") S ") {
        assert!(start.elapsed() < PATIENCE, "it does not sleep");
        std::thread::yield_now();
    }
}

#[test]
fn more_threads_than_the_queue_has_places_are_all_served() {
    for policy in [WaitPolicy::Adaptive, WaitPolicy::Park] {
        let options = SessionOptions::new().wait(policy);
        let client = client_options().queue_capacity(8).session(options.clone());
        let server = ServerOptions::new(Trust::SameUser).session(options);
        let (client, server) = Session::pair(&client, &server).unwrap();
        let serving = std::thread::spawn(move || echo(&server));
        std::thread::scope(|scope| {
            for _ in 0..100 {
                scope.spawn(|| {
                    let mut stream = open(&client);
                    for len in [64, 2000, 64, 2000] {
                        stream.send(&content(len)).unwrap();
                        let mut received = vec![0; len];
                        stream.read_exact(&mut received).unwrap();
                    }
                });
            }
        });
        client.close();
        serving.join().unwrap();
    }
}

/// Returns the writes and reads of the socket by both sides for these round trips on one stream.
fn socket_calls(policy: WaitPolicy, round_trips: u64) -> [u64; 4] {
    let options = || SessionOptions::new().wait(policy);
    let (client, server) = pair_with(options(), options());
    let served = server.clone();
    let serving = std::thread::spawn(move || echo(&served));
    let mut stream = open(&client);
    for _ in 0..round_trips {
        stream.send(&[7; 64]).unwrap();
        stream.read_exact(&mut [0; 64]).unwrap();
    }
    let (ours, theirs) = (client.statistics(), server.statistics());
    client.close();
    serving.join().unwrap();
    [ours.socket_writes, ours.socket_reads, theirs.socket_writes, theirs.socket_reads]
}

#[test]
fn sleeping_round_trip_costs_one_write_and_one_read() {
    // The server's last read is the sleeping one at the end.
    for calls in socket_calls(WaitPolicy::Park, 500) {
        assert!(calls <= 501, "{calls} calls for 500 round trips");
    }
}

#[test]
fn while_both_sides_are_busy_nothing_is_written() {
    let [ours, _, theirs, _] = socket_calls(WaitPolicy::Busy, 500);
    assert!(ours <= 1 && theirs <= 1, "{ours} and {theirs} writes for 500 round trips");
}

#[test]
fn a_reservation_that_could_never_be_had_is_refused() {
    let options = SessionOptions::new().when_exhausted(WhenExhausted::Wait);
    let (client, _server) = pair_with(options, SessionOptions::new());
    let mut stream = open(&client);
    for len in [2 << 20, usize::MAX] {
        assert!(matches!(stream.reserve(len), Err(StreamError::TooLarge { .. })), "{len}");
    }
}

#[test]
fn more_bytes_than_can_ever_come_are_not_waited_for() {
    let limit = SessionOptions::new().fallback_limit(1 << 20);
    let (client, server) = pair_with(SessionOptions::new(), limit);
    let mut stream = open(&client);
    stream.send(b"few").unwrap();
    let mut served = accept(&server);
    // All slices of both kinds but one of each, which is never given out.
    let most = 510 * 1004 + 126 * 4076 + (1 << 20);
    for len in [most + 1, usize::MAX] {
        let error = served.peek_at_least(len).err().unwrap();
        assert!(error.to_string().contains("fallback_limit"), "{error}");
        let refused = matches!(error, StreamError::TooLarge { len: asked, largest, .. } if (asked, largest) == (len, most));
        assert!(refused, "{error}");
    }
    drop(stream);
    assert_eq!(served.peek_at_least(most).unwrap().unwrap().to_vec(), b"few");
}

/// Returns both ends of a stream without unread data.
fn established(client: &Session, server: &Session) -> (Stream, Stream) {
    let mut stream = open(client);
    stream.send(b"x").unwrap();
    let mut served = accept(server);
    served.read_exact(&mut [0]).unwrap();
    (stream, served)
}

#[test]
fn stream_is_readable_after_commit_in_same_scope() {
    let (client, server) = pair();
    let (mut stream, mut served) = established(&client, &server);
    let mut reserved = stream.reserve(5).unwrap();
    reserved.write(b"hello");
    reserved.commit().unwrap();
    assert_eq!(served.peek_at_least(5).unwrap().unwrap().to_vec(), b"hello");
    served.send(b"back").unwrap();
    assert_eq!(stream.peek_at_least(4).unwrap().unwrap().to_vec(), b"back");
}

#[test]
fn unread_part_is_seen_with_the_next_bytes() {
    let (client, server) = pair();
    let serving = std::thread::spawn(move || {
        server.serve(|stream| match stream.try_peek()?.map(|peeked| peeked.to_vec()) {
            Some(bytes) if bytes.len() < 6 => Ok(()),
            Some(bytes) => {
                stream.release(bytes.len());
                stream.send(&bytes)
            }
            None => Ok(()),
        })
    });
    let mut stream = open(&client);
    stream.send(b"abc").unwrap();
    // The first part was seen alone once its slice was taken.
    while client.statistics().queue_depth > 0 {
        std::thread::yield_now();
    }
    stream.send(b"def").unwrap();
    assert_eq!(stream.peek_at_least(6).unwrap().unwrap().to_vec(), b"abcdef");
    drop((stream, client));
    serving.join().unwrap();
}

#[test]
fn appended_message_grows_beyond_shared_memory() {
    for (parts, over_socket) in [(100, 0), (2000, 1)] {
        let (client, server) = pair();
        let (mut stream, mut served) = established(&client, &server);
        served.set_read_timeout(Some(PATIENCE));
        let part = content(999);
        std::thread::scope(|scope| {
            let sending = scope.spawn(|| {
                let mut reserved = stream.reserve(1)?;
                for _ in 0..parts {
                    reserved.append(&part)?;
                }
                assert_eq!(reserved.filled(), parts * 999);
                reserved.commit()
            });
            let mut bytes = vec![0; parts * 999];
            served.read_exact(&mut bytes).unwrap();
            assert!(bytes.chunks(999).all(|chunk| chunk == part));
            sending.join().unwrap().unwrap();
        });
        assert_eq!(client.statistics().streams_over_socket, over_socket);
    }
}

#[test]
fn contiguous_bytes_are_borrowed_and_others_copied() {
    use std::borrow::Cow;
    let (client, server) = pair();
    let (mut stream, mut served) = established(&client, &server);
    let sent = content(20_000);
    stream.send(&sent).unwrap();
    let peeked = served.peek_at_least(20_000).unwrap().unwrap();
    // SAFETY: the peer is this test, which writes nothing that it has sent.
    let proof = unsafe { TrustedPeer::assume() };
    assert!(
        matches!(peeked.contiguous(1000, proof), Cow::Borrowed(bytes) if bytes == &sent[..1000])
    );
    // SAFETY: the peer is this test, which writes nothing that it has sent.
    let proof = unsafe { TrustedPeer::assume() };
    assert!(matches!(peeked.contiguous(20_000, proof), Cow::Owned(bytes) if bytes == sent));
}

#[test]
fn a_kept_stream_shows_that_its_session_is_over() {
    let (client, server) = pair();
    let (stream, _served) = established(&client, &server);
    assert!(stream.session().ended().is_none());
    client.close();
    assert!(matches!(stream.session().ended(), Some(SessionEnd::Closed)));
}

#[test]
fn shutdown_direction_ends_and_other_is_read_to_end() {
    let (client, server) = pair();
    let (mut stream, mut served) = established(&client, &server);
    served.send(b"before").unwrap();
    stream.send(b"last").unwrap();
    stream.shutdown().unwrap();
    stream.shutdown().unwrap();
    assert!(matches!(stream.send(b"more"), Err(StreamError::Closed)));
    let mut bytes = Vec::new();
    served.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, b"last");
    // As in upstream, a side that has seen the end sends no more.
    assert!(matches!(served.send(b"late"), Err(StreamError::Closed)));
    assert_eq!(stream.peek_at_least(6).unwrap().unwrap().to_vec(), b"before");
    stream.release(6);
    drop(served);
    drop(stream);
    assert_eq!(client.statistics().streams, 0);
}

#[test]
fn a_reservation_that_is_dropped_gives_everything_back() {
    let (client, _server) = pair();
    let mut stream = open(&client);
    let free = |session: &Session| -> u32 {
        session.statistics().slices.iter().map(|(_, free, kept)| free + kept).sum()
    };
    let before = free(&client);
    let mut reserved = stream.reserve(100_000).unwrap();
    assert!(reserved.capacity() >= 100_000);
    assert_eq!(reserved.write(&content(70_000)), 70_000);
    drop(reserved);
    assert_eq!(free(&client), before);
}
