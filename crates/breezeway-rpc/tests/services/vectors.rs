//! Servers of both kinds hold the conversations of `docs/vectors/users.txt`.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use breezeway::Address;
use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{
    AsyncServer, AsyncService, BusinessError, Call, Context, Error, Method, Server, Service,
};

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/users.rs"));
use users::{NoSuchUser, Users, UsersAgeArgs, UsersAgeError, UsersSeenArgs, UsersServer};

const TEXT: &str = include_str!("../../../../docs/vectors/users.txt");
/// Maximum wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
const HELLO: usize = 64;
/// Bytes in front of the body of a frame.
const FRAME: usize = 16;
/// The kind of windows, which a server sends when it likes.
const WINDOW: u8 = 4;

struct Table;

impl Users for Table {
    fn age(&self, cx: &Context, name: String) -> Result<i64, UsersAgeError> {
        let years = cx.metadata("years").map(|years| str::from_utf8(years).unwrap());
        let more: i64 = years.map_or(0, |years| years.parse().unwrap());
        match &*name {
            "Ada" => Ok(36 + more),
            "infant" => Err(Error::from(BusinessError::new(7, "too young")).into()),
            "nobody" => Err(Error::new(ExceptionKind(77), "no such table").into()),
            "broken" => Err(Error::Protocol("the table is broken".to_owned()).into()),
            _ => Err(NoSuchUser { name }.into()),
        }
    }

    fn seen(&self, _: &Context, _: String) {}
}

/// An awaited implementation of the same service.
struct Awaited;

impl AsyncService for Awaited {
    fn name(&self) -> &'static str {
        UsersServer(Table).name()
    }

    fn methods(&self) -> &'static [Method] {
        UsersServer(Table).methods()
    }

    async fn dispatch(
        &self,
        method: usize,
        cx: &Context,
        call: &mut Call<'_>,
    ) -> Result<(), Error> {
        if method == 0 {
            let UsersAgeArgs { name } = call.arguments()?;
            return call.reply::<UsersAgeArgs>(Table.age(cx, name));
        }
        let UsersSeenArgs { name } = call.arguments()?;
        Table.seen(cx, name);
        Ok(())
    }
}

/// Returns the address of the vectors' server.
fn place(folder: &Path) -> (Address, String) {
    let path = folder.join("users").display().to_string();
    (format!("unix:{path}").parse().unwrap(), path)
}

fn play_all(path: &str) {
    let conversations: Vec<_> = TEXT.split("\nconversation ").skip(1).collect();
    assert!(conversations.len() > 20);
    for conversation in conversations {
        let (name, lines) = conversation.split_once('\n').unwrap();
        play(name, path, lines);
    }
}

fn play(name: &str, path: &str, lines: &str) {
    let mut socket = UnixStream::connect(path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    for line in lines.lines().filter(|line| !line.is_empty()) {
        if let Some(sent) = line.strip_prefix("> ") {
            socket.write_all(&unhex(sent)).unwrap();
        } else if line == "< hello" {
            socket.read_exact(&mut [0; HELLO]).unwrap();
        } else {
            let frame = read_frame(&mut socket);
            let shown: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
            let is_it =
                line == format!("< {shown}") || failure(&frame).is_some_and(|it| it == line);
            assert!(is_it, "{name}: {shown} comes, and not {line}");
        }
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

/// Reads the next frame that is not a window.
fn read_frame(socket: &mut UnixStream) -> Vec<u8> {
    loop {
        let mut frame = vec![0; FRAME];
        socket.read_exact(&mut frame).unwrap();
        frame.resize(FRAME + number(&frame, 0) as usize, 0);
        socket.read_exact(&mut frame[FRAME..]).unwrap();
        if frame[4] != WINDOW {
            return frame;
        }
    }
}

fn number(frame: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(frame[at..at + 4].try_into().unwrap())
}

/// The line of a failed call.
fn failure(frame: &[u8]) -> Option<String> {
    const MESSAGE: u8 = 1;
    const FIN_ERROR: u8 = 0xa;
    let is_failure = frame[4] == MESSAGE && frame[5] == FIN_ERROR;
    is_failure.then(|| format!("< failure {} {}", number(frame, 8), number(frame, 12)))
}

#[test]
fn users_vectors_hold_for_blocking_server() {
    let folder = tempfile::tempdir().unwrap();
    let (address, path) = place(folder.path());
    let server = Server::bind(&address).unwrap().add_service(UsersServer(Table)).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || server.serve());
    play_all(&path);
    stopper.stop();
    serving.join().unwrap().unwrap();
}

#[tokio::test]
async fn users_vectors_hold_for_awaited_server() {
    let folder = tempfile::tempdir().unwrap();
    let (address, path) = place(folder.path());
    let server = AsyncServer::bind(&address).unwrap().add_service(Awaited).unwrap();
    let stopper = server.stopper();
    let serving = tokio::spawn(server.serve());
    tokio::task::spawn_blocking(move || play_all(&path)).await.unwrap();
    stopper.stop();
    serving.await.unwrap().unwrap();
}
