//! Breezeway through its public API.

use super::Exchange;
use super::work::{FEW, Work, all_are};
use breezeway::{
    Address, Call, ExclusiveSession, ForeignBytes, Handled, Server, ServerOptions, SessionOptions,
    TrustedPeer, WaitPolicy,
};
use breezeway_measure::Failure;
use breezeway_measure::process::ending::{self, Activity};
use std::path::Path;

const METHOD: u32 = 0;

fn options() -> SessionOptions {
    SessionOptions::new().wait(WaitPolicy::Busy)
}

fn proof() -> TrustedPeer {
    // SAFETY: both sides are this program, and neither writes a payload that it has lent.
    unsafe { TrustedPeer::assume() }
}

/// Answers requests until a signal ends it.
pub(crate) fn serve(path: &Path, work: Work, trusted: bool) -> Result<(), Failure> {
    let session = if trusted { options().trust(|_| Some(proof())) } else { options() };
    let options = ServerOptions::new().session(session);
    let server = Server::bind_with(&Address::shm(path), options)?;
    let stopper = server.stopper();
    // Started by the process that measures, which ends it.
    ending::watch(&Activity::default(), move || stopper.stop())?;
    println!("listening on {}", server.address());
    Ok(server.serve(move |call: Call<'_>| answer(work, call))?)
}

fn answer(work: Work, call: Call<'_>) -> Handled {
    let byte = check(work, call.request(), None)?;
    let mut reply = call.reserve(work.size)?;
    work.set(reply.bytes_mut(), Work::response(byte));
    reply.commit()
}

/// Returns the function that makes round trips over a session.
pub(crate) fn requester(path: &Path, work: Work, trusted: bool) -> Result<Exchange, Failure> {
    let session = ExclusiveSession::connect_with(&Address::shm(path), &options())?;
    let mut session = if trusted { session.trusting(proof()) } else { session };
    Ok(Box::new(move |round| {
        let byte = Work::request(round);
        let mut request = session.reserve(work.size)?;
        work.set(request.bytes_mut(), byte);
        let reply = request.call(METHOD)?;
        check(work, reply.bytes(), Some(Work::response(byte)))?;
        Ok(())
    }))
}

/// Reads and checks a payload line by line, which its writer may still change. Returns the byte
/// that fills it, which must be `expected` if that is given.
fn check(work: Work, payload: ForeignBytes<'_>, expected: Option<u8>) -> Result<u8, Failure> {
    let few = payload.array_at::<FEW>(0).ok_or("a payload that is too short")?;
    let byte = expected.unwrap_or(few[0]);
    let check = |bytes: &[u8]| if all_are(bytes, byte) { Ok(()) } else { Err(()) };
    let same = if work.is_touched() {
        payload.try_for_each_line(check).is_ok()
    } else {
        check(&few).is_ok()
    };
    let right = payload.len() == work.size && same;
    if right { Ok(byte) } else { Err("a payload is not what was sent".into()) }
}
