//! Streams whose handlers or callers block.

pub(crate) mod flooding;

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use breezeway::{Address, CallError, ErrorCode, ServerOptions, Session, Stopper, StreamError};
use breezeway_rpc::thrift::{
    ApplicationException, ExceptionKind, FrameKind, Output, TtHeader, decode_slice, to_vec,
};
use breezeway_rpc::{
    AsyncThriftClient, CallOptions, Error, Method, ReplyMetadata, Server, StreamChannel,
    ThriftClient,
};
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use crate::processes::{Process, say};
use crate::room::{
    AsyncRoomClient, Hall, Heard, Morning, RoomClient, RoomListenArgs, RoomListenError,
    RoomSayArgs, RoomServer, RoomTalkError, RoomTellArgs, RoomTellError, line,
};
use crate::streams::{self, PATIENCE};

/// A server whose handlers block, which ends with this.
pub(crate) struct Running {
    pub(crate) address: Address,
    events: UnboundedReceiver<String>,
    morning: Arc<Morning>,
    stopper: Stopper,
    serving: Option<JoinHandle<()>>,
    folder: TempDir,
}

impl Running {
    pub(crate) fn new(carrier: &str) -> Self {
        Self::with(carrier, ServerOptions::new())
    }

    fn with(carrier: &str, options: ServerOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = match carrier {
            "tcp" => "tcp:127.0.0.1:0".to_owned(),
            file => format!("{file}:{}/room.sock", folder.path().display()),
        };
        let (events, told) = unbounded_channel();
        let server = Server::bind_with(&place, options).unwrap();
        let server = server.with_thrift_clients();
        let morning = Arc::<Morning>::default();
        let hall = Hall { events, morning: Arc::clone(&morning) };
        let server = server.add_service(RoomServer(hall)).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = Some(std::thread::spawn(move || server.serve().unwrap()));
        Self { address, events: told, morning, stopper, serving, folder }
    }

    fn native(&self) -> RoomClient<Session> {
        RoomClient::new(Session::connect(&self.address).unwrap())
    }

    fn thrift(&self) -> RoomClient<ThriftClient> {
        RoomClient::new(ThriftClient::new(self.address.clone()))
    }

    pub(crate) fn told_of(&mut self, event: &str) {
        while self.events.blocking_recv().unwrap() != event {}
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.morning.come();
        self.stopper.stop();
        self.serving.take().unwrap().join().unwrap();
    }
}

pub(crate) fn every_form<C: StreamChannel>(room: &RoomClient<C>) {
    let mut lines = room.listen(line("hall", 3)).unwrap();
    for number in 0..3 {
        assert_eq!(lines.receive().unwrap(), Some(line("hall", number)));
    }
    assert_eq!(lines.receive().unwrap(), None);
    assert_eq!(lines.receive().unwrap(), None, "it stays over");

    let mut telling = room.tell().unwrap();
    for text in ["a", "bc"] {
        telling.send(&line("Ada", text)).unwrap();
    }
    assert_eq!(telling.finish().unwrap(), Heard { lines: 2, bytes: 3 });

    let mut talk = room.talk().unwrap();
    for number in 0..3 {
        talk.send(&line("Ada", number)).unwrap();
        assert_eq!(talk.receive().unwrap(), Some(line("Ada", number)));
    }
    talk.finish().unwrap();
    assert_eq!(talk.receive().unwrap(), Some(line("room", "bye")));
    assert_eq!(talk.receive().unwrap(), None);
}

/// Returns the error of a stream of lines.
pub(crate) fn refused<C: StreamChannel>(room: &RoomClient<C>, text: &str) -> RoomListenError {
    let mut lines = room.listen(line("hall", text)).unwrap();
    let failed = lines.receive().unwrap_err();
    assert_eq!(lines.receive().unwrap(), None, "that was its last word");
    failed
}

fn what_goes_wrong<C: StreamChannel>(room: &RoomClient<C>) {
    let failed = refused(room, "forged");
    let RoomListenError::Rpc(Error::Application(error)) = failed else { panic!("{failed:?}") };
    assert_eq!((error.kind, &*error.message), (ExceptionKind(77), "no such coupon"));
    let failed = refused(room, "refused");
    let RoomListenError::Rpc(Error::Business(error)) = failed else { panic!("{failed:?}") };
    assert_eq!((error.status, &*error.extra["since"]), (410, "\"May\""));
    let failed = refused(room, "panic");
    let RoomListenError::Rpc(Error::Application(error)) = failed else { panic!("{failed:?}") };
    assert_eq!(error.kind, ExceptionKind::INTERNAL_ERROR);

    let mut telling = room.tell().unwrap();
    telling.send(&line("Ada", "enough")).unwrap();
    while telling.send(&line("Ada", "more")).is_ok() {}
    assert!(matches!(telling.send(&line("Ada", "more")), Err(Error::StreamEnded)));
    assert_eq!(telling.finish().unwrap().lines, 1);
}

fn metadata_and_deadline<C: StreamChannel>(room: &RoomClient<C>) {
    let reply = ReplyMetadata::new();
    let options = CallOptions::new().metadata("name", "Ada").receive_metadata(&reply);
    let mut lines = room.with(options).listen(line("hall", 1)).unwrap();
    while lines.receive().unwrap().is_some() {}
    assert_eq!(reply.get("greeting").unwrap(), b"hello Ada");
    assert_eq!(reply.get("said").unwrap(), b"all");
    // Opening it keeps to the deadline too.
    let options = CallOptions::new().timeout(Duration::from_millis(500));
    let failed = match room.with(options).talk() {
        Ok(mut talk) => talk.receive().unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert_eq!(failed, CallError::DeadlinePassed.to_string());
}

/// Runs concurrently, because some wait for a deadline.
fn on_every_carrier(test: impl Fn(&mut Running) + Sync) {
    std::thread::scope(|scope| {
        for carrier in ["shm", "unix", "tcp"] {
            let test = &test;
            scope.spawn(move || test(&mut Running::new(carrier)));
        }
    });
}

/// Each test, over sessions and in Kitex's framing, over every carrier.
macro_rules! both {
    ($($(#[$docs:meta])* fn $name:ident($running:ident, $room:ident) $body:block)*) => {$(
        mod $name {
            use super::*;

            $(#[$docs])*
            fn test<C: StreamChannel>($running: &mut Running, $room: &RoomClient<C>) $body

            #[test]
            fn natively() {
                on_every_carrier(|running| {
                    let room = running.native();
                    test(running, &room);
                });
            }

            #[test]
            fn in_ttheader() {
                on_every_carrier(|running| {
                    let room = running.thrift();
                    test(running, &room);
                });
            }
        }
    )*};
}

both! {
    fn callers_and_handlers_that_block_stream(_running, room) {
        every_form(room);
        what_goes_wrong(room);
        metadata_and_deadline(room);
        every_form(room);
    }

    fn a_handler_that_blocks_learns_that_its_client_is_gone(running, room) {
        let mut lines = room.listen(line("hall", "endless")).unwrap();
        lines.receive().unwrap().unwrap();
        drop(lines);
        running.told_of("cancelled");
        running.told_of("dropped");
        let mut talk = room.talk().unwrap();
        talk.send(&line("Ada", 1)).unwrap();
        talk.receive().unwrap().unwrap();
        drop(talk);
        running.told_of("cancelled");
    }

    fn blocking_handler_observes_deadline_while_receiving(running, room) {
        let options = CallOptions::new().timeout(Duration::from_secs(5));
        let mut talk = room.with(options).talk().unwrap();
        running.told_of("too late");
        let failed = talk.receive().unwrap_err().to_string();
        assert_eq!(failed, CallError::DeadlinePassed.to_string());
        every_form(room);
    }

    fn a_handler_that_sleeps_stops_its_client_and_no_other(running, room) {
        let options = CallOptions::new().timeout(Duration::from_secs(5));
        let mut telling = room.with(options).tell().unwrap();
        telling.send(&line("Ada", "sleep")).unwrap();
        running.told_of("asleep");
        let big = line("Ada", "x".repeat(1 << 20));
        let mut sent = 0;
        // Until the deadline.
        while telling.send(&big).is_ok() {
            sent += 1;
            assert!(sent < 200, "{sent} MiB are under way");
        }
        every_form(room);
    }

    fn a_server_that_ends_early_lets_the_client_know(_running, room) {
        let mut talk = room.talk().unwrap();
        for text in ["a", "nowhere"] {
            talk.send(&line("Ada", text)).unwrap();
        }
        assert_eq!(talk.receive().unwrap(), Some(line("Ada", "a")));
        let failed = talk.receive();
        assert!(failed.is_err(), "{failed:?}");
        assert!(matches!(talk.send(&line("Ada", "b")), Err(Error::StreamEnded)));
        assert_eq!(talk.receive().unwrap(), None);
    }

    fn many_streams_at_a_time_keep_to_themselves(_running, room) {
        let mut talks: Vec<_> = (0..20).map(|_| room.talk().unwrap()).collect();
        for round in 0..10 {
            for (number, talk) in talks.iter_mut().enumerate() {
                talk.send(&line(&number.to_string(), round)).unwrap();
            }
            for (number, talk) in talks.iter_mut().enumerate() {
                let said = talk.receive().unwrap();
                assert_eq!(said, Some(line(&number.to_string(), round)));
            }
        }
    }
}

#[test]
fn declared_exception_of_blocking_handler_arrives() {
    on_every_carrier(|running| {
        let room = running.native();
        let RoomListenError::Missing(missing) = refused(&room, "nowhere") else { panic!() };
        assert_eq!(missing.name, "nowhere");
        let mut telling = room.tell().unwrap();
        telling.send(&line("attic", "nowhere")).unwrap();
        let RoomTellError::Missing(missing) = telling.finish().unwrap_err() else { panic!() };
        assert_eq!(missing.name, "attic");
    });
}

#[test]
fn unread_client_stops_only_its_handler_until_deadline() {
    on_every_carrier(|running| {
        let channel = Session::connect(&running.address).unwrap();
        let listen = Method::of::<RoomListenArgs>("Room");
        // A client that does not keep to its own deadline.
        let mut lines = channel.request(listen.tag).timeout(Duration::from_secs(5)).open().unwrap();
        let endless = to_vec(&line(&"x".repeat(60_000), "endless")).unwrap();
        lines.sender().finish_with(Some(&endless), None).unwrap();
        running.told_of("begun");
        every_form(&RoomClient::new(&channel));
        let mut sent = 0;
        loop {
            match &*running.events.blocking_recv().unwrap() {
                "too late" => break,
                _ => sent += 1,
            }
        }
        running.told_of("dropped");
        assert!(sent < 1_000, "{sent} messages of 60,000 bytes are under way");
        every_form(&RoomClient::new(&channel));
    });
}

#[test]
fn invalid_open_or_message_fails_its_stream_only() {
    on_every_carrier(|running| {
        let channel = Session::connect(&running.address).unwrap();
        let tags = ["say", "tell"].map(|name| match name {
            "say" => Method::of::<RoomSayArgs>("Room").tag,
            _ => Method::of::<RoomTellArgs>("Room").tag,
        });
        let opened = [
            (tags[0], None, &b"\0"[..], ExceptionKind::INVALID_MESSAGE_TYPE),
            (tags[1], None, b"\x05", ExceptionKind::PROTOCOL_ERROR),
            (tags[1], None, b"", ExceptionKind::PROTOCOL_ERROR),
            (tags[1], Some(&b"\0"[..]), b"\0", ExceptionKind::PROTOCOL_ERROR),
        ];
        for (tag, metadata, message, kind) in opened {
            let mut stream =
                channel.request(tag).metadata(metadata.unwrap_or_default()).open().unwrap();
            stream.sender().finish_with(Some(message), None).unwrap();
            let last = stream.receive().unwrap().unwrap().to_vec();
            assert_eq!(last[..2], [0xff, 1], "{last:?}");
            let exception: ApplicationException = decode_slice(&last[2..]).unwrap();
            assert_eq!(exception.kind, kind, "{exception}");
        }
        let mut unknown = channel.open(12345).unwrap();
        let failed = unknown.receive().unwrap_err();
        assert!(matches!(failed, StreamError::Reset(ErrorCode::NoSuchMethod)), "{failed}");
        let Err(CallError::Failed { reason, .. }) = channel.call(tags[1], b"\0") else {
            panic!("a stream was called")
        };
        assert_eq!(reason, "Room.tell is a stream, and was called");
        every_form(&RoomClient::new(&channel));
    });
}

#[test]
fn stream_beyond_stream_threads_is_refused() {
    // A client alone may have half of them, rounded up, by however many sessions.
    let running = Running::with("shm", ServerOptions::new().stream_threads(3));
    let [room, other] = [running.native(), running.native()];
    let mut talk = room.talk().unwrap();
    talk.send(&line("Ada", 1)).unwrap();
    assert_eq!(talk.receive().unwrap(), Some(line("Ada", 1)));
    let mut second = other.talk().unwrap();
    second.send(&line("Bob", 1)).unwrap();
    assert_eq!(second.receive().unwrap(), Some(line("Bob", 1)));
    let mut third = running.native().talk().unwrap();
    let failed = third.receive().unwrap_err().to_string();
    let overloaded = StreamError::Reset(ErrorCode::Overloaded).to_string();
    assert_eq!(failed, overloaded);
    for talk in [&mut talk, &mut second] {
        talk.send(&line("Ada", 2)).unwrap();
        assert_eq!(talk.receive().unwrap(), Some(line("Ada", 2)));
    }
}

#[test]
fn unfinished_client_direction_frees_the_handlers_thread() {
    // Of these a client alone may have one.
    let running = Running::with("shm", ServerOptions::new().stream_threads(2));
    let [room, other] = [running.native(), running.native()];
    let mut held = room.talk().unwrap();
    held.send(&line("attic", 1)).unwrap();
    assert_eq!(held.receive().unwrap(), Some(line("attic", 1)));
    held.send(&line("attic", "nowhere")).unwrap();
    let start = Instant::now();
    loop {
        let mut talk = other.talk().unwrap();
        // It fails while the thread is taken.
        let _ = talk.send(&line("Ada", 1));
        if let Ok(said) = talk.receive() {
            assert_eq!(said, Some(line("Ada", 1)));
            break;
        }
        assert!(start.elapsed() < PATIENCE, "the thread stays with the stream that is over");
        std::thread::yield_now();
    }
    // The stream's outcome was not withdrawn.
    let RoomTalkError::Missing(missing) = held.receive().unwrap_err() else { panic!() };
    assert_eq!(missing.name, "attic");
}

#[test]
fn metadata_of_a_call_reaches_a_handler_that_blocks() {
    on_every_carrier(|running| {
        let options = CallOptions::new().metadata("name", "Ada");
        let said = running.native().with(options).say(line("asks", "who")).unwrap();
        assert_eq!(said.text, "Ada");
        let channel = Session::connect(&running.address).unwrap();
        let say = Method::of::<RoomSayArgs>("Room").tag;
        let failed = channel.request(say).metadata(b"\0").send(b"\0").unwrap_err();
        let Error::Application(failed) = Error::from(failed) else { panic!() };
        assert_eq!(failed.kind, ExceptionKind::PROTOCOL_ERROR);
    });
}

#[test]
fn stopping_server_serves_blocking_streams_to_their_end() {
    for carrier in ["shm", "unix", "tcp"] {
        let options = ServerOptions::new().drain_timeout(Duration::from_secs(60));
        let running = Running::with(carrier, options);
        let room = running.native();
        let mut talk = room.talk().unwrap();
        talk.send(&line("Ada", 1)).unwrap();
        assert_eq!(talk.receive().unwrap(), Some(line("Ada", 1)));
        running.stopper.stop();
        talk.send(&line("Ada", 2)).unwrap();
        talk.finish().unwrap();
        assert_eq!(talk.receive().unwrap(), Some(line("Ada", 2)));
        assert_eq!(talk.receive().unwrap(), Some(line("room", "bye")));
        assert_eq!(talk.receive().unwrap(), None);
    }
}

fn frame(stream: i32, kind: FrameKind, payload: &[u8]) -> Vec<u8> {
    let header = TtHeader::of_stream(stream, kind, "listen");
    let mut bytes = vec![0; header.size()];
    let mut output = Output::new(&mut bytes);
    header.encode(payload.len(), &mut output);
    output.finish().unwrap();
    [&bytes, payload].concat()
}

/// A client that watches until it is killed: natively or in TTHeader, as the server's carrier is.
pub(crate) fn watch(address: &Address) {
    fn watch_by<C: StreamChannel>(room: &RoomClient<C>) {
        let watching = ["watch", "look"].map(|how| room.listen(line("hall", how)).unwrap());
        say("watching");
        std::thread::park();
        drop(watching);
    }
    match address.to_string().starts_with("shm:") {
        true => watch_by(&RoomClient::new(Session::connect(address).unwrap())),
        false => watch_by(&RoomClient::new(ThriftClient::new(address.clone()))),
    }
}

#[test]
fn silent_handlers_of_killed_client_return() {
    for carrier in ["shm", "unix"] {
        let mut running = Running::new(carrier);
        let mut client = Process::start("watcher", &running.address);
        assert_eq!(client.hear(), "watching");
        running.told_of("begun");
        running.told_of("begun");
        client.kill();
        running.told_of("dropped");
        running.told_of("dropped");
    }
}

#[test]
fn cancelling_client_gets_no_extra_threads() {
    let mut running = Running::new("unix");
    let mut socket = UnixStream::connect(running.folder.path().join("room.sock")).unwrap();
    socket.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let opened = |stream, from: &str| {
        let asked = to_vec(&line(from, "endless")).unwrap();
        let [header, data, end] =
            [(FrameKind::Header, &[][..]), (FrameKind::Data, &asked), (FrameKind::Trailer, &[])]
                .map(|(kind, payload)| frame(stream, kind, payload));
        [header, data, end].concat()
    };
    // Its handler fills the socket; those behind it wait for their turn to send.
    socket.write_all(&opened(0, &"x".repeat(60_000))).unwrap();
    running.told_of("1");
    let (mut open, mut most) = (1, 1);
    let mut a_hundred = |first| {
        let streams = first..first + 100;
        let frames = streams.clone().flat_map(|stream| opened(stream, "hall"));
        socket.write_all(&frames.collect::<Vec<_>>())?;
        // Until their handlers run, or no more do; one does in any case.
        let mut begun = 0;
        let start = Instant::now();
        while begun < 100 && (most < 2 || start.elapsed() < Duration::from_millis(300)) {
            assert!(start.elapsed() < PATIENCE, "no handler begins beside the one that waits");
            match running.events.try_recv().as_deref() {
                Ok("begun") => (begun, open) = (begun + 1, open + 1),
                Ok("dropped") => open -= 1,
                Ok(_) => {}
                Err(_) => std::thread::yield_now(),
            }
            most = most.max(open);
        }
        let resets = streams.flat_map(|stream| frame(stream, FrameKind::Reset, &[]));
        socket.write_all(&resets.collect::<Vec<_>>())
    };
    // Until the server, which waits for it to read, reads no more.
    let _ = (1..1_000).step_by(100).try_for_each(&mut a_hundred);
    assert!((2..=128).contains(&most), "{most} streams at one time");
}

#[test]
fn a_connection_of_streams_whose_replies_cannot_be_written_ends() {
    let running = Running::new("unix");
    let mut socket = UnixStream::connect(running.folder.path().join("room.sock")).unwrap();
    // From here on the server's writes fail, and its reads do not.
    socket.shutdown(Shutdown::Read).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let mut streams = 0..;
    let mut open = || {
        let stream = streams.next().unwrap();
        socket.write_all(&frame(stream, FrameKind::Header, &[]))?;
        socket.write_all(&frame(stream, FrameKind::Data, &to_vec(&line("hall", "1")).unwrap()))?;
        socket.write_all(&frame(stream, FrameKind::Trailer, &[]))
    };
    while open().is_ok() {
        assert!(Instant::now() < deadline, "the server reads on");
        std::thread::yield_now();
    }
    every_form(&running.thrift());
}

#[tokio::test]
async fn callers_that_await_stream_natively_with_handlers_that_block() {
    for carrier in ["shm", "unix", "tcp"] {
        let running = tokio::task::spawn_blocking(|| Running::new(carrier)).await.unwrap();
        let channel = breezeway_tokio::Session::connect(&running.address).await.unwrap();
        let room = AsyncRoomClient::new(channel);
        timeout(Duration::from_secs(20), streams::every_form(&room)).await.unwrap();
        drop(room);
        tokio::task::spawn_blocking(|| drop(running)).await.unwrap();
    }
}

#[tokio::test]
async fn callers_that_await_stream_with_handlers_that_block() {
    let running = tokio::task::spawn_blocking(|| Running::new("unix")).await.unwrap();
    let room = AsyncRoomClient::new(AsyncThriftClient::new(running.address.clone()));
    timeout(Duration::from_secs(20), streams::every_form(&room)).await.unwrap();
    tokio::task::spawn_blocking(|| drop(running)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_block_stream_with_handlers_that_await() {
    for carrier in ["shm", "unix", "tcp"] {
        let running = streams::Running::new(carrier);
        let address = running.address.clone();
        let calling = tokio::task::spawn_blocking(move || {
            let native = RoomClient::new(Session::connect(&address).unwrap());
            let thrift = RoomClient::new(ThriftClient::new(address));
            every_form(&native);
            every_form(&thrift);
            what_goes_wrong(&native);
            what_goes_wrong(&thrift);
            metadata_and_deadline(&native);
            metadata_and_deadline(&thrift);
            let mut telling = native.tell().unwrap();
            telling.send(&line("Ada", "nowhere")).unwrap();
            let failed = telling.finish();
            assert!(matches!(failed, Err(RoomTellError::Missing(_))), "{failed:?}");
        });
        calling.await.unwrap();
        running.end().await;
    }
}
