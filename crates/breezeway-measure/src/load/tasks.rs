//! Tasks under tokio that share one session, with calls or with a stream each; and the server's
//! side under tokio.

use std::sync::Arc;

use breezeway::{Address, ServerOptions, SessionOptions};
use breezeway_tokio::{OwnedCall, ReplyError, Server, Session, Stopper, Stream};

use super::awaited::{self, runtime};
use super::content::{Content, check_size, no_stream};
use super::methods::{ECHO, GLANCE, HOLLOW, HOLLOW_BYTES, SINK, TALLY};
use super::spread::Spread;
use super::{Echo, Load, Measurement};
use crate::Failure;

/// Serves an [`Echo`] at `address`, of calls and of streams, on `threads` threads, until the
/// [`Stopper`] that `started` gets, with the address, stops it.
///
/// # Errors
///
/// Returns the error of listening or of `started`.
pub fn serve(
    address: &Address,
    options: ServerOptions,
    threads: usize,
    started: impl FnOnce(&Address, Stopper) -> Result<(), Failure>,
) -> Result<(), Failure> {
    runtime(threads)?.block_on(async {
        let server = Server::bind_with(address, options)?;
        started(&server.address(), server.stopper())?;
        let echo = Arc::new(Echo::default());
        let answer = move |call| std::future::ready(echo.answer(call));
        Ok(server.serve_streams(answer, echo_stream).await?)
    })
}

impl Echo {
    /// Handles a call under tokio like the blocking handler.
    fn answer(&self, call: OwnedCall) -> Result<(), ReplyError> {
        let len = call.request().len();
        match call.method() {
            ECHO => call.echo(),
            HOLLOW => {
                let mut reply = vec![0; len];
                let few = len.min(HOLLOW_BYTES);
                call.request().slice(..few).copy_to(&mut reply[..few]);
                call.reply(reply)
            }
            SINK => {
                self.tallies.add(call.request());
                Ok(())
            }
            GLANCE => {
                self.tallies.add(call.request().slice(..len.min(HOLLOW_BYTES)));
                Ok(())
            }
            TALLY => {
                let (count, sum) = self.tallies.total();
                call.reply([count.to_le_bytes(), sum.to_le_bytes()].concat())
            }
            _ => call.no_such_method(),
        }
    }
}

/// Returns every message until the client ends the stream.
async fn echo_stream(_method: u32, mut stream: Stream) {
    let mut bytes = Vec::new();
    while let Ok(Some(message)) = stream.receive().await {
        if !message.is_message() {
            continue;
        }
        bytes.clear();
        message.bytes().append_to(&mut bytes);
        drop(message);
        if stream.send(&bytes).await.is_err() {
            return;
        }
    }
}

/// Runs `load` on one session under tokio: a task for each stream, or for each thread of the
/// runtime without streams. Each has one message in flight.
///
/// # Errors
///
/// The first error of a task, a server that takes no streams, or a reply that differs from its
/// request.
pub fn on_tasks(
    load: &Load,
    address: &Address,
    options: &SessionOptions,
    spread: Spread,
    progress: impl FnMut(),
) -> Result<Measurement, Failure> {
    let (size, address, options) = (load.size, address.clone(), options.clone());
    let callers = async move {
        let session = Session::connect_with(&address, &options).await?;
        check_size(size, session.cap())?;
        let mut callers = Vec::new();
        for _ in 0..spread.callers() {
            callers.push(Caller { content: Content::new(size), by: by(&session, spread).await? });
        }
        Ok(callers)
    };
    awaited::run(load, spread.threads as usize, callers, progress)
}

async fn by(session: &Session, spread: Spread) -> Result<By, Failure> {
    Ok(match spread.streams {
        Some(_) => By::Stream(session.open(ECHO).await.map_err(no_stream)?),
        None => By::Calls(session.clone()),
    })
}

struct Caller {
    content: Content,
    by: By,
}

/// A task's means to exchange messages.
enum By {
    Calls(Session),
    Stream(Stream),
}

impl awaited::Caller for Caller {
    async fn call(&mut self, round: u64) -> Result<(), Failure> {
        let request = self.content.request(round);
        let reply = match &mut self.by {
            By::Calls(session) => session.call(ECHO, request).await?,
            By::Stream(stream) => {
                stream.send(request).await?;
                stream.receive().await?.ok_or("the server has ended a stream")?
            }
        };
        self.content.check(reply.bytes(), round)
    }
}
