//! Streams whose handlers or callers block.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::Duration;

use breezeway::{Address, CallError, Channel, Stopper, StreamError};
use breezeway_rpc::thrift::{ExceptionKind, FrameKind, Output, TtHeader, to_vec};
use breezeway_rpc::{
    AsyncThriftClient, CallOptions, Error, ReplyMetadata, Server, StreamChannel, ThriftClient,
};
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use crate::room::{
    AsyncRoomClient, Hall, Heard, RoomClient, RoomListenError, RoomServer, RoomTellError, line,
};
use crate::streams;

/// A server whose handlers block, which ends with this.
pub(crate) struct Running {
    pub(crate) address: Address,
    events: UnboundedReceiver<String>,
    stopper: Stopper,
    serving: Option<JoinHandle<()>>,
    folder: TempDir,
}

impl Running {
    pub(crate) fn new(carrier: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = match carrier {
            "tcp" => "tcp:127.0.0.1:0".to_owned(),
            file => format!("{file}:{}/room.sock", folder.path().display()),
        };
        let (events, told) = unbounded_channel();
        let server = Server::bind(&place.parse().unwrap()).unwrap().with_thrift_clients();
        let server = server.add_service(RoomServer(Hall { events })).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = Some(std::thread::spawn(move || server.serve().unwrap()));
        Self { address, events: told, stopper, serving, folder }
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

/// Why a stream of lines failed.
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

#[test]
fn callers_and_handlers_that_block_stream_in_kitexs_framing() {
    for carrier in ["unix", "tcp", "shm"] {
        let running = Running::new(carrier);
        let room = running.thrift();
        every_form(&room);
        what_goes_wrong(&room);
        metadata_and_deadline(&room);
        every_form(&room);
    }
}

#[test]
fn a_handler_that_blocks_learns_that_its_client_is_gone() {
    let mut running = Running::new("unix");
    let room = running.thrift();
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

fn frame(stream: i32, kind: FrameKind, payload: &[u8]) -> Vec<u8> {
    let header = TtHeader::of_stream(stream, kind, "listen");
    let mut bytes = vec![0; header.size()];
    let mut output = Output::new(&mut bytes);
    header.encode(payload.len(), &mut output);
    output.finish().unwrap();
    [&bytes, payload].concat()
}

#[test]
fn a_client_that_cancels_its_streams_and_never_reads_has_no_more_threads_than_others() {
    let mut running = Running::new("unix");
    let mut socket = UnixStream::connect(running.folder.path().join("room.sock")).unwrap();
    socket.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let asked = to_vec(&line("hall", "endless")).unwrap();
    let opened = |stream| {
        let [header, data, end] =
            [(FrameKind::Header, &[][..]), (FrameKind::Data, &asked), (FrameKind::Trailer, &[])]
                .map(|(kind, payload)| frame(stream, kind, payload));
        [header, data, end].concat()
    };
    // Its handler fills the socket; those behind it wait for their turn to send.
    socket.write_all(&opened(0)).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let mut a_hundred = |first| {
        let streams = first..first + 100;
        socket.write_all(&streams.clone().flat_map(opened).collect::<Vec<_>>())?;
        std::thread::sleep(Duration::from_millis(30));
        let resets = streams.flat_map(|stream| frame(stream, FrameKind::Reset, &[]));
        socket.write_all(&resets.collect::<Vec<_>>())
    };
    // Until the server, which waits for it to read, reads no more.
    let _ = (1..1_000).step_by(100).try_for_each(&mut a_hundred);
    let (mut open, mut most) = (0, 0);
    while let Ok(event) = running.events.try_recv() {
        match &*event {
            "begun" => open += 1,
            "dropped" => open -= 1,
            _ => {}
        }
        most = most.max(open);
    }
    assert!((2..=128).contains(&most), "{most} streams at one time");
}

#[test]
fn a_server_that_blocks_refuses_streams_of_sessions() {
    let running = Running::new("shm");
    let room = RoomClient::new(Channel::connect(&running.address).unwrap());
    let failed = room.talk().map(drop).unwrap_err();
    assert!(matches!(failed, Error::Stream(StreamError::TooMany(0))), "{failed}");
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
            let native = RoomClient::new(Channel::connect(&address).unwrap());
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
