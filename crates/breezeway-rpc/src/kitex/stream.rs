//! Kitex's streams, with handlers and callers that block.

mod client;
mod room;
mod server;

pub(crate) use client::{Replies, Requests};
pub(super) use room::{Place, Room};
pub(super) use server::serve;
pub(crate) use server::{Replies as ServedReplies, Requests as ServedRequests};
