//! A connection of a Thrift client, served by a thread.

use std::panic::{AssertUnwindSafe, catch_unwind};

use breezeway::{Carrier, Peer};

use super::incoming::Incoming;
use super::{Receiver, Served, stream};
use crate::call::Call;
use crate::error::Error;
use crate::server::Services;
use crate::thrift::{ExceptionKind, Limits};

/// Serves a connection's requests, one after the other, until its client closes it.
pub(crate) fn serve_connection(services: &Services, mut connection: Incoming) {
    let mut receiver = Receiver::new(Limits::default());
    loop {
        if receiver.begins_with_stream() == Some(true) {
            let peer = connection.peer().clone();
            if let Err(error) = stream::serve(services, connection, &mut receiver) {
                tracing::warn!(?peer, %error, "a Thrift client is refused");
            }
            return;
        }
        match receiver.next() {
            Ok(Some(message)) => {
                connection.note_message();
                let (carrier, peer) = (connection.carrier(), connection.peer().clone());
                let reply = serve(services, carrier, peer, Served::new(message));
                if reply.is_some_and(|reply| connection.write(&reply).is_err()) {
                    return;
                }
            }
            Ok(None) => match connection.read(receiver.room()) {
                Ok(0) | Err(_) => return,
                Ok(count) => receiver.take(count),
            },
            Err(error) => {
                tracing::warn!(peer = ?connection.peer(), %error, "a Thrift client is refused");
                if let Some(refusal) = error.refusal() {
                    // Fails if it is gone.
                    let _ = connection.write(&refusal);
                }
                return;
            }
        }
    }
}

/// Serves a request; gives the reply if there is one.
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
            let service = services.service(asked.found);
            let mut call = Call::new(&mut served);
            // A handler's panic fails its call, and nothing of ours is left half done by it.
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                service.dispatch(asked.found.method, &asked.context, &mut call)
            }));
            let panicked = Error::new(ExceptionKind::INTERNAL_ERROR, "the handler panicked");
            (outcome.unwrap_or(Err(panicked)), Some(asked.context), asked.oneway)
        }
    };
    if oneway {
        if let Err(error) = outcome {
            tracing::warn!(%error, "a oneway call failed");
        }
        return None;
    }
    Some(served.finish(outcome, context.as_ref()))
}
