//! Hostile servers, and the honest clients of each engine that call them.

use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{ExclusiveSession, Session, SessionOptions, describe};
use breezeway_adversary::Connection;

use super::standstill::STANDSTILL;
use super::target::{Course, Via};
use crate::engine::Engine;
use crate::sequences::{self, Filling};
use crate::server::method;
use crate::{Failure, client, process};

/// Calls of a client that is to be served: each leaves a byte or more in a full socket, which holds
/// fewer than 300.
const CALLS: u32 = 600;

/// Connects as an honest client, and makes this many calls; returns the error of the first that
/// fails.
type Caller = fn(&str, u32) -> Result<(), Failure>;

/// Returns the kinds of clients that an engine has.
fn callers(engine: Engine) -> &'static [Caller] {
    match engine {
        Engine::Tokio => &[by_tokio],
        Engine::Go => &[by_go],
        _ => &[by_session, by_channel],
    }
}

fn options() -> SessionOptions {
    SessionOptions::new().handshake_timeout(client::HANDSHAKE)
}

fn patience() -> Instant {
    Instant::now() + client::PATIENCE
}

fn check(reply: &[u8], request: &[u8]) -> Result<(), Failure> {
    if reply == request { Ok(()) } else { Err("a reply came back changed".into()) }
}

fn by_session(address: &str, calls: u32) -> Result<(), Failure> {
    let mut session = ExclusiveSession::connect_with(address, &options())?;
    for request in (0..calls).map(u32::to_le_bytes) {
        let reply = session.call_until(method::ECHO, &request, patience())?;
        check(&reply.to_vec(), &request)?;
    }
    Ok(())
}

fn by_channel(address: &str, calls: u32) -> Result<(), Failure> {
    let shared = Session::connect_with(address, &options())?;
    for request in (0..calls).map(u32::to_le_bytes) {
        check(
            &shared.request(method::ECHO).deadline(patience()).send(&request)?.to_vec(),
            &request,
        )?;
    }
    Ok(())
}

fn by_tokio(address: &str, calls: u32) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let shared = breezeway_tokio::Session::connect_with(address, &options()).await?;
        for request in (0..calls).map(u32::to_le_bytes) {
            let reply = shared.request(method::ECHO).deadline(patience()).send(&request).await?;
            check(&reply.to_vec(), &request)?;
        }
        Ok(())
    })
}

/// The command of the Go module checks every byte itself, and makes some calls before those that it
/// counts.
fn by_go(address: &str, calls: u32) -> Result<(), Failure> {
    let program = process::go_server().ok_or("the Go module's client needs BREEZEWAY_BWGO")?;
    let mut command = Command::new(program);
    command.args(["bench", "--addr", address, "--size", "40", "--count", &calls.to_string()]);
    let mut client = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let began = Instant::now();
    // Its calls wait for ever.
    while client.try_wait()?.is_none() && began.elapsed() < STANDSTILL {
        thread::sleep(Duration::from_millis(1));
    }
    let is_done = client.try_wait()?.is_some();
    if !is_done {
        client.kill()?;
    }
    let output = client.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    if is_done { Err(said.into()) } else { Err(format!("Go's client stands still: {said}").into()) }
}

/// Lets each kind of client make calls to a server by hand, which serves one connection.
fn with_each_client(
    engine: Engine,
    via: Via,
    calls: u32,
    serve: impl Fn(Connection) + Copy + Send + 'static,
    judge: impl Fn(Result<(), Failure>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let path = via.path(folder.path());
    let listener = UnixListener::bind(&path)?;
    for call in callers(engine) {
        let accepting = listener.try_clone()?;
        let serving = thread::spawn(move || {
            let (socket, _) = accepting.accept().expect("a client");
            serve(Connection::Unix(socket));
        });
        judge(call(&via.address(folder.path(), ""), calls))?;
        serving.join().map_err(|_| "the server by hand panicked")?;
    }
    Ok(())
}

/// Serves as a server that sends its own end of the session socket, and dies.
pub(super) fn own_ends(engine: Engine, via: Via, course: &Course) -> Result<(), Failure> {
    for number in (0..).take_while(|_| course.goes_on()) {
        let before = match via {
            Via::Shm => [0, 1, 8, 63, 64][number % 5],
            Via::Unix | Via::Tcp => [0, 1, 2][number % 3],
        };
        let serve = move |socket| match via {
            Via::Shm => sequences::own_end_of_server(socket, before),
            Via::Unix | Via::Tcp => sequences::own_end_with_reply(socket, before),
        };
        // Each client checks what the server has sent, so it has accepted the session. Go's client
        // checks first whether one more segment is allowed, and whether it has seals at all.
        let reasons = [
            "the segment is not sealed against shrinking and writing by others",
            "the descriptor is not a memfd",
            "unexpected file descriptors on the session socket",
            "file descriptors where messages travel on the socket",
        ];
        with_each_client(engine, via, 3, serve, |outcome| match outcome {
            Err(error) if reasons.iter().any(|reason| describe(&*error).contains(reason)) => Ok(()),
            outcome => Err(format!("behind {before}: {outcome:?}").into()),
        })?;
        course.step();
    }
    Ok(())
}

/// Serves by the rules as a server with a full socket.
pub(super) fn full_sockets(engine: Engine, course: &Course) -> Result<(), Failure> {
    for filling in Filling::ALL.into_iter().cycle().take_while(|_| course.goes_on()) {
        with_each_client(engine, Via::Shm, CALLS, move |socket| filling.serve(socket), |it| it)?;
        course.step();
    }
    Ok(())
}
