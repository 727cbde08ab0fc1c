//! `breezeway bench --protocol grpc`: the meaning of its options there.

use breezeway_grpc::Endpoint;
use breezeway_measure::load::{Measurement, Pattern, Touch};

use super::{Args, Progress};
use crate::failure::Failure;
use crate::grpc;

/// Returns an error for options that calls of gRPC do not support.
pub(super) fn check(args: &Args) -> Result<(), Failure> {
    args.protocol.address(&args.addr)?;
    args.shmipc.refuse()?;
    let asked = [
        (args.follow, "--follow"),
        (args.pattern != Pattern::PingPong, "--pattern"),
        (args.rate.is_some(), "--rate"),
        (args.sessions > 1, "--sessions"),
        (args.streams.is_some(), "--streams"),
        (args.touch == Touch::None, "--touch none"),
    ];
    match asked.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(format!("{option} does not go with --protocol grpc").into()),
        None => Ok(()),
    }
}

/// Calls a server of gRPC.
pub(super) fn measure(args: &Args) -> Result<Measurement, Failure> {
    let mut endpoint = Endpoint::new(args.protocol.address(&args.addr)?.to_string())?;
    endpoint = endpoint.session(args.session.options());
    if let Some(timeout) = args.session.handshake_timeout {
        endpoint = endpoint.connect_timeout(timeout);
    }
    let progress = Progress::new(args);
    let (load, gear) = (args.load(), args.gear.unwrap_or_default());
    grpc::bench::run(&load, args.size.is_none(), gear, args.threads, endpoint, || progress.show())
}
