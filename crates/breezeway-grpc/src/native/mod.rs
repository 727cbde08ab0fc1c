//! The second gear: calls as streams of a session, without HTTP/2.

pub(crate) mod block;
mod client;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod inbound;
mod outbound;
mod server;
#[cfg(test)]
mod vectors;

pub(crate) use client::{Failure, exchange};
pub(crate) use outbound::status_trailers;
pub(crate) use server::Serving;
