//! Echoes so large that the server copies them in pieces.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use breezeway_tokio::{Incoming, Session, SessionOptions};

use crate::support::{echo_pair, on_both_runtimes, one_thread, soon};

const MEBIBYTE: usize = 1 << 20;

/// Bytes that differ from place to place.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect()
}

#[test]
fn calls_of_others_are_served_while_an_echo_is_copied() {
    const LEN: usize = 40 * MEBIBYTE;
    /// Minimum of calls during some 40 turns; a call takes a few.
    const LEAST: u64 = 5;
    one_thread().block_on(async {
        let options = SessionOptions::new().cap(64 << 20);
        let (large, large_server) = Session::pair(&options).await.unwrap();
        let (small, small_server) = Session::pair(&options).await.unwrap();
        tokio::spawn(async move {
            while let Ok(Some(Incoming::Call(call))) = small_server.accept().await {
                let _ = call.echo();
            }
        });
        let (calls, at_echo) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (counted, noted) = (Arc::clone(&calls), Arc::clone(&at_echo));
        tokio::spawn(async move {
            while let Ok(Some(Incoming::Call(call))) = large_server.accept().await {
                noted.store(counted.load(Ordering::Relaxed), Ordering::Relaxed);
                let _ = call.echo();
            }
        });
        let is_over = Arc::new(AtomicBool::new(false));
        let (counted, ended) = (Arc::clone(&calls), Arc::clone(&is_over));
        let calling = tokio::spawn(async move {
            while !ended.load(Ordering::Relaxed) {
                small.call(0, b"x").await.unwrap();
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        let request = vec![7; LEN];
        let mut meanwhile = 0;
        // From the second one on, both sides have mapped their segments.
        for _ in 0..3 {
            let reply = soon(large.call(0, &request)).await.unwrap();
            meanwhile = calls.load(Ordering::Relaxed) - at_echo.load(Ordering::Relaxed);
            assert_eq!(reply.len(), LEN);
        }
        is_over.store(true, Ordering::Relaxed);
        soon(calling).await.unwrap();
        assert!(meanwhile >= LEAST, "{meanwhile} calls while {LEN} bytes were copied");
    });
}

#[test]
fn echoes_that_are_copied_in_pieces_come_back_as_they_were() {
    on_both_runtimes(|| async {
        let options = SessionOptions::new().cap(64 << 20);
        let (session, echo, _folder) = echo_pair(&options).await;
        let most = 4 * MEBIBYTE;
        let all = pattern(3 * most);
        for len in [most - 1, most, most + 1, 5 * MEBIBYTE, 5 * MEBIBYTE + 1, 3 * most] {
            let reply = soon(session.call(0, &all[..len])).await.unwrap();
            assert!(reply.to_vec() == all[..len], "{len} bytes came back changed");
        }
        // Several at once, which share the turns of their session.
        let both = async { tokio::join!(session.call(0, &all), session.call(0, &all[1..])) };
        let (one, other) = soon(both).await;
        assert!(one.unwrap().to_vec() == all && other.unwrap().to_vec() == all[1..]);
        drop(session);
        echo.stop().await;
    });
}

#[test]
fn server_that_stops_within_a_large_copy_sends_the_reply() {
    on_both_runtimes(|| async {
        let options = SessionOptions::new().cap(64 << 20);
        let (session, server) = Session::pair(&options).await.unwrap();
        let serving = tokio::spawn(async move {
            let Ok(Some(Incoming::Call(call))) = server.accept().await else { panic!("no call") };
            let _ = call.echo();
            // The session closes, and sends first what it owes.
            drop(server);
        });
        let request = pattern(20 * MEBIBYTE);
        let reply = soon(session.call(0, &request)).await.unwrap();
        assert!(reply.to_vec() == request);
        soon(serving).await.unwrap();
    });
}
