//! Streams with Kitex, both ways, as real processes (`testing/peers/kitex-peers`).

use std::time::Duration;

use breezeway::CallError;
use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{AsyncThriftClient, CallOptions, Error, ReplyMetadata, ThriftClient};
use tokio::time::timeout;

use super::{Peer, kitex_tries};
use crate::room::{AsyncRoomClient, RoomClient, RoomListenError, line};
use crate::{streams, streams_blocking};

#[test]
#[ignore = "needs Go"]
fn kitex_client_streams_with_blocking_handlers() {
    for carrier in ["unix", "tcp", "shm"] {
        let mut running = streams_blocking::Running::new(carrier);
        kitex_tries("call-room", &running.address, &[]);
        running.told_of("cancelled");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Go"]
async fn kitex_client_streams_with_awaiting_handlers() {
    for carrier in ["unix", "tcp", "shm"] {
        let mut running = streams::Running::new(carrier);
        let address = running.address.clone();
        let called = tokio::task::spawn_blocking(move || kitex_tries("call-room", &address, &[]));
        called.await.unwrap();
        running.told_of("cancelled").await;
        running.end().await;
    }
}

#[test]
#[ignore = "needs Go"]
fn callers_that_block_stream_with_kitexs_server() {
    for carrier in ["unix", "tcp"] {
        let mut kitex = Peer::serve_what("serve-room", carrier);
        let room = RoomClient::new(ThriftClient::new(kitex.address.clone()));
        streams_blocking::every_form(&room);
        assert_eq!(room.say(line("Ada", "hi")).unwrap(), line("Ada", "hi"));
        what_goes_wrong(&room);

        let reply = ReplyMetadata::new();
        let options = CallOptions::new().metadata("name", "Ada").receive_metadata(&reply);
        let mut lines = room.with(options).listen(line("hall", 1)).unwrap();
        while lines.receive().unwrap().is_some() {}
        assert_eq!(reply.get("greeting").unwrap(), b"hello Ada");
        assert_eq!(reply.get("said").unwrap(), b"all");

        let mut lines = room.listen(line("hall", "endless")).unwrap();
        lines.receive().unwrap().unwrap();
        drop(lines);
        assert_eq!(kitex.told(), "cancelled");
        let options = CallOptions::new().timeout(Duration::from_millis(500));
        let mut talk = room.with(options).talk().unwrap();
        let failed = talk.receive().unwrap_err();
        assert_eq!(failed.to_string(), CallError::DeadlinePassed.to_string());
        drop(talk);
        assert_eq!(kitex.told(), "cancelled");
    }
}

fn what_goes_wrong(room: &RoomClient<ThriftClient>) {
    let failed = streams_blocking::refused(room, "forged");
    let RoomListenError::Rpc(Error::Application(error)) = failed else { panic!("{failed:?}") };
    // Kitex wraps what its handlers fail with.
    assert_eq!(error.kind, ExceptionKind::INTERNAL_ERROR);
    assert!(error.message.contains("no such coupon"), "{error}");
    let failed = streams_blocking::refused(room, "refused");
    let RoomListenError::Rpc(Error::Business(error)) = failed else { panic!("{failed:?}") };
    assert_eq!((error.status, &*error.extra["since"]), (410, "\"May\""));
    // An exception that the IDL declares is words to Kitex.
    let failed = streams_blocking::refused(room, "nowhere");
    let RoomListenError::Rpc(Error::Application(error)) = failed else { panic!("{failed:?}") };
    assert_eq!(error.kind, ExceptionKind::INTERNAL_ERROR);

    let mut telling = room.tell().unwrap();
    telling.send(&line("Ada", "enough")).unwrap();
    while telling.send(&line("Ada", "more")).is_ok() {}
    assert!(matches!(telling.send(&line("Ada", "more")), Err(Error::StreamEnded)));
    assert_eq!(telling.finish().unwrap().lines, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Go"]
async fn callers_that_await_stream_with_kitexs_server() {
    for carrier in ["unix", "tcp"] {
        let mut kitex = Peer::serve_what("serve-room", carrier);
        let room = AsyncRoomClient::new(AsyncThriftClient::new(kitex.address.clone()));
        timeout(Duration::from_secs(20), streams::every_form(&room)).await.unwrap();
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
        sending.await.unwrap();
        let mut talk = room.talk().await.unwrap();
        talk.send(&line("Ada", 1)).await.unwrap();
        talk.receive().await.unwrap().unwrap();
        drop(talk);
        let told = tokio::task::spawn_blocking(move || kitex.told());
        assert_eq!(told.await.unwrap(), "cancelled");
    }
}
