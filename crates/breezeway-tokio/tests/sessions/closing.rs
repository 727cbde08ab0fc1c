//! Sessions that close while the other side has not taken all that was sent.

use breezeway_tokio::{Channel, Incoming, SessionOptions};

use crate::support::{on_both_runtimes, soon};

#[test]
fn closing_blocks_no_task_and_a_reply_that_waits_for_room_still_comes() {
    const LEN: usize = 64 << 10;
    on_both_runtimes(|| async {
        let options = SessionOptions::new().cap(2 * LEN as u64);
        let (channel, server) = Channel::pair(&options).await.unwrap();
        let ask = || {
            let channel = channel.clone();
            tokio::spawn(async move { channel.call(0, b"").await })
        };
        let first = ask();
        let Ok(Some(Incoming::Call(call))) = soon(server.accept()).await else { panic!("no call") };
        call.reply(&[1; LEN]);
        let kept = soon(first).await.unwrap().unwrap();
        let second = ask();
        let Ok(Some(Incoming::Call(call))) = soon(server.accept()).await else { panic!("no call") };
        call.reply(&[2; LEN]);
        // On one thread nobody could make room meanwhile.
        drop(server);
        drop(kept);
        assert_eq!(soon(second).await.unwrap().unwrap().to_vec(), [2; LEN]);
        assert!(soon(channel.call(0, b"")).await.is_err(), "it is closed");
    });
}
