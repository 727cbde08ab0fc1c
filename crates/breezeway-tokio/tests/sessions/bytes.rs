//! Streams of bytes.

use std::future::{Future, poll_fn};
use std::io::{IoSlice, Read, Write};
use std::pin::pin;

use breezeway_tokio::{ByteListener, ByteStream, Incoming, ServerOptions, Session, SessionOptions};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, copy_bidirectional, duplex};

use crate::support::{addresses, on_both_runtimes, soon};

/// Bytes that show where they belong.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index * 7 + index / 251) as u8).collect()
}

#[test]
fn bytes_arrive_in_order_on_every_carrier() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        for address in addresses(folder.path()) {
            let mut listener = ByteListener::bind(&address).unwrap();
            let shared = Session::connect(listener.address()).await.unwrap();
            let mut client = ByteStream::new(shared.open(0).await.unwrap());
            let echoing = tokio::spawn(async move {
                let mut server = listener.accept().await.unwrap();
                let mut all = Vec::new();
                server.read_to_end(&mut all).await.unwrap();
                server.write_all(&all).await.unwrap();
                server.shutdown().await.unwrap();
                (listener, server)
            });
            let bytes = pattern(300_000);
            let mut rest = &bytes[..];
            for len in [1, 40, 105, 7_000, 0, 100_000].into_iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (now, later) = rest.split_at(len.min(rest.len()));
                soon(client.write_all(now)).await.unwrap();
                rest = later;
            }
            soon(client.shutdown()).await.unwrap();
            soon(client.shutdown()).await.unwrap();
            let mut back = Vec::new();
            let mut piece = [0; 1_013];
            loop {
                let count = soon(client.read(&mut piece)).await.unwrap();
                if count == 0 {
                    break;
                }
                back.extend_from_slice(&piece[..count]);
            }
            assert!(back == bytes, "over {address}");
            drop(soon(echoing).await.unwrap());
        }
    });
}

/// Both ends of a stream of bytes, and what keeps their session open.
async fn pair() -> (ByteStream, ByteStream, impl Sized) {
    let (shared, server) = Session::pair(&SessionOptions::new()).await.unwrap();
    let one = ByteStream::new(shared.open(0).await.unwrap());
    let Some(breezeway_tokio::Incoming::Stream(_, other)) = soon(server.accept()).await.unwrap()
    else {
        panic!("no stream")
    };
    (one, ByteStream::new(other), (shared, server))
}

#[test]
fn pieces_are_written_together_and_lines_are_read_apart() {
    on_both_runtimes(|| async {
        let (mut one, mut other, _session) = pair().await;
        assert!(tokio::io::AsyncWrite::is_write_vectored(&one));
        let pieces = [&b"first li"[..], b"", b"ne\nsecond", b" line\nth"].map(IoSlice::new);
        assert_eq!(soon(one.write_vectored(&pieces)).await.unwrap(), 25);
        soon(one.write_all(b"ird\n")).await.unwrap();
        soon(one.shutdown()).await.unwrap();
        // All pieces came as one message.
        assert_eq!(soon(other.fill_buf()).await.unwrap().len(), 25);
        let mut lines = Vec::new();
        let mut line = String::new();
        while soon(other.read_line(&mut line)).await.unwrap() > 0 {
            lines.push(std::mem::take(&mut line));
        }
        assert_eq!(lines, ["first line\n", "second line\n", "third\n"]);
    });
}

#[test]
fn dropped_stream_is_a_connection_reset() {
    on_both_runtimes(|| async {
        let (mut one, mut other, _session) = pair().await;
        soon(one.write_all(b"x")).await.unwrap();
        assert_eq!(soon(other.read_u8()).await.unwrap(), b'x');
        drop(one);
        let error = soon(other.read(&mut [0])).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        let error = soon(other.write_all(b"y")).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    });
}

#[test]
fn bytes_before_shutdown_are_read_after_drop() {
    on_both_runtimes(|| async {
        let (mut one, mut other, _session) = pair().await;
        soon(other.write_all(b"never read")).await.unwrap();
        let bytes = pattern(100_000);
        soon(one.write_all(&bytes)).await.unwrap();
        soon(one.shutdown()).await.unwrap();
        drop(one);
        // A write without a reader is refused, which shows that the drop has come.
        let refused = soon(async {
            loop {
                if let Err(error) = other.write_all(b"x").await {
                    break error;
                }
                tokio::task::yield_now().await;
            }
        });
        assert_eq!(refused.await.kind(), std::io::ErrorKind::ConnectionReset);
        let mut all = Vec::new();
        soon(other.read_to_end(&mut all)).await.unwrap();
        assert!(all == bytes);
    });
}

#[test]
fn copy_bidirectional_copies_byte_streams() {
    on_both_runtimes(|| async {
        let (mut one, mut other, _session) = pair().await;
        let (mut near, mut far) = duplex(100);
        let copying = tokio::spawn(async move {
            copy_bidirectional(&mut other, &mut near).await.unwrap();
        });
        let bytes = pattern(50_000);
        let echoing = tokio::spawn(async move {
            let mut all = vec![0; 50_000];
            far.read_exact(&mut all).await.unwrap();
            far.write_all(&all).await.unwrap();
            far.shutdown().await.unwrap();
        });
        soon(one.write_all(&bytes)).await.unwrap();
        soon(one.shutdown()).await.unwrap();
        let mut back = Vec::new();
        soon(one.read_to_end(&mut back)).await.unwrap();
        assert!(back == bytes);
        soon(echoing).await.unwrap();
        soon(copying).await.unwrap();
    });
}

#[test]
fn blocking_streams_read_and_write_bytes() {
    let (shared, server) = breezeway::Session::pair(&SessionOptions::new()).unwrap();
    let serving = std::thread::spawn(move || {
        let Ok(Some(breezeway::Incoming::Stream(_, stream))) = server.accept() else {
            panic!("no stream")
        };
        let mut stream = breezeway::ByteStream::new(stream);
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        stream.write_all(&all).unwrap();
        stream.finish().unwrap();
        assert!(server.accept().unwrap().is_none());
    });
    let mut stream = breezeway::ByteStream::new(shared.open(0).unwrap());
    let bytes = pattern(3 << 20);
    let (front, back) = bytes.split_at(1_000);
    let pieces = [front, back].map(IoSlice::new);
    let written = stream.write_vectored(&pieces).unwrap();
    assert!(written > front.len() && written < bytes.len(), "the longest message");
    stream.write_all(&bytes[written..]).unwrap();
    stream.finish().unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    assert!(all == bytes);
    drop((stream, shared));
    serving.join().unwrap();
}

#[test]
fn bytes_are_written_in_place_beside_those_that_are_copied() {
    on_both_runtimes(|| async {
        let (mut one, mut other, _session) = pair().await;
        let bytes = pattern(200_000);
        soon(one.write_all(&bytes[..10])).await.unwrap();
        let mut space = soon(one.reserve(150_000)).await.unwrap();
        space.bytes_mut()[..100_000].copy_from_slice(&bytes[10..100_010]);
        space.truncate(100_000);
        soon(one.write_space(space)).await.unwrap();
        // An empty space does not end the stream.
        let nothing = soon(one.reserve(0)).await.unwrap();
        soon(one.write_space(nothing)).await.unwrap();
        soon(one.write_all(&bytes[100_010..])).await.unwrap();
        let late = soon(one.reserve(1)).await.unwrap();
        soon(one.shutdown()).await.unwrap();
        let mut all = Vec::new();
        soon(other.read_to_end(&mut all)).await.unwrap();
        assert!(all == bytes);
        let error = soon(one.write_space(late)).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    });
}

#[test]
fn bytes_in_place_are_bound_to_their_session_and_its_limits() {
    on_both_runtimes(|| async {
        let (mut one, mut other, _session) = pair().await;
        let (mut third, _fourth, _another) = pair().await;
        let Err(error) = soon(one.reserve(usize::MAX)).await else { panic!("there is no end") };
        assert!(error.to_string().contains("cap"), "{error}");
        let space = soon(one.reserve(5)).await.unwrap();
        let error = soon(third.write_space(space)).await.unwrap_err();
        assert!(error.to_string().contains("another session"), "{error}");
        soon(one.write_all(b"goes on")).await.unwrap();
        assert_eq!(soon(other.fill_buf()).await.unwrap(), b"goes on");
    });
}

#[test]
fn blocking_streams_write_in_place() {
    let (shared, server) = breezeway::Session::pair(&SessionOptions::new()).unwrap();
    let mut stream = breezeway::ByteStream::new(shared.open(0).unwrap());
    let Ok(Some(breezeway::Incoming::Stream(_, other))) = server.accept() else {
        panic!("no stream")
    };
    let mut other = breezeway::ByteStream::new(other);
    let mut space = stream.reserve(100_000).unwrap();
    space.bytes_mut().copy_from_slice(&pattern(100_000));
    let late = stream.reserve(1).unwrap();
    stream.write_space(space).unwrap();
    stream.finish().unwrap();
    let mut all = Vec::new();
    other.read_to_end(&mut all).unwrap();
    assert!(all == pattern(100_000));
    let error = stream.write_space(late).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    let Err(error) = stream.reserve(usize::MAX) else { panic!("there is no end") };
    assert!(error.to_string().contains("cap"), "{error}");
}

#[test]
fn blocking_stream_is_read_after_finish_and_drop() {
    let (shared, server) = breezeway::Session::pair(&SessionOptions::new()).unwrap();
    let mut stream = breezeway::ByteStream::new(shared.open(0).unwrap());
    stream.write_all(b"all of it").unwrap();
    stream.finish().unwrap();
    drop(stream);
    let Ok(Some(breezeway::Incoming::Stream(_, stream))) = server.accept() else {
        panic!("no stream")
    };
    let mut stream = breezeway::ByteStream::new(stream);
    while stream.write_all(b"x").is_ok() {}
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert_eq!(all, "all of it");
}

#[test]
fn a_read_past_many_empty_messages_lets_other_tasks_run() {
    on_both_runtimes(|| async {
        const EMPTY: usize = 10_000;
        let options = SessionOptions::new().stream_window(1 << 20, 1 << 30);
        let (shared, server) = Session::pair(&options).await.unwrap();
        let mut one = shared.open(0).await.unwrap();
        let Ok(Some(Incoming::Stream(_, other))) = soon(server.accept()).await else {
            panic!("no stream")
        };
        for _ in 0..EMPTY {
            soon(one.send(b"")).await.unwrap();
        }
        soon(one.send(b"x")).await.unwrap();
        // The call comes behind all that was sent.
        let calling = tokio::spawn(async move { shared.call(0, b"").await.map(drop) });
        let Ok(Some(Incoming::Call(call))) = soon(server.accept()).await else { panic!("no call") };
        let mut other = ByteStream::new(other);
        let mut read = pin!(other.read_u8());
        let mut polls = 0;
        let byte = poll_fn(|cx| {
            polls += 1;
            read.as_mut().poll(cx)
        });
        assert_eq!(soon(byte).await.unwrap(), b'x');
        assert!(polls > EMPTY / 1_000, "{polls} polls");
        let _ = call.echo();
        soon(calling).await.unwrap().unwrap();
    });
}

#[test]
fn ended_listener_fails_every_accept() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let address = &addresses(folder.path())[0];
        let bind = || {
            let admin = folder.path().join("admin");
            let options = ServerOptions::new().take_over(true).admin_socket(admin);
            ByteListener::bind_with(address, options).unwrap()
        };
        let mut first = bind();
        // It serves by now, and has no client that would have to move.
        drop(Session::connect(first.address()).await.unwrap());
        let _successor = bind();
        for _ in 0..3 {
            let Err(error) = soon(first.accept()).await else { panic!("there is no client") };
            assert!(breezeway::describe(&error).contains("stopped"), "{error}");
        }
    });
}
