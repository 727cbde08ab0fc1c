//! `breezeway bench --follow`: calls of a client that can move to another server.

use std::time::Duration;

use breezeway::{Address, ClientOptions, Pool, SessionOptions};
use breezeway_measure::load::methods::ECHO;
use breezeway_measure::load::{Load, Measurement, Rate, closed_loop, open_loop};
use breezeway_measure::pattern;

use crate::failure::Failure;

/// Time for which a caller that follows waits for an absent server.
const SERVER_WAIT: Duration = Duration::from_secs(10);

/// Measures plain calls, one after the other, of a caller that moves to another server when this
/// one goes away or ends, and repeats the call on which it ended.
pub(crate) fn bench(
    load: &Load,
    address: &Address,
    session: SessionOptions,
) -> Result<Measurement, Failure> {
    let client = connect(address, session, true)?;
    let (mut request, mut reply) = (vec![0; load.size], Vec::new());
    exchange(load, |round| {
        pattern::fill(&mut request, pattern::seed(round));
        let message = match client.call(ECHO, &request) {
            Err(error) if error.may_have_run() => {
                report_repetition();
                client.call(ECHO, &request)?
            }
            message => message?,
        };
        reply.clear();
        message.bytes().append_to(&mut reply);
        check(&reply, request.len(), round)
    })
}

/// Reports a call that is repeated, so that a run without this line had no failed call.
pub(crate) fn report_repetition() {
    eprintln!("breezeway: a server ended during a call, which may have run; it is repeated");
}

pub(crate) fn connect(
    address: &Address,
    session: SessionOptions,
    follows: bool,
) -> Result<Pool, Failure> {
    let options = ClientOptions::new().session(session);
    let options = if follows { options.wait_for_server(SERVER_WAIT) } else { options };
    Ok(Pool::connect_with(address, options)?)
}

pub(crate) fn exchange(
    load: &Load,
    call: impl FnMut(u64) -> Result<(), Failure>,
) -> Result<Measurement, Failure> {
    match load.rate {
        Some(rate) => open_loop(load.extent, Rate(rate), call),
        None => closed_loop(load.extent, call),
    }
}

pub(crate) fn check(reply: &[u8], size: usize, round: u64) -> Result<(), Failure> {
    if reply.len() == size && pattern::matches(reply, pattern::seed(round)) {
        return Ok(());
    }
    let received = reply.len();
    Err(format!("reply {round} ({received} bytes) differs from its request ({size} bytes)").into())
}
