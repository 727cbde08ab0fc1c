//! Clients that send nothing, or half of a message.

use std::io::{Read, Write};

use super::*;

/// Starts a server with a short handshake timeout, and a client of it with a longer one, for a busy
/// machine.
fn impatient(gear: Gear) -> (Running, Client) {
    let (address, folder) = in_a_folder();
    let (tell, _looks) = unbounded_channel();
    let (blocks, awaits) = (Corner::new(tell.clone()), Corner::new(tell));
    let session = SessionOptions::new().handshake_timeout(Duration::from_millis(200));
    let options = ServerOptions::new(Trust::SameUser).session(session);
    let mut running =
        Running::at(&address, options, gear, ShopServer(blocks), AsyncShopServer(awaits));
    running.folder = Some(folder);
    let until = Instant::now() + PATIENCE;
    loop {
        match Client::connect(&address, options_of_a_client()) {
            Ok(client) => return (running, client),
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
    }
}

fn options_of_a_client() -> ClientOptions {
    options().connect_timeout(PATIENCE)
}

fn asked(stream: &mut breezeway_shmipc::Stream) {
    stream.set_read_timeout(Some(PATIENCE));
    stream.write_all(b"\x80\x01\0\x01\0\0\0\x05ready\0\0\0\x09\0").unwrap();
    let mut answer = [0; 22];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer, *b"\x80\x01\0\x02\0\0\0\x05ready\0\0\0\x09\x02\0\0\x01\0");
}

#[test]
fn only_stream_silent_in_first_message_is_closed() {
    for gear in GEARS {
        let (running, raw) = impatient(gear);
        let mut kept = raw.open().unwrap();
        asked(&mut kept);
        let begun: [&[u8]; 5] = [
            b"\0",
            b"\0\0\0\x1c\x80\x01\0\x01\0\0\0\x05check\0\0\0",
            b"\x80\x01\0\x01\0\0\0\x05check\0\0\0",
            b"\0\0\0\x28\x10\0\0\0\0\0\0\x01\0\x01\0\0\0\0\x80\x01\0\x01\0\0\0\x05check",
            // A frame of a stream.
            b"\0\0\0\x28\x10\0\0\x02\0\0\0\x01\0\x01",
        ];
        let begin = |bytes: &&[u8]| {
            let mut stream = raw.open().unwrap();
            stream.set_read_timeout(Some(PATIENCE));
            stream.write_all(bytes).unwrap();
            stream
        };
        for (mut stream, bytes) in begun.iter().map(begin).zip(begun) {
            let read = stream.read(&mut [0; 64]);
            assert!(matches!(read, Ok(0)), "{gear:?} {}: {read:?}", bytes.escape_ascii());
        }
        running.wait_for_streams(1);
        asked(&mut kept);
    }
}
