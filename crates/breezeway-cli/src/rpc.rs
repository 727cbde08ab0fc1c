//! The service of `--protocol thrift`: an echo of `idl/echo.thrift`, served and called.

use breezeway::{Address, ErrorCode, ServerOptions, SessionOptions, StreamError};
use breezeway_measure::load::{Load, Measurement};
use breezeway_measure::pattern;
use breezeway_os::shortage;
use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{Context, Error, Server};
use signal_hook::iterator::Signals;

use self::generated::echo::{Echo, EchoClient, EchoServer};
use crate::announce::announce;
use crate::failure::Failure;
use crate::follow::{check, connect, exchange, report_repetition};

/// Code that breezeway-idl generates from `idl/echo.thrift`.
mod generated {
    include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
}

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

/// The error for a server without the echo.
const NO_ECHO: &str = "the server does not serve the echo of Thrift; start it with breezeway serve \
    --protocol thrift, or leave --protocol out";

/// Returns true for the error of a server that does not have the service or the method.
pub(crate) fn is_unknown_method(error: &Error) -> bool {
    match error {
        Error::Application(error) => {
            [ExceptionKind::UNKNOWN_METHOD, ExceptionKind::UNKNOWN_SERVICE].contains(&error.kind)
        }
        Error::Stream(StreamError::Reset(code)) => *code == ErrorCode::NoSuchMethod,
        // No stream at all.
        Error::Stream(StreamError::TooMany(most)) => *most == 0,
        _ => false,
    }
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
                Some(body) => {
                    report_repetition();
                    client.echo(body)?
                }
                None => return Err(error.into()),
            },
            Err(error) if is_unknown_method(&error) => return Err(NO_ECHO.into()),
            reply => reply?,
        };
        check(&reply, size, round)
    })
}
