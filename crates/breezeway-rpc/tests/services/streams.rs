//! Streams whose handlers and callers await, over sessions and in Kitex's framing.

use std::sync::Arc;
use std::time::Duration;

use breezeway::{Address, CallError};
use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{
    AsyncServer, AsyncStreamChannel, AsyncThriftClient, CallOptions, Error, ReplyMetadata,
};
use breezeway_tokio::{ErrorCode, Session, Stopper};
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::room::{
    AsyncRoomClient, AsyncRoomServer, Hall, Heard, RoomListenError, RoomTalkError, RoomTellError,
    line,
};

/// A server in this process, which ends with it.
pub(crate) struct Running {
    pub(crate) address: Address,
    events: UnboundedReceiver<String>,
    stopper: Stopper,
    serving: JoinHandle<()>,
    _folder: TempDir,
}

impl Running {
    pub(crate) fn new(carrier: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = match carrier {
            "tcp" => "tcp:127.0.0.1:0".to_owned(),
            file => format!("{file}:{}/room.sock", folder.path().display()),
        };
        let (events, told) = unbounded_channel();
        let server = AsyncServer::bind(&place).unwrap().with_thrift_clients();
        let server =
            server.add_service(AsyncRoomServer(Hall { events, morning: Arc::default() })).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = tokio::spawn(async move { server.serve().await.unwrap() });
        Self { address, events: told, stopper, serving, _folder: folder }
    }

    pub(crate) async fn end(self) {
        self.stopper.stop();
        timeout(PATIENCE, self.serving).await.unwrap().unwrap();
    }

    async fn native(&self) -> AsyncRoomClient<Session> {
        AsyncRoomClient::new(Session::connect(&self.address).await.unwrap())
    }

    fn thrift(&self) -> AsyncRoomClient<AsyncThriftClient> {
        AsyncRoomClient::new(AsyncThriftClient::new(self.address.clone()))
    }

    /// Returns the next report of the handlers.
    async fn told(&mut self) -> String {
        timeout(PATIENCE, self.events.recv()).await.unwrap().unwrap()
    }

    pub(crate) async fn told_of(&mut self, event: &str) {
        while self.told().await != event {}
    }
}

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Each test, over sessions and in Kitex's framing.
macro_rules! both {
    ($($(#[$docs:meta])* async fn $name:ident($running:ident, $room:ident) $body:block)*) => {$(
        mod $name {
            use super::*;

            $(#[$docs])*
            async fn test<C: AsyncStreamChannel>(
                $running: &mut Running,
                $room: &AsyncRoomClient<C>,
            ) $body

            #[tokio::test]
            async fn natively() {
                let mut running = Running::new("shm");
                let room = running.native().await;
                timeout(PATIENCE, test(&mut running, &room)).await.unwrap();
                drop(room);
                running.end().await;
            }

            #[tokio::test]
            async fn in_ttheader() {
                let mut running = Running::new("unix");
                let room = running.thrift();
                timeout(PATIENCE, test(&mut running, &room)).await.unwrap();
                drop(room);
                running.end().await;
            }
        }
    )*};
}

pub(crate) async fn every_form<C: AsyncStreamChannel>(room: &AsyncRoomClient<C>) {
    let mut lines = room.listen(line("hall", 3)).await.unwrap();
    for number in 0..3 {
        assert_eq!(lines.receive().await.unwrap(), Some(line("hall", number)));
    }
    assert_eq!(lines.receive().await.unwrap(), None);
    assert_eq!(lines.receive().await.unwrap(), None, "it stays over");

    let mut telling = room.tell().await.unwrap();
    for text in ["a", "bc"] {
        telling.send(&line("Ada", text)).await.unwrap();
    }
    assert_eq!(telling.finish().await.unwrap(), Heard { lines: 2, bytes: 3 });

    let mut talk = room.talk().await.unwrap();
    for number in 0..3 {
        talk.send(&line("Ada", number)).await.unwrap();
        assert_eq!(talk.receive().await.unwrap(), Some(line("Ada", number)));
    }
    talk.finish().await.unwrap();
    assert_eq!(talk.receive().await.unwrap(), Some(line("room", "bye")));
    assert_eq!(talk.receive().await.unwrap(), None);

    assert_eq!(room.say(line("Ada", "hi")).await.unwrap(), line("Ada", "hi"));
}

#[tokio::test]
async fn every_form_travels_over_every_carrier_and_in_kitexs_framing() {
    for carrier in ["shm", "unix", "tcp"] {
        let running = Running::new(carrier);
        let native = running.native().await;
        timeout(PATIENCE, every_form(&native)).await.unwrap();
        timeout(PATIENCE, every_form(&running.thrift())).await.unwrap();
        drop(native);
        running.end().await;
    }
}

/// Returns the error of a stream of lines.
async fn refused<C: AsyncStreamChannel>(room: &AsyncRoomClient<C>, text: &str) -> RoomListenError {
    let mut lines = room.listen(line("hall", text)).await.unwrap();
    let failed = lines.receive().await.unwrap_err();
    assert_eq!(lines.receive().await.unwrap(), None, "that was its last word");
    failed
}

both! {
    async fn undeclared_error_arrives_with_kind_and_message(running, room) {
        let failed = refused(room, "forged").await;
        let RoomListenError::Rpc(Error::Application(error)) = failed else { panic!("{failed:?}") };
        assert_eq!((error.kind, &*error.message), (ExceptionKind(77), "no such coupon"));
        assert_eq!(running.told().await, "dropped");
    }

    async fn a_business_error_has_all_that_it_says(_running, room) {
        let failed = refused(room, "refused").await;
        let RoomListenError::Rpc(Error::Business(error)) = failed else { panic!("{failed:?}") };
        let since = error.extra["since"].as_str();
        assert_eq!((error.status, &*error.message, since), (410, "too late", "\"May\""));
    }

    async fn a_handler_that_panics_fails_its_stream_and_no_other(_running, room) {
        let failed = refused(room, "panic").await;
        let RoomListenError::Rpc(Error::Application(error)) = failed else { panic!("{failed:?}") };
        assert_eq!(error.kind, ExceptionKind::INTERNAL_ERROR);
        every_form(room).await;
    }

    async fn what_was_sent_before_a_failure_arrives(_running, room) {
        let mut talk = room.talk().await.unwrap();
        for text in ["a", "b", "nowhere"] {
            talk.send(&line("Ada", text)).await.unwrap();
        }
        assert_eq!(talk.receive().await.unwrap(), Some(line("Ada", "a")));
        assert_eq!(talk.receive().await.unwrap(), Some(line("Ada", "b")));
        talk.receive().await.unwrap_err();
        assert!(matches!(talk.send(&line("Ada", "c")).await, Err(Error::StreamEnded)));
    }

    async fn metadata_travels_both_ways_with_first_and_last(_running, room) {
        let reply = ReplyMetadata::new();
        let options = CallOptions::new().metadata("name", "Ada").receive_metadata(&reply);
        let mut lines = room.with(options).listen(line("hall", 1)).await.unwrap();
        lines.receive().await.unwrap().unwrap();
        assert_eq!(reply.get("greeting").unwrap(), b"hello Ada");
        assert_eq!(lines.receive().await.unwrap(), None);
        assert_eq!(reply.get("said").unwrap(), b"all");

        let options = CallOptions::new().metadata("name", "Bob").receive_metadata(&reply);
        room.with(options).tell().await.unwrap().finish().await.unwrap();
        assert_eq!(reply.get("greeting").unwrap(), b"hello Bob");
        assert_eq!(reply.get("said"), None, "of the stream before");
    }

    async fn the_deadline_reaches_the_handler(_running, room) {
        let options = CallOptions::new().timeout(Duration::from_secs(60));
        let mut lines = room.with(options).listen(line("hall", "deadline")).await.unwrap();
        let mut count = 0;
        while lines.receive().await.unwrap().is_some() {
            count += 1;
        }
        assert!((50..=60).contains(&count), "{count}");
        let mut lines = room.listen(line("hall", "deadline")).await.unwrap();
        assert_eq!(lines.receive().await.unwrap(), None, "there is none");
    }

    async fn a_stream_ends_at_its_deadline_on_both_sides(running, room) {
        // Long enough for a handler to begin.
        let options = CallOptions::new().timeout(Duration::from_secs(1));
        let mut lines = room.with(options).listen(line("hall", "silent")).await.unwrap();
        let failed = lines.receive().await.unwrap_err();
        let passed = RoomListenError::Rpc(Error::Call(CallError::DeadlinePassed));
        assert_eq!(failed.to_string(), passed.to_string());
        running.told_of("dropped").await;
    }

    async fn dropped_client_stream_cancels_waiting_handler(running, room) {
        let lines = room.listen(line("hall", "silent")).await.unwrap();
        running.told_of("begun").await;
        drop(lines);
        running.told_of("dropped").await;

        let mut telling = room.tell().await.unwrap();
        telling.send(&line("Ada", "sleep")).await.unwrap();
        running.told_of("asleep").await;
        drop(telling);

        let mut talk = room.talk().await.unwrap();
        talk.send(&line("Ada", 1)).await.unwrap();
        talk.receive().await.unwrap().unwrap();
        drop(talk);
        running.told_of("cancelled").await;
    }

    async fn a_client_that_does_not_read_stops_the_handler_and_no_other(running, room) {
        let mut lines = room.listen(line(&"x".repeat(60_000), "endless")).await.unwrap();
        lines.receive().await.unwrap().unwrap();
        // Until it no longer gets on.
        let mut last = running.told().await;
        while let Ok(event) = timeout(Duration::from_millis(300), running.told()).await {
            last = event;
        }
        let sent: usize = last.parse().unwrap();
        assert!(sent < 1_000, "{sent} messages of 60,000 bytes are under way");
        let mut other = room.tell().await.unwrap();
        other.send(&line("Ada", "a")).await.unwrap();
        assert_eq!(other.finish().await.unwrap().lines, 1);
        for _ in 0..=sent {
            lines.receive().await.unwrap().unwrap();
        }
        drop(lines);
        running.told_of("dropped").await;
    }

    async fn a_handler_that_does_not_read_stops_the_client_and_no_other(running, room) {
        let mut telling = room.tell().await.unwrap();
        telling.send(&line("Ada", "sleep")).await.unwrap();
        running.told_of("asleep").await;
        let big = line("Ada", "x".repeat(1 << 20));
        let mut sent = 0;
        while let Ok(outcome) = timeout(Duration::from_millis(300), telling.send(&big)).await {
            outcome.unwrap();
            sent += 1;
            assert!(sent < 200, "{sent} MiB are under way");
        }
        every_form(room).await;
    }

    async fn a_server_that_ends_early_lets_the_client_know(_running, room) {
        let mut telling = room.tell().await.unwrap();
        telling.send(&line("Ada", "enough")).await.unwrap();
        let until_it_knows = async {
            while telling.send(&line("Ada", "more")).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, until_it_knows).await.unwrap();
        assert!(matches!(telling.send(&line("Ada", "more")).await, Err(Error::StreamEnded)));
        assert_eq!(telling.finish().await.unwrap().lines, 1);
    }

    async fn many_streams_at_a_time_keep_to_themselves(_running, room) {
        let talks = (0..50).map(|number| async move {
            let mut talk = room.talk().await.unwrap();
            for round in 0..20 {
                let said = line(&number.to_string(), round);
                talk.send(&said).await.unwrap();
                assert_eq!(talk.receive().await.unwrap(), Some(said));
            }
            talk.finish().await.unwrap();
            while talk.receive().await.unwrap().is_some() {}
        });
        let mut talks: Vec<_> = talks.map(Box::pin).collect();
        std::future::poll_fn(|cx| {
            talks.retain_mut(|talk| talk.as_mut().poll(cx).is_pending());
            if talks.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }

    async fn halves_are_for_two_tasks(_running, room) {
        let (mut sender, mut replies) = room.talk().await.unwrap().split();
        let sending = tokio::spawn(async move {
            for number in 0..1_000 {
                sender.send(&line("Ada", number)).await.unwrap();
            }
            sender.finish().await.unwrap();
        });
        for number in 0..1_000 {
            assert_eq!(replies.receive().await.unwrap(), Some(line("Ada", number)));
        }
        assert_eq!(replies.receive().await.unwrap(), Some(line("room", "bye")));
        assert_eq!(replies.receive().await.unwrap(), None);
        sending.await.unwrap();
    }

    async fn large_messages_arrive_as_they_were(_running, room) {
        let mut talk = room.talk().await.unwrap();
        for size in [0, 1, 103, 4096, 65_537, 3 << 20] {
            let said = line("Ada", "x".repeat(size));
            talk.send(&said).await.unwrap();
            assert!(talk.receive().await.unwrap() == Some(said), "{size}");
        }
    }
}

fn thrown<T>(outcome: Result<T, RoomTellError>) -> String {
    match outcome.map(|_| ()) {
        Err(RoomTellError::Missing(missing)) => missing.name,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn declared_exceptions_arrive_natively() {
    let running = Running::new("shm");
    let room = running.native().await;
    match refused(&room, "nowhere").await {
        RoomListenError::Missing(missing) => assert_eq!(missing.name, "nowhere"),
        other => panic!("{other:?}"),
    }
    let mut telling = room.tell().await.unwrap();
    telling.send(&line("Ada", "nowhere")).await.unwrap();
    assert_eq!(thrown(telling.finish().await), "Ada");
    let mut talk = room.talk().await.unwrap();
    talk.send(&line("Ada", "nowhere")).await.unwrap();
    let failed = talk.receive().await;
    assert!(matches!(failed, Err(RoomTalkError::Missing(_))), "{failed:?}");
    drop((talk, room));
    running.end().await;
}

#[tokio::test]
async fn declared_exceptions_are_words_in_kitexs_framing() {
    let running = Running::new("unix");
    let failed = refused(&running.thrift(), "nowhere").await;
    let RoomListenError::Rpc(Error::Application(error)) = failed else { panic!("{failed:?}") };
    assert_eq!(error.kind, ExceptionKind::INTERNAL_ERROR);
    assert!(error.message.contains("nowhere"), "{error}");
    running.end().await;
}

#[tokio::test]
async fn call_of_stream_and_stream_of_call_are_refused() {
    let running = Running::new("shm");
    let channel = Session::connect(&running.address).await.unwrap();
    let say = breezeway_rpc::Method::of::<crate::room::RoomSayArgs>("Room");
    let mut stream = channel.open(say.tag).await.unwrap();
    let last = stream.receive().await.unwrap().unwrap().to_vec();
    let words = String::from_utf8_lossy(&last).into_owned();
    assert!(words.contains("Room.say is called, and was opened as a stream"), "{words}");

    let talk = breezeway_rpc::Method::of::<crate::room::RoomTalkArgs>("Room");
    let Err(CallError::Failed { reason, .. }) = channel.call(talk.tag, b"\0").await else {
        panic!("a stream was called")
    };
    assert_eq!(reason, "Room.talk is a stream, and was called");

    let mut unknown = channel.open(12345).await.unwrap();
    let failed = unknown.receive().await.unwrap_err();
    let reset = breezeway::StreamError::Reset(ErrorCode::NoSuchMethod);
    assert_eq!(failed.to_string(), reset.to_string());
    drop((stream, unknown, channel));
    running.end().await;
}

#[tokio::test]
async fn undecodable_messages_and_metadata_fail_their_stream() {
    let running = Running::new("shm");
    let channel = Session::connect(&running.address).await.unwrap();
    let tell = breezeway_rpc::Method::of::<crate::room::RoomTellArgs>("Room");
    for (metadata, message) in [(None, &b"\x05"[..]), (None, b""), (Some(&b"\0"[..]), b"\0")] {
        let mut stream =
            channel.request(tell.tag).metadata(metadata.unwrap_or_default()).open().await.unwrap();
        stream.sender().finish_with(Some(message), None).await.unwrap();
        let last = stream.receive().await.unwrap().unwrap().to_vec();
        assert_eq!(last[..2], [0xff, 1], "{last:?}");
        let exception: breezeway_rpc::thrift::ApplicationException =
            breezeway_rpc::thrift::decode_slice(&last[2..]).unwrap();
        assert_eq!(exception.kind, ExceptionKind::PROTOCOL_ERROR, "{exception}");
    }
    let room = AsyncRoomClient::new(channel);
    every_form(&room).await;
    drop(room);
    running.end().await;
}

#[tokio::test]
async fn a_server_that_stops_serves_its_streams_to_their_end() {
    let running = Running::new("shm");
    let room = running.native().await;
    let mut talk = room.talk().await.unwrap();
    talk.send(&line("Ada", 1)).await.unwrap();
    assert_eq!(talk.receive().await.unwrap(), Some(line("Ada", 1)));
    running.stopper.stop();
    talk.send(&line("Ada", 2)).await.unwrap();
    talk.finish().await.unwrap();
    assert_eq!(talk.receive().await.unwrap(), Some(line("Ada", 2)));
    while talk.receive().await.unwrap().is_some() {}
    drop((talk, room));
    running.end().await;
}
