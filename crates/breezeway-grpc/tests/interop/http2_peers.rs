//! Foreign HTTP/2 peers: requests that h2 would refuse, and calls that they cancel.

use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use breezeway_grpc::{Endpoint, Gear, Server};
use breezeway_grpc_interop::cases::{client, simple};
use breezeway_grpc_interop::{AnyChannel, pb, server};
use breezeway_tokio::{ByteStream, Session};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;
use tonic::Status;
use tower::ServiceExt;

use crate::raw_http2::{
    ACK, Client, DATA, EMPTY, EMPTY_CALL, END_HEADERS, END_STREAM, FULL_DUPLEX_CALL, GOAWAY,
    HEADERS, PING, PREFACE, RST_STREAM, SETTINGS, WINDOW_UPDATE, block, call, field, frame,
};
use crate::support::{Plain, Serving, connect, run, soon};

#[test]
fn authority_that_is_not_one_is_served_as_localhost() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        let ours = Serving::start(&format!("unix:{path}/ours"));
        let tonics = Plain::start(&format!("shm:{path}/tonics"));
        for address in [ours.address.clone(), tonics.address.clone()] {
            let calls = spawn_blocking(move || {
                let refused = ["%2Ftmp%2Fapp.sock", "", "/tmp/app.sock", "a b", "::1"];
                for authority in refused {
                    let client = Client::begin(&address);
                    client.write(&call(1, &block(EMPTY_CALL, Some(authority))));
                    client.answered(1);
                    // The fields that have entered the table: the authority is the second of four.
                    let fields = [0x83, 0x86, 0xc1, 0xc0, 0xbf, 0xbe];
                    client.write(&call(3, &fields));
                    client.answered(3);
                    client.write(&call(5, &block(EMPTY_CALL, Some("localhost"))));
                    client.answered(5);
                }
                for authority in [Some("localhost"), Some("[::1]:80"), None] {
                    let client = Client::begin(&address);
                    client.write(&call(1, &block(EMPTY_CALL, authority)));
                    client.answered(1);
                }
            });
            calls.await.unwrap();
        }
        ours.end().await;
    });
}

#[test]
fn rewritten_request_in_pieces_with_padding_is_served() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let serving = Serving::start(&format!("unix:{}/socket", folder.path().display()));
        let address = serving.address.clone();
        let calls = spawn_blocking(move || {
            let client = Client::begin(&address);
            let block = block(EMPTY_CALL, Some("%2Fa"));
            let (first, rest) = block.split_at(40);
            let padded = [&[7, 0, 0, 0, 0, 16][..], first, &[0; 7]].concat();
            let (second, third) = rest.split_at(11);
            let bytes = [
                frame(HEADERS, 0x8 | 0x20, 1, &padded),
                frame(9, 0, 1, second),
                frame(9, END_HEADERS, 1, third),
                frame(DATA, END_STREAM, 1, EMPTY),
            ];
            for byte in bytes.concat() {
                client.write(&[byte]);
            }
            client.answered(1);
            // An index that no table has: h2 ends the connection with the reason.
            client.write(&frame(HEADERS, END_HEADERS | END_STREAM, 3, &[0xff, 0xff, 0x7f]));
            let goaway = client.read_until(|frame| frame.kind == 7);
            assert_eq!(goaway.payload[4..8], [0, 0, 0, 1], "PROTOCOL_ERROR");
        });
        calls.await.unwrap();
        serving.end().await;
    });
}

#[test]
fn resets_in_one_write_end_no_other_call() {
    const COUNT: u32 = 6_000;
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let serving = Serving::start(&format!("unix:{}/socket", folder.path().display()));
        let address = serving.address.clone();
        let calls = spawn_blocking(move || {
            let client = Client::begin(&address);
            let asked = frame(HEADERS, END_HEADERS, 1, &block(FULL_DUPLEX_CALL, Some("localhost")));
            client.write(&asked);
            client.read_until(|received| received.stream == 1);
            let mut resets = Vec::new();
            for index in 1..=COUNT {
                // The first one's path enters the table.
                let block = match index {
                    1 => [&[0x83, 0x86][..], &field(":path", EMPTY_CALL)].concat(),
                    _ => vec![0x83, 0x86, 0xbe],
                };
                let stream = 2 * index + 1;
                resets.extend(frame(HEADERS, END_HEADERS, stream, &block));
                resets.extend(frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]));
            }
            client.write(&resets);
            let last = 2 * COUNT + 3;
            client.write(&call(last, &block(EMPTY_CALL, Some("localhost"))));
            client.answered(last);
            // response_parameters of one message of 7 bytes.
            client.write(&frame(DATA, 0, 1, &[0, 0, 0, 0, 4, 0x12, 2, 8, 7]));
            client.read_until(|received| received.stream == 1 && received.kind == DATA);
        });
        calls.await.unwrap();
        serving.end().await;
    });
}

#[test]
fn calls_dropped_at_their_time_fail_no_other() {
    const DROPPED: usize = 3_000;
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        for address in [format!("unix:{path}/unix"), format!("shm:{path}/shm")] {
            for gear in [Gear::Http2, Gear::Native] {
                let serving = Serving::start(&address);
                let channel = connect(&serving.address, gear).await;
                let mut dropped = JoinSet::new();
                for number in 0..DROPPED {
                    let mut client = client(channel.clone());
                    let time = Duration::from_millis(number as u64 % 20);
                    dropped.spawn(async move {
                        timeout(time, client.unary_call(simple(100, 100))).await.is_err()
                    });
                }
                let others: Vec<_> = (0..200)
                    .map(|_| {
                        let mut client = client(channel.clone());
                        tokio::spawn(async move { client.unary_call(simple(10, 10)).await })
                    })
                    .collect();
                for other in others {
                    let outcome = soon(other).await.unwrap();
                    assert!(outcome.is_ok(), "{address} {gear:?}: {outcome:?}");
                }
                let dropped = dropped.join_all().await.into_iter().filter(|late| *late).count();
                println!("{address} {gear:?}: {dropped} of {DROPPED} calls were dropped");
                client(channel).empty_call(pb::Empty {}).await.unwrap();
                serving.end().await;
            }
        }
    });
}

#[test]
fn late_answers_to_cancelled_calls_fail_no_other() {
    const CANCELLED: usize = 3_000;
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let (all, opened) = oneshot::channel();
        // It answers the calls only when they are cancelled.
        let answering = spawn_blocking(move || {
            let client = Client(listener.accept().unwrap().0);
            let mut preface = [0; 24];
            std::io::Read::read_exact(&mut &client.0, &mut preface).unwrap();
            assert_eq!(preface, PREFACE);
            client.write(&frame(SETTINGS, 0, 0, &[]));
            client.write(&frame(SETTINGS, 1, 0, &[]));
            let (mut ended, mut other) = (0, None);
            while ended <= CANCELLED {
                let received = client.read_until(|received| received.kind == DATA);
                // The message of the call that is answered is longer.
                if received.payload.len() > EMPTY.len() {
                    other = Some(received.stream);
                }
                ended += usize::from(received.ends(received.stream));
            }
            all.send(()).unwrap();
            for _ in 0..CANCELLED {
                let reset = client.read_until(|received| received.kind == RST_STREAM);
                client.write(&answer(reset.stream));
            }
            client.write(&answer(other.unwrap()));
            client
        });
        let address = format!("unix:{}", path.display());
        let channel = Endpoint::new(&address).unwrap().connect_http2().await.unwrap();
        let of_error = |error: tonic::transport::Error| Status::from_error(error.into());
        let channel = AnyChannel::new(channel.map_err(of_error));
        let mut other = client(channel.clone());
        let other = tokio::spawn(async move { other.unary_call(simple(100, 0)).await });
        let mut cancelled = JoinSet::new();
        for _ in 0..CANCELLED {
            let mut client = client(channel.clone());
            cancelled.spawn(async move { client.empty_call(pb::Empty {}).await.map(drop) });
        }
        soon(opened).await.unwrap();
        drop(cancelled);
        let outcome = soon(other).await.unwrap();
        assert!(outcome.is_ok(), "{outcome:?}");
        drop(answering.await.unwrap());
    });
}

/// Returns headers, an empty message and trailers.
pub(crate) fn answer(stream: u32) -> Vec<u8> {
    let headers = [&[0x88][..], &literal("content-type", "application/grpc")].concat();
    let bytes = [
        frame(HEADERS, END_HEADERS, stream, &headers),
        frame(DATA, 0, stream, EMPTY),
        frame(HEADERS, END_HEADERS | END_STREAM, stream, &literal("grpc-status", "0")),
    ];
    bytes.concat()
}

/// Returns a literal field that enters no table.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut field = field(name, value);
    field[0] = 0;
    field
}

#[test]
fn full_backlog_is_waited_for_until_the_connect_timeout() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let flags = SocketFlags::CLOEXEC;
        let listener =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        let name = SocketAddrUnix::new(&path).unwrap();
        rustix::net::bind(&listener, &name).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let mut kept = Vec::new();
        loop {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket =
                rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
            match rustix::net::connect(socket.as_ref().unwrap(), &name) {
                Ok(()) => kept.push(socket),
                Err(rustix::io::Errno::AGAIN) => break,
                Err(error) => panic!("{error}"),
            }
        }
        let time = Duration::from_millis(200);
        let endpoint = Endpoint::new(format!("unix:{}", path.display())).unwrap();
        let endpoint = endpoint.connect_timeout(time);
        for gear in [Gear::Http2, Gear::Native] {
            let begin = Instant::now();
            let error = match gear {
                Gear::Http2 => endpoint.clone().connect_http2().await.map(drop).unwrap_err(),
                Gear::Native => endpoint.clone().connect().await.map(drop).unwrap_err(),
            };
            assert!(begin.elapsed() >= time, "{gear:?} {:?}: {error}", begin.elapsed());
            let text = crate::servers::causes(error);
            assert!(text.contains("accept"), "{gear:?}: {text}");
        }
    });
}

#[test]
fn stopped_server_cuts_connections_that_do_not_answer() {
    // The bytes that a client sends before it is silent.
    let settings = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    let called = [&settings[..], &call(1, &block(EMPTY_CALL, Some("localhost")))].concat();
    let headers = frame(HEADERS, END_HEADERS, 1, &block(FULL_DUPLEX_CALL, Some("localhost")));
    let calls = [&settings[..], &headers].concat();
    let cut = [&settings[..], &headers[..20]].concat();
    let begins: [(&str, &[u8]); 7] = [
        ("nothing", b""),
        ("five bytes", &PREFACE[..5]),
        ("the preface", PREFACE),
        ("settings", &settings),
        ("a call that has ended", &called),
        ("half a request", &cut),
        ("a call that runs", &calls),
    ];
    run(async move {
        let folder = tempfile::tempdir().unwrap();
        for carrier in ["unix", "shm"] {
            for (name, begin) in begins {
                let address = format!("{carrier}:{}/socket", folder.path().display());
                let serving = Serving::start(&address);
                let client = Client::connect(&serving.address);
                client.write(begin);
                if begin.len() > PREFACE.len() {
                    // The server's settings, so the server has the connection.
                    let client = Client(client.0.try_clone().unwrap());
                    spawn_blocking(move || client.read()).await.unwrap();
                }
                let stopped = Instant::now();
                let ended = timeout(Duration::from_secs(20), serving.stop()).await;
                let ended = ended.unwrap_or_else(|_| panic!("{carrier}: {name} holds the server"));
                ended.unwrap().unwrap();
                println!("{carrier}: {name}: {:?}", stopped.elapsed());
                drop(client);
            }
        }
    });
}

#[test]
fn stopped_server_cuts_client_that_answers_no_ping() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        for carrier in ["unix", "shm"] {
            let serving = Serving::start(&format!("{carrier}:{}/socket", folder.path().display()));
            let client = Client::begin(&serving.address);
            let block = block(FULL_DUPLEX_CALL, Some("localhost"));
            client.write(&frame(HEADERS, END_HEADERS, 1, &block));
            // The headers of the response: the call runs.
            let client = spawn_blocking(move || {
                client.read_until(|received| received.stream == 1);
                client
            });
            let client = client.await.unwrap();
            let ended = serving.stop();
            let client = spawn_blocking(move || {
                client.read_until(|received| received.kind == GOAWAY);
                // It arrives after the stop, but may have left before.
                client.write(&frame(SETTINGS, 1, 0, &[]));
                client
            });
            let client = client.await.unwrap();
            soon(ended).await.unwrap().unwrap();
            drop(client);
        }
    });
}

#[test]
fn stopped_server_cuts_client_that_stops_in_a_call() {
    const LARGE: u32 = 16 << 20;
    run(async {
        let folder = tempfile::tempdir().unwrap();
        for reads in [true, false] {
            let serving = Serving::start(&format!("unix:{}/socket", folder.path().display()));
            let client = Client::begin(&serving.address);
            let block = block(FULL_DUPLEX_CALL, Some("localhost"));
            client.write(&frame(HEADERS, END_HEADERS, 1, &block));
            let client = spawn_blocking(move || {
                client.read_until(|received| received.stream == 1);
                client
            });
            let client = client.await.unwrap();
            let ended = serving.stop();
            let client = spawn_blocking(move || {
                let ping = client.next_ping();
                client.write(&ping.pong());
                if !reads {
                    // A response that fills the socket: response_parameters of one large message.
                    for stream in [0, 1] {
                        client.write(&frame(WINDOW_UPDATE, 0, stream, &LARGE.to_be_bytes()));
                    }
                    let asked = [0, 0, 0, 0, 7, 0x12, 5, 8, 0x80, 0x80, 0x80, 4];
                    client.write(&frame(DATA, 0, 1, &asked));
                }
                client
            });
            let client = client.await.unwrap();
            soon(ended).await.unwrap().unwrap();
            drop(client);
        }
    });
}

#[test]
fn stopped_server_cuts_client_that_keeps_its_stream_open() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let serving = Serving::start(&format!("shm:{}/socket", folder.path().display()));
        let channel = Session::connect(&serving.address).await.unwrap();
        let mut stream = ByteStream::new(channel.open(0).await.unwrap());
        let begin = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
        stream.write_all(&begin).await.unwrap();
        assert!(stream.read_u8().await.is_ok());
        let ended = serving.stop();
        // Until the server has ended its side, after an answer to its PING.
        let mut received = Vec::new();
        let mut is_answered = false;
        while soon(stream.read_buf(&mut received)).await.unwrap() > 0 {
            let head = [0, 0, 8, PING, 0, 0, 0, 0, 0];
            let ping = received.windows(17).find(|window| window.starts_with(&head));
            if let Some(ping) = ping.filter(|_| !is_answered) {
                stream.write_all(&frame(PING, ACK, 0, &ping[9..])).await.unwrap();
                is_answered = true;
            }
        }
        assert!(is_answered);
        soon(ended).await.unwrap().unwrap();
        drop(stream);
    });
}

#[test]
fn connection_cut_after_a_take_over_is_closed() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("unix:{}/socket", folder.path().display());
        let options = breezeway_grpc::ServerOptions::new().take_over(true);
        let options = options.drain_timeout(Duration::from_millis(50));
        let mut first = Serving::with(&address, options.clone());
        let client = Client::begin(&address);
        let block = block(FULL_DUPLEX_CALL, Some("localhost"));
        client.write(&frame(HEADERS, END_HEADERS, 1, &block));
        let client = spawn_blocking(move || {
            client.read_until(|received| received.stream == 1);
            client
        });
        let client = client.await.unwrap();
        let closed = spawn_blocking(move || client.answer_pings());
        let second = Serving::with(&address, options);
        soon(&mut first.serving).await.unwrap().unwrap();
        soon(closed).await.unwrap();
        second.end().await;
    });
}

#[test]
fn client_that_does_not_begin_to_speak_is_cut() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let serving = Serving::start(&format!("unix:{}/socket", folder.path().display()));
        let address = serving.address.clone();
        let cut = spawn_blocking(move || {
            let client = Client::connect(&address);
            client.write(&PREFACE[..20]);
            // The server's settings, and the end.
            std::io::Read::read_to_end(&mut &client.0, &mut Vec::new()).unwrap();
        });
        soon(cut).await.unwrap();
        serving.end().await;
    });
}

#[test]
fn stopped_server_awaits_calls_beyond_its_drain_timeout() {
    // Long, because a client that takes this long to answer a PING is cut.
    const DRAIN: Duration = Duration::from_secs(4);
    let awaits = async |gear: Gear| {
        let folder = tempfile::tempdir().unwrap();
        let options = breezeway_grpc::ServerOptions::new().drain_timeout(DRAIN);
        let serving = Serving::with(&format!("unix:{}/socket", folder.path().display()), options);
        let channel = connect(&serving.address, gear).await;
        let mut request = pb::StreamingOutputCallRequest::default();
        for interval in [Duration::ZERO, DRAIN + DRAIN / 4] {
            let interval_us = interval.as_micros().try_into().unwrap();
            let asked = pb::ResponseParameters { size: 9, interval_us, compressed: None };
            request.response_parameters.push(asked);
        }
        let mut caller = client(channel.clone());
        let mut messages = caller.streaming_output_call(request).await.unwrap().into_inner();
        assert!(messages.message().await.unwrap().is_some());
        let ended = serving.stop();
        assert!(messages.message().await.unwrap().is_some(), "{gear:?}");
        assert!(messages.message().await.unwrap().is_none(), "{gear:?}");
        drop((caller, channel));
        soon(ended).await.unwrap().unwrap();
    };
    run(async {
        tokio::join!(awaits(Gear::Http2), awaits(Gear::Native));
    });
}

#[test]
fn call_on_its_way_at_the_stop_is_awaited() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        // Long, because a client that takes this long to answer a PING is cut.
        let drain_timeout = Duration::from_secs(4);
        let options = breezeway_grpc::ServerOptions::new().drain_timeout(drain_timeout);
        let serving = Serving::with(&format!("unix:{}/socket", folder.path().display()), options);
        let client = Client::begin(&serving.address);
        client.write(&call(1, &block(EMPTY_CALL, Some("localhost"))));
        let answered = spawn_blocking(move || {
            client.answered(1);
            client
        });
        let client = answered.await.unwrap();
        let ended = serving.stop();
        let client = spawn_blocking(move || {
            let ping = client.next_ping();
            // A call that begins before the answer to the server's PING, and outlasts its drain:
            // there are two PINGs in that time.
            let begins = block(FULL_DUPLEX_CALL, Some("localhost"));
            client.write(&frame(HEADERS, END_HEADERS, 3, &begins));
            client.write(&ping.pong());
            for _ in 0..3 {
                let ping = client.next_ping();
                client.write(&ping.pong());
            }
            client.write(&frame(DATA, END_STREAM, 3, &[]));
            while !client.read().ends(3) {}
        });
        soon(client).await.unwrap();
        soon(ended).await.unwrap().unwrap();
    });
}

#[test]
fn calls_beyond_the_servers_limit_of_streams_wait() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("unix:{}/socket", folder.path().display());
        let session = breezeway_grpc::SessionOptions::new().max_streams(3);
        let options = breezeway_grpc::ServerOptions::new().session(session);
        let bound = Server::builder().options(options).add_service(server()).bind(&address);
        tokio::spawn(bound.unwrap().serve());
        let channel = connect(&address, Gear::Http2).await;
        let mut calls = JoinSet::new();
        for _ in 0..200 {
            let mut client = client(channel.clone());
            calls.spawn(async move { client.unary_call(simple(100_000, 10)).await.is_ok() });
        }
        assert!(soon(calls.join_all()).await.into_iter().all(|is_ok| is_ok));
    });
}
