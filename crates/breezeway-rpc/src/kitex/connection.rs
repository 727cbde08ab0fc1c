//! A connection of a Thrift client, served by a thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use breezeway::{Carrier, Peer};

use super::connections::Place;
use super::incoming::Incoming;
use super::output::Output;
use super::{Receiver, Served, side_by_side, stream};
use crate::call::Call;
use crate::error::Error;
use crate::server::Services;
use crate::thrift::{ExceptionKind, Limits};

/// Serves a connection's requests until its client closes it.
///
/// A client that uses TTHeader finds its replies by their numbers, as a multiplexed one of Kitex
/// does: its requests are served side by side. Others expect replies in order, and are served one
/// request after the other.
///
/// Threads that serve requests side by side keep `client` until they end.
pub(super) fn serve_connection(
    services: &Arc<Services>,
    connection: Incoming,
    client: &Arc<Place>,
) {
    let peer = connection.peer().clone();
    if let Err(error) = serve_requests(services, connection, client) {
        tracing::warn!(?peer, error = %breezeway::describe(&error), "a Thrift client is refused");
    }
}

fn serve_requests(
    services: &Arc<Services>,
    mut connection: Incoming,
    client: &Arc<Place>,
) -> Result<(), Error> {
    let mut receiver = Receiver::new(Limits::default());
    loop {
        if receiver.begins_with_stream() == Some(true) {
            let client = (connection.carrier(), connection.peer().clone());
            let (socket, mut alone) = connection.shared()?;
            let output = Arc::new(Output::new(socket));
            return stream::serve(services, &output, &mut alone, client, &mut receiver);
        }
        match receiver.next() {
            Ok(Some(message)) if message.header.is_some() => {
                connection.note_message();
                return side_by_side::serve(services, connection, client, receiver, message);
            }
            Ok(Some(message)) => {
                connection.note_message();
                let (carrier, peer) = (connection.carrier(), connection.peer().clone());
                let reply = serve(services, carrier, peer, Served::new(message));
                if reply.is_some_and(|reply| connection.write(&reply).is_err()) {
                    return Ok(());
                }
            }
            Ok(None) => match connection.read(receiver.room()) {
                Ok(0) | Err(_) => return Ok(()),
                Ok(count) => receiver.take(count),
            },
            Err(error) => {
                if let Some(refusal) = error.refusal() {
                    // Fails if the client is gone.
                    let _ = connection.write(&refusal);
                }
                return Err(Error::wire(error));
            }
        }
    }
}

/// Serves a request. Returns the reply if there is one.
pub(super) fn serve(
    services: &Services,
    carrier: Carrier,
    peer: Peer,
    mut served: Served,
) -> Option<Vec<u8>> {
    let asked = served.asked(&services.registry, carrier, peer);
    let (outcome, context, oneway) = match asked {
        Err(error) => (Err(error), None, served.is_oneway()),
        Ok(asked) => {
            let mut call = Call::new(&mut served);
            // A handler's panic fails its call, and leaves no state of this crate inconsistent.
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                services.dispatch(asked.found, &asked.context, &mut call)
            }));
            let panicked = Error::new(ExceptionKind::INTERNAL_ERROR, "the handler panicked");
            (outcome.unwrap_or(Err(panicked)), Some(asked.context), asked.oneway)
        }
    };
    if oneway {
        if let Err(error) = outcome {
            tracing::warn!(error = %breezeway::describe(&error), "a oneway call failed");
        }
        return None;
    }
    Some(served.finish(outcome, context.as_ref()))
}
