//! Messages from space that tasks reserve and fill.

use std::time::{Duration, Instant};

use breezeway_tokio::{
    CallError, Incoming, Server, Session, SessionOptions, reserve, reserve_with_metadata,
};

use crate::support::{addresses, on_both_runtimes, poll_and_drop, soon};

const LEN: usize = 64 << 10;

#[test]
fn calls_replies_and_streams_send_filled_space() {
    on_both_runtimes(|| async {
        let (session, server) = Session::pair(&SessionOptions::new()).await.unwrap();
        let serving = tokio::spawn(async move {
            let mut posts = Vec::new();
            while let Some(incoming) = server.accept().await.unwrap() {
                match incoming {
                    Incoming::Call(call) if call.is_one_way() => {
                        posts.push(call.request().to_vec());
                    }
                    Incoming::Call(call) => {
                        let bytes = call.request().to_vec();
                        let mut space = reserve(&call, bytes.len()).await.unwrap();
                        space.write(0, &bytes);
                        let _ = call.reply_space(space);
                    }
                    Incoming::Stream(_, mut stream) => {
                        while let Some(message) = stream.receive().await.unwrap() {
                            let mut space = stream.reserve(message.len()).await.unwrap();
                            space.write(0, &message.to_vec());
                            stream.send_space(space).await.unwrap();
                        }
                        stream.finish().await.unwrap();
                    }
                }
            }
            posts
        });
        for len in [0, 1, 104, 105, LEN] {
            let bytes = vec![len as u8; len];
            let mut space = soon(session.reserve(len + 1)).await.unwrap();
            let filled = tokio::spawn({
                let bytes = bytes.clone();
                async move {
                    space.write(0, &bytes);
                    space.truncate(bytes.len());
                    space
                }
            });
            let call = session.request(0).send_space(filled.await.unwrap());
            assert_eq!(soon(call).await.unwrap().to_vec(), bytes);
        }
        let mut post = session.try_reserve(2).unwrap();
        post.bytes_mut().copy_from_slice(b"hi");
        soon(session.request(0).post_space(post)).await.unwrap();
        let mut stream = soon(session.open(0)).await.unwrap();
        for last in [false, true] {
            let mut space = soon(stream.sender().reserve(LEN)).await.unwrap();
            space.bytes_mut().fill(u8::from(last));
            if last {
                soon(stream.sender().finish_with_space(space)).await.unwrap();
            } else {
                soon(stream.send_space(space)).await.unwrap();
            }
            let back = soon(stream.receive()).await.unwrap().unwrap();
            assert_eq!(back.to_vec(), vec![u8::from(last); LEN]);
        }
        assert!(soon(stream.receive()).await.unwrap().is_none());
        drop((stream, session));
        assert_eq!(soon(serving).await.unwrap(), [b"hi"]);
    });
}

#[test]
fn reserve_waits_for_memory_until_call_timeout() {
    on_both_runtimes(|| async {
        let options =
            SessionOptions::new().cap(2 * LEN as u64).call_timeout(Some(Duration::from_millis(50)));
        let (session, _server) = Session::pair(&options).await.unwrap();
        let mut kept = Vec::new();
        while let Ok(space) = session.try_reserve(LEN) {
            kept.push(space);
        }
        let outcome = soon(session.reserve(LEN)).await;
        assert!(matches!(outcome, Err(CallError::DeadlinePassed)), "{outcome:?}");
        assert!(poll_and_drop(session.reserve(LEN), 3).await.is_none());
        let mut stream = soon(session.open(0)).await.unwrap();
        let mut part = Vec::new();
        while let Ok(space) = stream.sender().try_reserve(LEN) {
            part.push(space);
        }
        // A stream's own has no time, and gets what is dropped.
        let reserving = tokio::spawn(async move { stream.reserve(LEN).await.map(|_| ()) });
        tokio::task::yield_now().await;
        drop((kept, part));
        soon(reserving).await.unwrap().unwrap();
    });
}

#[test]
fn space_goes_out_by_its_own_session_and_in_its_time() {
    on_both_runtimes(|| async {
        let (session, _server) = Session::pair(&SessionOptions::new()).await.unwrap();
        let (other, _other_server) = Session::pair(&SessionOptions::new()).await.unwrap();
        let space = soon(other.reserve(LEN)).await.unwrap();
        let outcome = soon(session.request(0).send_space(space)).await;
        assert!(matches!(outcome, Err(CallError::SpaceOfAnotherSession)), "{outcome:?}");
        let space = soon(session.reserve(LEN)).await.unwrap();
        let deadline = Instant::now() + Duration::from_millis(20);
        let outcome = soon(session.request(0).deadline(deadline).send_space(space)).await;
        assert!(matches!(outcome, Err(CallError::DeadlinePassed)), "{outcome:?}");
    });
}

#[test]
fn metadata_goes_with_space_in_calls_and_replies() {
    on_both_runtimes(|| async {
        for carrier in 0..3 {
            let folder = tempfile::tempdir().unwrap();
            let server = Server::bind(&addresses(folder.path())[carrier]).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let serving = tokio::spawn(server.serve(|call| async move {
                let metadata = call.message().metadata().unwrap_or_default().to_vec();
                let len = call.request().len();
                let mut space = reserve_with_metadata(&call, &metadata, len).await.unwrap();
                call.request().copy_to(space.bytes_mut());
                let _ = call.reply_space(space);
            }));
            let session = Session::connect(&address).await.unwrap();
            for len in [0, 40, 105, 100_000] {
                let reserved = session.request(0).metadata(b"about it").reserve(len);
                let mut space = soon(reserved).await.unwrap();
                space.bytes_mut().fill(9);
                let reply = soon(session.request(0).send_space(space)).await.unwrap();
                assert!(reply.to_vec() == vec![9; len]);
                assert_eq!(reply.metadata(), Some(&b"about it"[..]));
            }
            drop(session);
            stopper.stop();
            soon(serving).await.unwrap().unwrap();
        }
    });
}

#[test]
fn post_space_without_room_ends_at_the_call_timeout() {
    on_both_runtimes(|| async {
        let options = SessionOptions::new().call_timeout(Some(Duration::from_millis(20)));
        let (session, _server) = Session::pair(&options).await.unwrap();
        let failing = async {
            loop {
                let space = session.reserve(1).await?;
                session.request(0).post_space(space).await?;
            }
        };
        let failed: Result<(), CallError> = soon(failing).await;
        assert!(matches!(failed, Err(CallError::DeadlinePassed)), "{failed:?}");
    });
}
