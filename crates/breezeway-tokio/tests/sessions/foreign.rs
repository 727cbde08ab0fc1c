//! Clients of another protocol at a server, as streams of bytes.

use std::time::Duration;

use breezeway::unstable::connect_foreign;
use breezeway_tokio::{
    Address, Carrier, ForeignStream, Server, ServerOptions, Session, SessionOptions,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use crate::support::{addresses, echo, on_both_runtimes, soon};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

async fn connect(address: &Address) -> Box<dyn ByteStream> {
    let text = address.to_string();
    let (scheme, place) = text.split_once(':').unwrap();
    match scheme {
        "tcp" => Box::new(TcpStream::connect(place).await.unwrap()),
        "tls" => {
            let place = address.places()[0].clone();
            let connect = move || connect_foreign(&place, &SessionOptions::new(), b"h2");
            let connection = tokio::task::spawn_blocking(connect).await.unwrap().unwrap();
            Box::new(ForeignStream::new(connection).unwrap())
        }
        _ => Box::new(UnixStream::connect(place).await.unwrap()),
    }
}

/// Sends back what comes; its end, too.
async fn echo_bytes(stream: ForeignStream) -> std::io::Result<()> {
    assert_eq!(stream.first_bytes()[..8], PREFACE[..8]);
    let is_remote = matches!(stream.carrier(), Carrier::Tcp | Carrier::Tls);
    assert_eq!(stream.peer().remote.is_some(), is_remote);
    let (mut reader, mut writer) = tokio::io::split(stream);
    tokio::io::copy(&mut reader, &mut writer).await?;
    writer.shutdown().await
}

fn options() -> ServerOptions {
    ServerOptions::new().on_foreign_connection(|connection| {
        tokio::spawn(async move { echo_bytes(ForeignStream::new(connection)?).await });
    })
}

#[test]
fn bytes_go_both_ways_beside_sessions_on_every_carrier() {
    // More than any socket holds, so that both sides wait.
    const LEN: usize = 8 << 20;
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        for address in addresses(folder.path()) {
            let server = Server::bind_with(&address, options()).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let serving = tokio::spawn(server.serve(echo));
            let mut client = connect(&address).await;
            client.write_all(&PREFACE[..5]).await.unwrap();
            let shared = soon(Session::connect(&address)).await.unwrap();
            client.write_all(&PREFACE[5..]).await.unwrap();
            let (mut reader, mut writer) = tokio::io::split(client);
            let sent: Vec<u8> = (0..LEN).map(|index| (index / 7) as u8).collect();
            let expected = [PREFACE, &sent].concat();
            let writing = tokio::spawn(async move {
                writer.write_all(&sent).await.unwrap();
                writer.shutdown().await.unwrap();
            });
            let mut received = Vec::new();
            soon(reader.read_to_end(&mut received)).await.unwrap();
            assert!(received == expected, "{} of {} bytes", received.len(), expected.len());
            soon(writing).await.unwrap();
            assert_eq!(soon(shared.call(0, b"x")).await.unwrap().to_vec(), b"x");
            stopper.stop();
            soon(serving).await.unwrap().unwrap();
        }
    });
}

#[test]
fn silent_partial_preface_ends_at_handshake_timeout() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let session = SessionOptions::new().handshake_timeout(Duration::from_millis(300));
        for address in addresses(folder.path()) {
            let server = Server::bind_with(&address, options().session(session.clone())).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let serving = tokio::spawn(server.serve(echo));
            let mut silent = Vec::new();
            for len in 1..8 {
                let mut client = connect(&address).await;
                client.write_all(&PREFACE[..len]).await.unwrap();
                silent.push(client);
            }
            for mut client in silent {
                let mut said = Vec::new();
                // A TCP connection may be reset.
                let _ = soon(client.read_to_end(&mut said)).await;
                assert_eq!(said, b"");
            }
            stopper.stop();
            soon(serving).await.unwrap().unwrap();
        }
    });
}

#[test]
fn handler_panic_or_drop_harms_no_other_session() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        let options = ServerOptions::new().on_foreign_connection(|connection| {
            assert!(!connection.first_bytes().starts_with(b"panic"), "as the test wants it");
        });
        let server = Server::bind_with(&addresses(folder.path())[0], options).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = tokio::spawn(server.serve(echo));
        for said in [b"panic at once", b"drop this now"] {
            let mut client = connect(&address).await;
            client.write_all(said).await.unwrap();
            let mut answer = Vec::new();
            let _ = soon(client.read_to_end(&mut answer)).await;
            assert_eq!(answer, b"");
            let shared = soon(Session::connect(&address)).await.unwrap();
            assert_eq!(soon(shared.call(0, b"x")).await.unwrap().to_vec(), b"x");
        }
        stopper.stop();
        soon(serving).await.unwrap().unwrap();
    });
}
