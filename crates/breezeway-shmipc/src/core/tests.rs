//! Both ends of a session in one thread, so that the order of events is known.

use std::io::Read;
use std::sync::mpsc;
use std::task::Waker;
use std::time::Duration;

use breezeway_os::scm;
use rustix::net::SendFlags;

use super::*;
use crate::error::StreamError;
use crate::options::{ClientOptions, ServerOptions, Trust, WhenExhausted};
use crate::session::Session;
use crate::slow_descriptor::{LINGER, slow_to_close};
use crate::stream::Stream;
use crate::stream_state::Arrival;
use crate::wire::{self, MessageType};
#[cfg(feature = "tokio")]
use {crate::options::SessionOptions, breezeway_os::WaitPolicy};

fn pair(limit: usize) -> (Session, Session) {
    let mut client = ClientOptions::new(Trust::SameUser);
    client.session.fallback_limit = limit;
    Session::pair(&client, &ServerOptions::new(Trust::SameUser)).unwrap()
}

/// Returns true if `what` ends within two seconds.
fn ends(what: impl FnOnce() + Send + 'static) -> bool {
    let (done, ended) = mpsc::channel();
    std::thread::spawn(move || {
        what();
        let _ = done.send(());
    });
    ended.recv_timeout(Duration::from_secs(2)).is_ok()
}

/// Sends bytes over the socket, as after the shared memory was exhausted.
fn send_fallback(session: &Session, stream: u32, bytes: &[u8]) {
    let header = wire::fallback_header(session.core.version, stream, bytes.len());
    assert!(session.core.send_payload_behind_queue(&[&header, bytes]).unwrap());
}

#[test]
fn partial_release_makes_room_for_more() {
    let (client, server) = pair(10_000);
    let mut stream = client.open().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20)));
    send_fallback(&server, stream.id(), &[7; 10_000]);
    assert_eq!(stream.peek_at_least(10_000).unwrap().unwrap().len(), 10_000);
    stream.release(9_000);
    assert_eq!(client.statistics().fallback_bytes, 1_000);
    send_fallback(&server, stream.id(), &[8; 4_000]);
    let bytes = stream.peek_at_least(5_000).unwrap().unwrap().to_vec();
    assert_eq!(bytes, [&[7; 1_000][..], &[8; 4_000]].concat());
    stream.release(5_000);
    assert_eq!(client.statistics().fallback_bytes, 0);
}

#[test]
fn wait_beyond_limit_fails_when_nothing_more_can_come() {
    let (client, server) = pair(10_000);
    let mut stream = client.open().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20)));
    send_fallback(&server, stream.id(), &[7; 40_000]);
    let error = stream.peek_at_least(40_000).err().unwrap();
    let StreamError::TooLarge { len: 40_000, largest, option: "fallback_limit" } = error else {
        panic!("{error}")
    };
    assert!((10_000..40_000).contains(&largest), "{largest}");
    let mut bytes = vec![0; 40_000];
    stream.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, [7; 40_000]);
}

#[test]
fn an_end_at_the_limit_is_still_an_end() {
    let (client, server) = pair(10_000);
    let mut stream = client.open().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20)));
    send_fallback(&server, stream.id(), &[7; 10_000]);
    let close = wire::stream_close(server.core.version, stream.id());
    assert!(server.core.send_behind_queue(&[&close]).unwrap());
    assert_eq!(stream.peek_at_least(40_000).unwrap().unwrap().len(), 10_000);
}

/// Fills the socket, so that the next message has to wait.
fn fill_socket(session: &Session) {
    let wake = wire::bare(MessageType::Polling, session.core.version).repeat(100);
    while session.core.send(&wake).unwrap() {}
}

#[test]
fn close_behind_full_socket_arrives_without_another_call() {
    let (client, server) = pair(10_000);
    let mut stream = client.open().unwrap();
    stream.send(b"x").unwrap();
    let mut served = server.accept().unwrap();
    served.set_read_timeout(Some(Duration::from_secs(20)));
    // In both directions, and by a shutdown too.
    let shut_down = |mut stream: Stream| {
        stream.shutdown().unwrap();
        Some(stream)
    };
    let closes: [fn(Stream) -> Option<Stream>; 2] = [|_| None, shut_down];
    for close in closes {
        let mut stream = client.open().unwrap();
        stream.send(b"x").unwrap();
        let mut served = server.accept().unwrap();
        served.set_read_timeout(Some(Duration::from_secs(20)));
        client.core.leave_queue(stream.state());
        fill_socket(&client);
        let _kept = close(stream);
        assert!(client.core.is_socket_full());
        let mut bytes = Vec::new();
        served.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"x");
    }
    server.core.leave_queue(served.state());
    fill_socket(&server);
    drop(served);
    stream.set_read_timeout(Some(Duration::from_secs(20)));
    assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), 0);
}

#[test]
fn close_ends_the_thread_that_waits_for_a_full_socket() {
    // At either end, with a stream that is kept.
    for at_client in [true, false] {
        let (client, server) = pair(10_000);
        let (stream, kept) = (client.open().unwrap(), client.open().unwrap());
        client.core.leave_queue(stream.state());
        fill_socket(&client);
        drop(stream);
        let core = Arc::clone(&client.core);
        assert!(core.flushing.load(Ordering::SeqCst));
        if at_client {
            client.close()
        } else {
            server.close()
        }
        let begun = std::time::Instant::now();
        while core.flushing.load(Ordering::SeqCst) {
            assert!(begun.elapsed() < Duration::from_secs(60), "the thread goes on");
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(kept);
    }
}

#[test]
fn closed_session_is_over_though_its_socket_is_full() {
    let (client, server) = pair(10_000);
    let stream = client.open().unwrap();
    client.core.leave_queue(stream.state());
    fill_socket(&client);
    drop((stream, client));
    assert!(ends(move || while server.core.ended().is_none() {
        server.core.help_receive();
    }));
}

#[test]
fn end_counts_after_unread_socket_bytes() {
    let (client, server) = pair(1000);
    let (mut first, mut second) = (client.open().unwrap(), client.open().unwrap());
    send_fallback(&server, first.id(), &[7; 20_000]);
    send_fallback(&server, second.id(), b"last bytes");
    assert!(server.core.publish_close(second.id()).unwrap());
    assert!(second.try_peek().unwrap().is_none());
    assert!(client.core.is_overfull() && !second.is_at_end());
    for stream in [&mut first, &mut second] {
        stream.set_read_timeout(Some(Duration::from_secs(20)));
    }
    first.read_exact(&mut [0; 20_000]).unwrap();
    let mut rest = Vec::new();
    second.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"last bytes");
}

#[test]
fn a_message_on_the_socket_overtakes_nothing_in_a_long_queue() {
    let mut options = ClientOptions::new(Trust::SameUser).queue_capacity(32_768);
    options = options.buffer_size(4 << 20).slices([(64, 100)]);
    let (client, server) = Session::pair(&options, &ServerOptions::new(Trust::SameUser)).unwrap();
    let mut stream = client.open().unwrap();
    for _ in 0..32_768 {
        stream.send(b"x").unwrap();
    }
    // The queue is full, so the end goes over the socket.
    stream.close();
    server.core.help_receive();
    let mut bytes = Vec::new();
    server.accept().unwrap().read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 32_768);
}

/// Reads the data of a stream at once, and sends more: a peer and an application that never finish,
/// in the receiving thread.
struct Feeder {
    server: Session,
    client: Session,
    stream: Arc<StreamState>,
    fed: AtomicUsize,
}

impl std::task::Wake for Feeder {
    fn wake(self: Arc<Self>) {
        if self.fed.fetch_add(1, Ordering::Relaxed) == 1000 {
            return;
        }
        let mut reading = VecDeque::new();
        let waker = Waker::from(Arc::clone(&self));
        while self.stream.collect(&mut reading, Some(&waker)) == Some(Arrival::Bytes) {}
        self.client.core.discard(reading);
        if !self.stream.is_closed() {
            send_fallback(&self.server, self.stream.id, &[7; 100]);
        }
    }
}

#[test]
fn stream_end_is_seen_behind_endless_data() {
    let (client, server) = pair(1000);
    let (busy, mut ending) = (client.open().unwrap(), client.open().unwrap());
    let stream = Arc::clone(busy.state());
    let fed = AtomicUsize::new(0);
    let (served, session) = (server.clone(), client.clone());
    let feeder = Arc::new(Feeder { server: served, client: session, stream, fed });
    Waker::from(Arc::clone(&feeder)).wake();
    assert!(server.core.publish_close(ending.id()).unwrap());
    assert!(ending.try_peek().unwrap().is_none() && ending.is_at_end());
    let fed = feeder.fed.load(Ordering::Relaxed);
    assert!(fed <= 3, "received {fed} times before that");
    // Its own waker would keep it, and both sessions.
    busy.state().close();
}

#[test]
fn restart_acknowledgement_to_a_client_ends_session() {
    let (client, server) = pair(1000);
    let message = wire::hot_restart(MessageType::HotRestartAck, server.core.version, 7);
    assert!(server.core.send(&message).unwrap());
    let mut stream = client.open().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20)));
    let ended = stream.peek().err().unwrap();
    let rule = Violation::MessageType(9);
    assert_eq!(ended.to_string(), StreamError::from(SessionEnd::from(rule)).to_string());
}

#[test]
fn peers_end_is_noticed_while_a_stream_is_at_its_limit() {
    let (client, server) = pair(1000);
    let (mut first, mut second) = (client.open().unwrap(), client.open().unwrap());
    send_fallback(&server, first.id(), &[7; 2000]);
    second.set_read_timeout(Some(Duration::from_millis(50)));
    assert!(second.read(&mut [0; 8]).is_err());
    second.set_read_timeout(None);
    drop(server);
    let ended = ends(move || drop(second.read(&mut [0; 8])));
    assert!(ended);
    let mut bytes = [0; 2000];
    first.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, [7; 2000]);
}

#[test]
fn an_end_that_is_repeated_is_remembered_once() {
    let (client, server) = pair(1000);
    let (first, second) = (client.open().unwrap(), client.open().unwrap());
    send_fallback(&server, first.id(), &[7; 20_000]);
    for _ in 0..1000 {
        assert!(server.core.publish_close(second.id()).unwrap());
    }
    client.core.help_receive();
    client.core.receive_now();
    assert!(client.core.is_overfull());
    assert_eq!(lock(&client.core.receiver).ends_remembered(), 1);
}

/// Puts one more message whenever one was received, in the receiving thread.
struct Refiller {
    sender: Mutex<Stream>,
    client: Session,
    stream: Arc<StreamState>,
    came: AtomicUsize,
}

impl std::task::Wake for Refiller {
    fn wake(self: Arc<Self>) {
        let mut reading = VecDeque::new();
        let waker = Waker::from(Arc::clone(&self));
        while self.stream.collect(&mut reading, Some(&waker)) == Some(Arrival::Bytes) {}
        self.client.core.discard(reading);
        if self.came.fetch_add(1, Ordering::Relaxed) < 100_000 {
            lock(&self.sender).send(b"x").unwrap();
        }
    }
}

#[test]
fn many_wake_ups_cause_bounded_queue_drains() {
    let (client, server) = pair(1000);
    let mut stream = client.open().unwrap();
    stream.send(b"x").unwrap();
    let sender = Mutex::new(server.accept().unwrap());
    let state = Arc::clone(stream.state());
    let came = AtomicUsize::new(0);
    let refiller = Arc::new(Refiller { sender, client: client.clone(), stream: state, came });
    Waker::from(Arc::clone(&refiller)).wake();
    for _ in 0..50 {
        assert!(server.core.send(&wire::bare(MessageType::Polling, server.core.version)).unwrap());
    }
    client.core.help_receive();
    let came = refiller.came.load(Ordering::Relaxed);
    // Once before the socket is read, and a ring full after.
    assert!(came <= 5 * 4096, "{came}");
    // Its own waker would keep it, and both sessions.
    stream.state().close();
}

#[test]
fn rest_of_message_for_dropped_stream_is_discarded() {
    let (client, server) = pair(1 << 20);
    let stream = client.open().unwrap();
    let header = wire::fallback_header(server.core.version, stream.id(), 2000);
    assert!(server.core.send_payload_behind_queue(&[&header, &[7; 1000]]).unwrap());
    client.core.help_receive();
    assert_eq!(client.statistics().fallback_bytes, 1000);
    assert_eq!(client.statistics().streams_over_socket, 1);
    drop(stream);
    assert!(server.core.send(&[7; 1000]).unwrap());
    client.core.help_receive();
    assert_eq!(client.statistics().fallback_bytes, 0);
    assert_eq!(client.statistics().streams_over_socket, 0);
}

#[test]
fn received_bytes_are_visible_with_many_streams_open() {
    let (client, server) = pair(1000);
    let mut streams: Vec<_> = (0..64).map(|_| client.open().unwrap()).collect();
    streams.iter_mut().for_each(|stream| stream.send(b"x").unwrap());
    let mut served: Vec<_> = streams.iter().map(|_| server.accept().unwrap()).collect();
    for _ in 0..50 {
        for (ours, theirs) in streams.iter_mut().zip(&mut served) {
            theirs.send(b"y").unwrap();
            assert!(ours.try_peek().unwrap().is_some());
            ours.release(1);
        }
    }
}

#[cfg(feature = "tokio")]
#[test]
fn blocking_reader_that_leaves_wakes_sleeping_driver() {
    use tokio::io::AsyncReadExt;

    let options = ClientOptions::new(Trust::SameUser);
    let options = options.session(SessionOptions::new().wait(WaitPolicy::Busy));
    let (client, server) = Session::pair(&options, &ServerOptions::new(Trust::SameUser)).unwrap();
    let driver_sleeps = || lock(&server.core.producer).is_consumer_resting();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _inside = runtime.enter();

    let mut blocking = client.open().unwrap();
    blocking.set_read_timeout(Some(Duration::from_secs(20)));
    blocking.send(b"x").unwrap();
    let mut to_thread = server.accept().unwrap();
    let mut stream = client.open().unwrap();
    stream.send(b"x").unwrap();
    let mut to_task = server.accept().unwrap();

    let mut stream = crate::asynchronous::Stream::new(stream).unwrap();
    let task = runtime.spawn(async move { stream.read_u8().await });
    // This comes second among one worker's tasks, so the first one waits now.
    runtime.block_on(runtime.spawn(async {})).unwrap();
    eventually(driver_sleeps);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            eventually(|| !driver_sleeps());
            to_thread.send(b"a").unwrap();
        });
        blocking.read_exact(&mut [0]).unwrap();
    });
    to_task.send(b"b").unwrap();
    let read = runtime.block_on(async { tokio::time::timeout(PATIENCE, task).await });
    assert_eq!(read.expect("the task hears of it").unwrap().unwrap(), b'b');
}

#[cfg(feature = "tokio")]
const PATIENCE: Duration = Duration::from_secs(20);

#[cfg(feature = "tokio")]
fn eventually(done: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
}

#[test]
fn unread_descriptors_do_not_delay_the_session_end() {
    let (client, server) = pair(1000);
    let (slow, _other) = slow_to_close();
    let wake = wire::bare(MessageType::Polling, client.core.version);
    scm::send(client.core.socket(), &wake, &[slow.as_fd()], SendFlags::empty()).unwrap();
    drop(slow);
    let start = std::time::Instant::now();
    drop(server);
    assert!(start.elapsed() < LINGER, "closed for {:?}", start.elapsed());
}

#[test]
fn slow_closing_descriptor_ends_its_session_at_once() {
    let (client, server) = pair(1000);
    let (slow, _other) = slow_to_close();
    let wake = wire::bare(MessageType::Polling, client.core.version);
    scm::send(client.core.socket(), &wake, &[slow.as_fd()], SendFlags::empty()).unwrap();
    drop(slow);
    let start = std::time::Instant::now();
    server.core.help_receive();
    assert!(start.elapsed() < LINGER, "received for {:?}", start.elapsed());
    let end = server.ended().unwrap();
    assert!(matches!(end, SessionEnd::Violation(Violation::UnexpectedDescriptors(1))), "{end}");
}

#[test]
fn urgent_byte_with_descriptor_ends_its_session_at_once() {
    let (client, server) = pair(1000);
    let (slow, _other) = slow_to_close();
    scm::send(client.core.socket(), &[0], &[slow.as_fd()], SendFlags::OOB).unwrap();
    drop(slow);
    let start = std::time::Instant::now();
    server.core.help_receive();
    assert!(start.elapsed() < LINGER, "received for {:?}", start.elapsed());
    let end = server.ended().unwrap();
    assert!(matches!(end, SessionEnd::Violation(Violation::UnexpectedDescriptors(1))), "{end}");
}

#[test]
fn gone_peer_makes_session_unusable_while_unread() {
    let (client, server) = pair(1000);
    let stream = client.open().unwrap();
    send_fallback(&server, stream.id(), &[7; 20_000]);
    client.poll();
    assert!(client.core.is_overfull() && client.is_usable());
    drop(server);
    client.poll();
    assert!(client.ended().is_none());
    assert!(!client.is_usable());
}

#[test]
fn gone_peer_makes_session_unusable_behind_pending_bytes() {
    let (client, server) = pair(1000);
    let wake = wire::bare(MessageType::Polling, server.core.version);
    scm::send(server.core.socket(), &wake, &[], SendFlags::empty()).unwrap();
    drop(server);
    assert!(!client.is_usable());
}

#[test]
fn gone_peer_makes_session_unusable_while_another_receives() {
    let (client, server) = pair(1000);
    let receiver = lock(&client.core.receiver);
    assert!(client.is_usable());
    drop(server);
    assert!(client.ended().is_none());
    assert!(!client.is_usable());
    drop(receiver);
}

#[test]
fn a_send_that_waits_for_room_fails_when_its_stream_is_over() {
    for when_exhausted in [WhenExhausted::Wait, WhenExhausted::UseSocket] {
        for by_peer in [true, false] {
            let mut options = ClientOptions::new(Trust::SameUser).buffer_size(1 << 20);
            options.session.when_exhausted = when_exhausted;
            let server = ServerOptions::new(Trust::SameUser);
            let (client, server) = Session::pair(&options, &server).unwrap();
            let mut stream = client.open().unwrap();
            let interrupter = stream.interrupter().unwrap();
            let (failed, failure) = mpsc::channel();
            std::thread::spawn(move || {
                let error = loop {
                    if let Err(error) = stream.send(&[7; 1 << 16]) {
                        break error;
                    }
                };
                failed.send(error).unwrap();
            });
            let served = server.accept().unwrap();
            // In this test it waits in no other way.
            while client.statistics().polls == 0 {
                std::thread::yield_now();
            }
            if by_peer {
                drop(served)
            } else {
                interrupter.give_up()
            }
            let error = failure.recv_timeout(Duration::from_secs(60)).expect("the send ends");
            assert!(matches!(error, StreamError::Closed), "{when_exhausted:?}: {error}");
        }
    }
}

#[test]
fn statistics_are_given_while_another_thread_sends() {
    let (client, server) = pair(1 << 20);
    let mut stream = client.open().unwrap();
    let (done, ended) = mpsc::channel();
    std::thread::spawn(move || {
        stream.send(b"x").unwrap();
        let mut served = server.accept().unwrap();
        for _ in 0..20_000 {
            served.read_exact(&mut [0]).unwrap();
            stream.send(b"x").unwrap();
        }
        done.send(()).unwrap();
    });
    let (asked, told) = mpsc::channel();
    std::thread::spawn(move || {
        while ended.try_recv().is_err() {
            client.statistics();
        }
        asked.send(()).unwrap();
    });
    told.recv_timeout(Duration::from_secs(60)).expect("no thread waits for ever");
}
