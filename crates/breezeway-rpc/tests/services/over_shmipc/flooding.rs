//! Clients whose streams get more than their handlers read.

use std::io::Write;
use std::sync::mpsc;

use super::*;
use crate::streams_blocking::flooding::{FULL, both_dropped, flood, opened};

/// A server, the reports of its handlers, and a client's session and connection.
type Connected = (Running, UnboundedReceiver<String>, Client, breezeway_shmipc::Stream);

fn connected(gear: Gear) -> Connected {
    let (events, told) = unbounded_channel();
    let [blocks, awaits] =
        [events.clone(), events].map(|events| Hall { events, morning: Arc::default() });
    let running = Running::of(gear, RoomServer(blocks), AsyncRoomServer(awaits));
    let client = Client::connect(&running.address, options()).unwrap();
    let stream = client.open().unwrap();
    (running, told, client, stream)
}

/// Returns requests with handlers that read nothing more.
fn unread(gear: Gear) -> [&'static str; 2] {
    match gear {
        Gear::Blocks => ["watch", "look"],
        Gear::Awaits => ["silent", "silent"],
    }
}

/// Returns the same once the client has sent more than the handlers and the session take.
fn flooded(gear: Gear) -> Connected {
    let (running, told, client, mut stream) = connected(gear);
    stream.set_write_timeout(Some(FULL));
    flood(&mut stream, unread(gear));
    (running, told, client, stream)
}

#[test]
fn handlers_of_flooded_stream_return_once_it_is_closed() {
    for gear in GEARS {
        let (_running, mut told, _client, mut stream) = connected(gear);
        let data = opened(&mut stream, unread(gear));
        // More than the server keeps, and less than ends the reading of the session's socket.
        for _ in 0..66 {
            stream.write_all(&data).unwrap();
        }
        drop(stream);
        both_dropped(&mut told);
    }
}

#[test]
fn handlers_of_flooded_session_return_once_it_has_ended() {
    for gear in GEARS {
        let (_running, mut told, _client, stream) = flooded(gear);
        stream.session().close();
        both_dropped(&mut told);
    }
}

#[test]
fn server_of_flooded_session_stops() {
    for gear in GEARS {
        let (mut running, _told, _client, _stream) = flooded(gear);
        let (tell, ended) = mpsc::channel();
        let stopping = std::thread::spawn(move || {
            running.end();
            tell.send(()).unwrap();
        });
        ended.recv_timeout(PATIENCE).expect("the server stops");
        stopping.join().unwrap();
    }
}
