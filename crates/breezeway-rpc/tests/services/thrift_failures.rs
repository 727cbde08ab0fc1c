//! Thrift peers that are slow, deaf or mistaken, and limits that are met.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use breezeway::{Address, CallError};
use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{
    AsyncServer, AsyncThriftClient, CallOptions, Context, Error, Server, ThriftClient,
    ThriftFraming,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tempfile::TempDir;
use tokio::sync::mpsc::unbounded_channel;

use crate::shop::{AsyncShopClient, AsyncShopServer, Corner, ShopBuyError, ShopClient};
use crate::thrift::{FRAMINGS, Running, said, tea};
use crate::thrift_awaited::{call, echo};

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/users.rs"));
use users::{Users, UsersAgeError, UsersServer};

/// A listener that the tests answer for, and a client of it.
fn by_hand(framing: ThriftFraming) -> (UnixListener, ShopClient<ThriftClient>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let client = ThriftClient::with_framing(Address::unix(path), framing);
    (listener, ShopClient::new(client), folder)
}

/// Returns the result of an action on another thread, which must end soon.
fn soon<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || tell.send(act()));
    told.recv_timeout(Duration::from_secs(10)).expect("it ends")
}

fn timeout(milliseconds: u64) -> CallOptions {
    CallOptions::new().timeout(Duration::from_millis(milliseconds))
}

#[test]
fn slow_reading_server_fails_call_at_its_deadline() {
    let (listener, shop, _folder) = by_hand(ThriftFraming::Framed);
    let (stop, stopped) = mpsc::channel::<()>();
    let reading = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut piece = vec![0; 64 << 10];
        while stopped.recv_timeout(Duration::from_millis(100)).is_err() {
            if socket.read(&mut piece).unwrap() == 0 {
                break;
            }
        }
    });
    let begun = Instant::now();
    let failed = shop.with(timeout(1000)).echo("x".repeat(4 << 20));
    assert!(matches!(failed, Err(Error::Call(CallError::DeadlinePassed))), "{failed:?}");
    // All of it would take six seconds.
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    drop(stop);
    reading.join().unwrap();
}

#[test]
fn full_backlog_ends_the_call_at_its_deadline() {
    let (listener, shop, folder) = by_hand(ThriftFraming::Framed);
    rustix::net::listen(&listener, 0).unwrap();
    let path = folder.path().join("shop.sock");
    // A backlog of 0 has room for one.
    let _waiting = UnixStream::connect(path).unwrap();
    let failed = soon(move || shop.with(timeout(100)).count()).unwrap_err();
    assert!(matches!(failed, Error::Connecting(..)), "{failed}");
    assert!(!failed.may_have_run());
}

#[tokio::test]
async fn full_backlog_is_awaited_until_the_connect_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.sock");
    let listener = UnixListener::bind(&path).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    // A backlog of 0 has room for one.
    let _waiting = UnixStream::connect(&path).unwrap();
    let client = AsyncThriftClient::with_framing(Address::unix(path), ThriftFraming::Framed);
    let client = client.connect_timeout(Duration::from_millis(100));
    let failed = AsyncShopClient::new(client).count().await.unwrap_err();
    let Error::Connecting(_, error) = &failed else { panic!("{failed}") };
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
}

#[test]
fn a_reply_to_another_call_ends_its_connection() {
    let (listener, shop, _folder) = by_hand(ThriftFraming::Unframed);
    let calling = std::thread::spawn(move || [shop.check(1), shop.check(1)]);
    let answer = |kind, sequence| {
        [b"\x80\x01\0", &[kind][..], b"\0\0\0\x05check\0\0\0", &[sequence, 0]].concat()
    };
    let mut request = [0; 25];
    for answer in [answer(2, 99), answer(3, 98)] {
        let (mut socket, _) = listener.accept().unwrap();
        socket.read_exact(&mut request).unwrap();
        socket.write_all(&answer).unwrap();
    }
    for outcome in calling.join().unwrap() {
        let Err(Error::Application(error)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(error.kind, ExceptionKind::BAD_SEQUENCE_ID);
    }
}

#[test]
fn timeout_beyond_the_clock_is_unlimited() {
    let running = Running::new("shm");
    let for_ever = || CallOptions::new().timeout(Duration::MAX);
    for framing in FRAMINGS {
        running.client(framing).with(for_ever()).check(1).unwrap();
    }
    let native = breezeway::Pool::connect(&running.address).unwrap();
    ShopClient::new(native).with(for_ever()).check(1).unwrap();
    let shared = breezeway::Session::connect(&running.address).unwrap();
    ShopClient::new(shared).with(for_ever()).check(1).unwrap();
}

#[test]
fn reply_metadata_that_does_not_fit_fails_its_call_in_words() {
    let running = Running::new("unix");
    let shop = running.client(ThriftFraming::TtHeader);
    let giant = CallOptions::new().metadata("name", "Goliath").timeout(Duration::from_secs(10));
    let failed = shop.with(giant).echo("x".to_owned());
    let Err(Error::Application(error)) = failed else { panic!("{failed:?}") };
    assert_eq!(error.kind, ExceptionKind::INTERNAL_ERROR);
    assert!(error.message.contains("65536"), "{error}");
    shop.check(1).unwrap();
}

#[tokio::test]
async fn oversized_reply_metadata_fails_its_call_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let place = format!("shm:{}/shop.sock", folder.path().display());
    let server = AsyncServer::bind(&place).unwrap();
    let server = server.add_service(AsyncShopServer(Corner::new(unbounded_channel().0))).unwrap();
    let stopper = server.stopper();
    let serving = tokio::spawn(server.serve());
    let channel = breezeway_tokio::Session::connect(&place).await.unwrap();
    let giant = CallOptions::new().metadata("name", "Goliath");
    let failed = AsyncShopClient::new(channel).with(giant).echo("x".to_owned()).await;
    let Err(Error::Application(error)) = failed else { panic!("{failed:?}") };
    assert!(error.message.contains("65535"), "{error}");
    stopper.stop();
    serving.await.unwrap().unwrap();
}

#[test]
fn a_refusal_with_status_0_is_an_error_all_the_same() {
    let running = Running::new("unix");
    for framing in FRAMINGS {
        let failed = running.client(framing).buy(tea(1), Some("nought".to_owned()));
        let Err(ShopBuyError::Rpc(Error::Application(error))) = failed else {
            panic!("{failed:?}")
        };
        assert_eq!(error.message, "all is well (status 0)");
    }
}

#[test]
fn oneway_message_is_never_answered() {
    let running = Running::new("unix");
    assert_eq!(said(&running, b"\x80\x01\0\x04\0\0\0\x05ready\0\0\0\x07\0"), b"");
}

#[tokio::test]
async fn stopped_server_drops_connection_of_unreading_client() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.sock");
    let place = format!("unix:{}", path.display());
    let server = AsyncServer::bind(&place).unwrap().with_thrift_clients();
    let server = server.add_service(AsyncShopServer(Corner::new(unbounded_channel().0))).unwrap();
    let stopper = server.stopper();
    let serving = tokio::spawn(server.serve());
    // It sends until the server, which waits for it to read, reads no more.
    let sending = move || {
        let mut socket = UnixStream::connect(path).unwrap();
        socket.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        let call = b"\x80\x01\0\x01\0\0\0\x05ready\0\0\0\x07\0".repeat(1000);
        while socket.write_all(&call).is_ok() {}
        socket
    };
    let socket = tokio::task::spawn_blocking(sending).await.unwrap();
    stopper.stop();
    serving.await.unwrap().unwrap();
    let closed = tokio::task::spawn_blocking(move || {
        let mut asked = [PollFd::new(&socket, PollFlags::empty())];
        poll(&mut asked, Some(&Timespec { tv_sec: 10, tv_nsec: 0 })).unwrap();
        asked[0].revents()
    });
    assert!(closed.await.unwrap().contains(PollFlags::HUP), "the server still has it");
}

/// Reads a part of a request, answers as a server that refuses its length, and closes.
fn refuse(listener: &UnixListener) {
    let (mut socket, _) = listener.accept().unwrap();
    socket.read_exact(&mut [0; 1024]).unwrap();
    // An exception without a frame, as Volo's server sends.
    let words = "frame of 16777252 bytes exceeds the limit";
    let mut message = b"\x80\x01\0\x03\0\0\0\x04echo\0\0\0\0\x0b\0\x01\0\0\0".to_vec();
    message.push(words.len() as u8);
    message.extend_from_slice(words.as_bytes());
    message.extend_from_slice(b"\x08\0\x02\0\0\0\x07\0");
    socket.write_all(&message).unwrap();
}

fn assert_refused(outcome: Result<String, Error>) {
    let Err(Error::Application(error)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.kind, ExceptionKind::PROTOCOL_ERROR);
    assert_eq!(error.message, "frame of 16777252 bytes exceeds the limit");
}

#[test]
fn request_refused_while_written_fails_with_servers_reason() {
    for framing in FRAMINGS {
        let (listener, shop, _folder) = by_hand(framing);
        let refusing = std::thread::spawn(move || refuse(&listener));
        assert_refused(shop.echo("x".repeat(16 << 20)));
        refusing.join().unwrap();
    }
}

#[tokio::test]
async fn request_refused_while_awaited_fails_with_servers_reason() {
    for framing in FRAMINGS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let refusing = tokio::task::spawn_blocking(move || refuse(&listener));
        let client = AsyncThriftClient::with_framing(Address::unix(path), framing);
        assert_refused(AsyncShopClient::new(client).echo("x".repeat(16 << 20)).await);
        refusing.await.unwrap();
    }
}

#[test]
fn request_cut_off_fails_with_connection_error() {
    let (listener, shop, _folder) = by_hand(ThriftFraming::Framed);
    let cutting = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.read_exact(&mut [0; 1024]).unwrap();
    });
    let failed = shop.echo("x".repeat(16 << 20));
    assert!(matches!(failed, Err(Error::Io(_))), "{failed:?}");
    cutting.join().unwrap();
}

/// Sends a call that waits and one that does not; returns the number of the first reply.
fn first_replied(running: &Running) -> u8 {
    let mut socket = UnixStream::connect(running.path()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket.write_all(&[echo(1, "never"), echo(2, "now")].concat()).unwrap();
    let mut start = [0; 12];
    let read = socket.read_exact(&mut start);
    running.slow.notify_one();
    read.expect("a reply in time");
    assert_eq!(start[4..6], [0x10, 0]);
    start[11]
}

#[test]
fn slow_call_in_ttheader_delays_no_other_of_its_connection() {
    let running = Running::new("unix");
    assert_eq!(first_replied(&running), 2);
}

#[test]
fn calls_of_one_connection_run_side_by_side_up_to_a_limit() {
    const CALLS: u8 = 200;
    let running = Running::new("unix");
    let mut socket = UnixStream::connect(running.path()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let slow = (0..CALLS).flat_map(|number| echo(number, "never")).collect::<Vec<_>>();
    socket.write_all(&slow).unwrap();
    let reply_size = echo(0, "never").len() + 12;
    let mut seen = [false; CALLS as usize];
    for _ in 0..CALLS {
        running.slow.notify_one();
        let mut size = [0; 4];
        socket.read_exact(&mut size).unwrap();
        let mut reply = vec![0; u32::from_be_bytes(size) as usize];
        assert!(reply.len() < 2 * reply_size, "{}", reply.len());
        socket.read_exact(&mut reply).unwrap();
        assert!(!std::mem::replace(&mut seen[usize::from(reply[7])], true), "answered twice");
    }
}

/// Handlers that send the names of their threads (proc(5)); those of "slow" wait to be released.
struct Named {
    threads: mpsc::Sender<PathBuf>,
    released: Mutex<mpsc::Receiver<()>>,
}

impl Users for Named {
    fn age(&self, _: &Context, name: String) -> Result<i64, UsersAgeError> {
        self.threads.send(std::fs::read_link("/proc/thread-self").unwrap()).unwrap();
        if name == "slow" {
            self.released.lock().unwrap().recv().unwrap();
        }
        Ok(0)
    }

    fn seen(&self, _: &Context, _: String) {}
}

/// Reads a reply in TTHeader.
fn read_reply(socket: &mut UnixStream) {
    let mut size = [0; 4];
    socket.read_exact(&mut size).unwrap();
    socket.read_exact(&mut vec![0; u32::from_be_bytes(size) as usize]).unwrap();
}

#[test]
fn first_thread_of_a_connection_ends_once_others_are_idle() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("users.sock");
    let ((threads, seen), (release, released)) = (mpsc::channel(), mpsc::channel());
    let server = Server::bind(Address::unix(&path)).unwrap().with_thrift_clients();
    let named = Named { threads, released: Mutex::new(released) };
    let server = server.add_service(UsersServer(named)).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || server.serve());
    let mut socket = UnixStream::connect(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut first = None;
    let begun = Instant::now();
    loop {
        // The slow call's thread finds two idle and ends, unless the quick one's is late.
        socket.write_all(&call("age", 1, "slow")).unwrap();
        let thread = seen.recv().unwrap();
        let first = first.get_or_insert(Path::new("/proc").join(thread));
        if !first.exists() {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{first:?} stays");
        socket.write_all(&call("age", 2, "quick")).unwrap();
        seen.recv().unwrap();
        read_reply(&mut socket);
        release.send(()).unwrap();
        read_reply(&mut socket);
    }
    release.send(()).unwrap();
    read_reply(&mut socket);
    stopper.stop();
    serving.join().unwrap().unwrap();
}
