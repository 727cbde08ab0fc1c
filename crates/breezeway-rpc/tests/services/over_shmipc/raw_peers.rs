//! Peers by hand, which end, cut and garble.

use std::io::{Read, Write};

use super::*;

/// A server's streams, which the test answers for, and a client of it.
struct ByHand {
    server: Server,
    address: Address,
    _folder: TempDir,
}

impl ByHand {
    fn new() -> Self {
        let (address, folder) = in_a_folder();
        Self { server: Server::bind(&address, trusting()).unwrap(), address, _folder: folder }
    }
}

/// Stops a server, also where a test fails.
struct Stops(Stopper);

impl Drop for Stops {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// A call of `check` as each framing has it, up to its sequence number.
fn begun(framing: ThriftFraming) -> &'static [u8] {
    match framing {
        ThriftFraming::Framed => b"\0\0\0\x1c\x80\x01\0\x01\0\0\0\x05check\0\0\0",
        ThriftFraming::Unframed => b"\x80\x01\0\x01\0\0\0\x05check\0\0\0",
        _ => b"\0\0\0\x28\x10\0\0\0\0\0\0\x01\0\x01\0\0\0\0\x80\x01\0\x01\0\0\0\x05check",
    }
}

#[test]
fn client_ending_stream_mid_message_affects_no_other() {
    for gear in GEARS {
        for framing in FRAMINGS {
            let (running, _looks) = Running::shop(gear);
            let shop = ShopClient::new(running.blocking(framing));
            shop.check(1).unwrap();
            let raw = Client::connect(&running.address, options()).unwrap();
            let mut stream = raw.open().unwrap();
            stream.write_all(begun(framing)).unwrap();
            running.wait_for_streams(2);
            drop(stream);
            // The other's is kept.
            running.wait_for_streams(1);
            shop.check(1).unwrap();
        }
    }
}

#[test]
fn bytes_that_are_no_message_end_their_stream_and_no_other() {
    for gear in GEARS {
        let (running, _looks) = Running::shop(gear);
        let raw = Client::connect(&running.address, options()).unwrap();
        let mut kept = raw.open().unwrap();
        let bad: [&[u8]; 4] = [
            b"GET / HTTP/1.1\r\n\r\n",
            // A frame of 2 GiB.
            b"\x7f\xff\xff\xff\x80\x01\0\x01\0\0\0\x04ping",
            // TTHeader without header information.
            b"\0\0\0\x10\x10\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0",
            // An unframed message: its struct has a field of no type.
            b"\x80\x01\0\x01\0\0\0\x04ping\0\0\0\x01\x05\0\0",
        ];
        for bytes in bad {
            let mut stream = raw.open().unwrap();
            stream.set_read_timeout(Some(PATIENCE));
            stream.write_all(bytes).unwrap();
            let read = stream.read(&mut [0; 64]).unwrap();
            assert_eq!(read, 0, "{gear:?} {}", bytes.escape_ascii());
        }
        kept.write_all(b"\x80\x01\0\x01\0\0\0\x05ready\0\0\0\x09\0").unwrap();
        let mut answer = [0; 22];
        kept.set_read_timeout(Some(PATIENCE));
        kept.read_exact(&mut answer).unwrap();
        assert_eq!(answer, *b"\x80\x01\0\x02\0\0\0\x05ready\0\0\0\x09\x02\0\0\x01\0");
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    for gear in GEARS {
        let (running, _looks) = Running::shop(gear);
        let raw = Client::connect(&running.address, options()).unwrap();
        let mut stream = raw.open().unwrap();
        let ready =
            |sequence| [&b"\x80\x01\0\x01\0\0\0\x05ready\0\0\0"[..], &[sequence, 0]].concat();
        let asked: Vec<u8> = (0..100).flat_map(ready).collect();
        stream.write_all(&asked).unwrap();
        let answer = |sequence| {
            [&b"\x80\x01\0\x02\0\0\0\x05ready\0\0\0"[..], &[sequence], b"\x02\0\0\x01\0"].concat()
        };
        let expected: Vec<u8> = (0..100).flat_map(answer).collect();
        let mut answered = vec![0; expected.len()];
        stream.set_read_timeout(Some(PATIENCE));
        stream.read_exact(&mut answered).unwrap();
        assert_eq!(answered, expected);
    }
}

/// Returns the result of each mode's client for a server that reads its call and then does this.
fn called(
    framing: ThriftFraming,
    act: impl Fn(breezeway_shmipc::Stream) + Send + Sync,
) -> [Error; 2] {
    GEARS.map(|gear| {
        let hand = ByHand::new();
        std::thread::scope(|scope| {
            // If the client fails, no connection may come.
            let _stops = Stops(hand.server.stopper());
            scope.spawn(|| {
                let Some(session) = hand.server.accept() else { return };
                let mut stream = session.accept().unwrap();
                stream.read_exact(&mut [0; 25]).unwrap();
                act(stream);
                // Until the client has seen what was done.
                let _ = session.accept();
            });
            match gear {
                Gear::Blocks => {
                    let shop = ShopClient::new(blocking(&hand.address, framing));
                    shop.check(1).unwrap_err()
                }
                Gear::Awaits => {
                    let mut runtime = tokio::runtime::Builder::new_current_thread();
                    runtime.enable_all().build().unwrap().block_on(async {
                        let shop = AsyncShopClient::new(awaited(&hand.address, framing).await);
                        shop.check(1).await.unwrap_err()
                    })
                }
            }
        })
    })
}

#[test]
fn server_ending_stream_without_reply_fails_the_call() {
    for framing in FRAMINGS {
        for cut in [&b""[..], &begun(framing)[..3], begun(framing)] {
            for failed in called(framing, |mut stream| stream.write_all(cut).unwrap()) {
                assert!(matches!(failed, Error::Io(_)), "{framing:?} {}: {failed}", cut.len());
                assert!(failed.may_have_run());
            }
        }
    }
}

#[test]
fn reply_that_is_not_thrift_fails_the_call() {
    for framing in FRAMINGS {
        let answer = |mut stream: breezeway_shmipc::Stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        };
        for failed in called(framing, answer) {
            assert!(matches!(failed, Error::Protocol(_)), "{framing:?}: {failed}");
        }
    }
}

#[test]
fn a_session_that_dies_with_the_call_in_flight_fails_it() {
    for framing in FRAMINGS {
        for failed in called(framing, |stream| stream.session().close()) {
            assert!(matches!(failed, Error::Io(_)), "{framing:?}: {failed}");
            assert!(failed.may_have_run());
        }
    }
}

#[test]
fn a_server_that_never_answers_costs_a_caller_its_deadline() {
    let hand = ByHand::new();
    let within = || CallOptions::new().timeout(Duration::from_millis(50));
    for framing in FRAMINGS {
        let shop = ShopClient::new(blocking(&hand.address, framing));
        let failed = shop.with(within()).check(1);
        let is_late = matches!(failed, Err(Error::Call(CallError::DeadlinePassed)));
        assert!(is_late, "{framing:?}: {failed:?}");
    }
}

#[test]
fn write_to_server_that_reads_nothing_ends_at_deadline() {
    let hand = ByHand::new();
    let text = "x".repeat(200 << 20);
    let shop = ShopClient::new(blocking(&hand.address, ThriftFraming::Framed));
    let failed = shop.with(CallOptions::new().timeout(Duration::from_millis(500))).echo(text);
    let is_late = matches!(failed, Err(Error::Call(CallError::DeadlinePassed)));
    assert!(is_late, "{failed:?}");
}
