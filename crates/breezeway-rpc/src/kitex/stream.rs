//! Kitex's streams, with blocking handlers and callers.

mod client;
mod room;
mod server;

pub(crate) use client::{Replies, Requests};
pub(super) use room::{Place, Room};
pub(super) use server::serve;
pub(crate) use server::{Replies as ServedReplies, Requests as ServedRequests};
