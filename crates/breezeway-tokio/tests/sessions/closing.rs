//! Sessions that close while the peer has not taken all that was sent.

use breezeway::describe;
use breezeway_tokio::{CallError, Incoming, Session, SessionOptions};

use crate::support::{on_both_runtimes, soon};

#[test]
fn closing_blocks_no_task_and_pending_reply_arrives() {
    const LEN: usize = 64 << 10;
    on_both_runtimes(|| async {
        let options = SessionOptions::new().cap(2 * LEN as u64);
        let (shared, server) = Session::pair(&options).await.unwrap();
        let ask = || {
            let shared = shared.clone();
            tokio::spawn(async move { shared.call(0, b"").await })
        };
        let first = ask();
        let Ok(Some(Incoming::Call(call))) = soon(server.accept()).await else { panic!("no call") };
        let _ = call.reply(vec![1; LEN]);
        let kept = soon(first).await.unwrap().unwrap();
        let second = ask();
        let Ok(Some(Incoming::Call(call))) = soon(server.accept()).await else { panic!("no call") };
        let _ = call.reply(vec![2; LEN]);
        // On one thread no other task could make room during a blocking wait.
        drop(server);
        drop(kept);
        assert_eq!(soon(second).await.unwrap().unwrap().to_vec(), [2; LEN]);
        assert!(soon(shared.call(0, b"")).await.is_err(), "it is closed");
    });
}

#[test]
fn closing_a_channel_ends_waits_of_other_tasks() {
    on_both_runtimes(|| async {
        let (shared, server) = Session::pair(&SessionOptions::new()).await.unwrap();
        let mut stream = shared.open(0).await.unwrap();
        let [calling, accepting] = [0, 1].map(|_| shared.clone());
        let call = tokio::spawn(async move { calling.call(0, b"never served").await.map(drop) });
        let accept = tokio::spawn(async move { accepting.accept().await.map(drop) });
        let receive = tokio::spawn(async move { stream.receive().await.map(drop) });
        let mut taken = Vec::new();
        for _ in 0..2 {
            taken.push(soon(server.accept()).await.unwrap().expect("the stream and the call"));
        }
        shared.close();
        shared.close();
        for ended in [call, accept] {
            let error = soon(ended).await.unwrap().unwrap_err();
            assert!(
                matches!(&error, CallError::EndedBy(end) if matches!(**end, CallError::ClosedHere))
            );
        }
        let error = describe(&soon(receive).await.unwrap().unwrap_err());
        assert!(error.contains("this side has closed the session"), "{error}");
        assert!(soon(server.accept()).await.unwrap().is_none(), "in order");
        let (_channel, server) = Session::pair(&SessionOptions::new()).await.unwrap();
        let accepting = server.clone();
        let accept = tokio::spawn(async move { accepting.accept().await.map(|it| it.is_none()) });
        server.close();
        assert!(soon(accept).await.unwrap().unwrap());
    });
}
