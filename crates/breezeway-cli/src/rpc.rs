//! What `--protocol thrift` stands for: an echo of `idl/echo.thrift`, served and called; and plain
//! calls of a caller that follows its server.

use std::time::Duration;

use breezeway::{Address, Client, ClientOptions, ServerOptions, SessionOptions};
use breezeway_measure::load::methods::ECHO;
use breezeway_measure::load::{Load, Measurement, Rate, closed_loop, open_loop};
use breezeway_measure::pattern;
use breezeway_os::shortage;
use breezeway_rpc::{Context, Error, Server};
use signal_hook::iterator::Signals;

use self::generated::echo::{Echo, EchoClient, EchoServer};
use crate::Failure;
use crate::serve::announce;

/// What breezeway-idl makes of `idl/echo.thrift`.
mod generated {
    include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
}

/// How long a caller that follows waits for a server that is not there.
const SERVER_WAIT: Duration = Duration::from_secs(10);

struct Returning;

impl Echo for Returning {
    fn echo(&self, _: &Context, body: Vec<u8>) -> Result<Vec<u8>, Error> {
        Ok(body)
    }
}

/// Serves the echo until a signal, also to clients of Kitex, Volo and Apache's libraries.
pub(crate) fn serve(
    address: &Address,
    options: ServerOptions,
    mut signals: Signals,
) -> Result<(), Failure> {
    let closing = signals.handle();
    let server = Server::bind_with(address, options)?.with_thrift_clients();
    let server = server.add_service(EchoServer(Returning))?;
    let stopper = server.stopper();
    shortage::spawn("signals", move || signals.forever().for_each(|_| stopper.stop()))?;
    announce(&server.address());
    server.serve()?;
    closing.close();
    Ok(())
}

/// Measures calls of the echo, one after the other. With `follows`, the caller moves to another
/// server when this one goes away or ends, and repeats the call on which it ended.
pub(crate) fn bench_thrift(
    load: &Load,
    address: &Address,
    session: SessionOptions,
    follows: bool,
) -> Result<Measurement, Failure> {
    let client = EchoClient::new(connect(address, session.service(breezeway_rpc::RPC), follows)?);
    let size = load.size;
    exchange(load, |round| {
        let mut body = vec![0; size];
        pattern::fill(&mut body, pattern::seed(round));
        let mut again = follows.then(|| body.clone());
        let reply = match client.echo(body) {
            Err(error) if error.may_have_run() => match again.take() {
                Some(body) => client.echo(body)?,
                None => return Err(error.into()),
            },
            reply => reply?,
        };
        check(&reply, size, round)
    })
}

/// Measures plain calls likewise, of a caller that follows.
pub(crate) fn bench_following(
    load: &Load,
    address: &Address,
    session: SessionOptions,
) -> Result<Measurement, Failure> {
    let client = connect(address, session, true)?;
    let (mut request, mut reply) = (vec![0; load.size], Vec::new());
    exchange(load, |round| {
        pattern::fill(&mut request, pattern::seed(round));
        let message = match client.call(ECHO, &request) {
            Err(error) if error.may_have_run() => client.call(ECHO, &request)?,
            message => message?,
        };
        reply.clear();
        message.bytes().append_to(&mut reply);
        check(&reply, request.len(), round)
    })
}

fn connect(address: &Address, session: SessionOptions, follows: bool) -> Result<Client, Failure> {
    let options = ClientOptions::new().session(session);
    let options = if follows { options.wait_for_server(SERVER_WAIT) } else { options };
    Ok(Client::connect_with(address, options)?)
}

fn exchange(
    load: &Load,
    call: impl FnMut(u64) -> Result<(), Failure>,
) -> Result<Measurement, Failure> {
    match load.rate {
        Some(rate) => open_loop(load.extent, Rate(rate), call),
        None => closed_loop(load.extent, call),
    }
}

fn check(reply: &[u8], size: usize, round: u64) -> Result<(), Failure> {
    if reply.len() == size && pattern::matches(reply, pattern::seed(round)) {
        return Ok(());
    }
    let received = reply.len();
    Err(format!("reply {round} ({received} bytes) differs from its request ({size} bytes)").into())
}
