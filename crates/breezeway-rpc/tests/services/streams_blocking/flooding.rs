//! Clients whose streams get more than their handlers read.

use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;

use super::*;

/// More than a connection's unread messages may take.
const FLOOD: usize = 64 << 20;

/// Opens two streams; returns a frame of 1 MiB that the first may have any number of.
pub(crate) fn opened(socket: &mut impl Write, asked: [&str; 2]) -> Vec<u8> {
    for (stream, asked) in (0..).zip(asked) {
        let asked = to_vec(&line("hall", asked)).unwrap();
        socket.write_all(&frame(stream, FrameKind::Header, &[])).unwrap();
        socket.write_all(&frame(stream, FrameKind::Data, &asked)).unwrap();
    }
    frame(0, FrameKind::Data, &[0; 1 << 20])
}

/// Opens two streams, then sends on the first until the server reads no more. Writes have to end
/// after a while.
pub(crate) fn flood(socket: &mut impl Write, asked: [&str; 2]) {
    let data = opened(socket, asked);
    let mut sent = 0;
    loop {
        match socket.write(&data[sent % data.len()..]) {
            Ok(count) => sent += count,
            Err(error) => {
                let late = [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut];
                assert!(late.contains(&error.kind()), "{error}");
                if sent > FLOOD {
                    return;
                }
            }
        }
    }
}

/// Time that a write waits for a server that reads no more.
pub(crate) const FULL: Duration = Duration::from_millis(300);

fn flooded_unix(address: &Address, asked: [&str; 2]) -> UnixStream {
    let address = address.to_string();
    let mut socket = UnixStream::connect(address.strip_prefix("unix:").unwrap()).unwrap();
    socket.set_write_timeout(Some(FULL)).unwrap();
    flood(&mut socket, asked);
    socket
}

fn flooded_tcp(address: &Address, asked: [&str; 2]) -> TcpStream {
    let address = address.to_string();
    let mut socket = TcpStream::connect(address.strip_prefix("tcp:").unwrap()).unwrap();
    socket.set_write_timeout(Some(FULL)).unwrap();
    flood(&mut socket, asked);
    socket
}

/// Role: a client that floods streams with handlers that send nothing, until it is killed.
pub(crate) fn flood_unread(address: &Address) {
    let socket = flooded_unix(address, ["watch", "look"]);
    say("flooded");
    std::thread::park();
    drop(socket);
}

/// A client that floods streams whose awaited handlers never end, until it is killed.
pub(crate) fn flood_awaited(address: &Address) {
    let socket = flooded_unix(address, ["silent", "silent"]);
    say("flooded");
    std::thread::park();
    drop(socket);
}

/// Waits until both handlers have returned.
pub(crate) fn both_dropped(events: &mut UnboundedReceiver<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for _ in 0..2 {
        let dropped = async { while events.recv().await.unwrap() != "dropped" {} };
        let dropped = runtime.block_on(async { timeout(PATIENCE, dropped).await });
        dropped.expect("a handler whose client is gone returns");
    }
}

#[test]
fn handlers_of_killed_flooding_client_return() {
    let mut running = Running::new("unix");
    let mut client = Process::start("flooder", &running.address);
    assert_eq!(client.hear(), "flooded");
    client.kill();
    both_dropped(&mut running.events);
}

#[test]
fn server_of_flooding_client_stops() {
    for carrier in ["unix", "tcp"] {
        let running = Running::new(carrier);
        let asked = ["watch", "look"];
        let flooded: Box<dyn Write> = match carrier {
            "tcp" => Box::new(flooded_tcp(&running.address, asked)),
            _ => Box::new(flooded_unix(&running.address, asked)),
        };
        let (tell, told) = mpsc::channel();
        let stopping = std::thread::spawn(move || {
            drop(running);
            tell.send(()).unwrap();
        });
        told.recv_timeout(PATIENCE).expect("the server stops");
        stopping.join().unwrap();
        drop(flooded);
    }
}

#[tokio::test]
async fn awaited_handlers_of_killed_flooding_client_are_dropped() {
    let mut running = streams::Running::new("unix");
    let address = running.address.clone();
    let killed = tokio::task::spawn_blocking(move || {
        let mut client = Process::start("awaited flooder", &address);
        assert_eq!(client.hear(), "flooded");
        client.kill();
    });
    killed.await.unwrap();
    running.told_of("dropped").await;
    running.told_of("dropped").await;
    running.end().await;
}
