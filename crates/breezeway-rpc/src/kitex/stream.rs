//! Kitex's streams, with handlers and callers that block.

mod client;
mod room;
mod server;

pub(crate) use client::{Replies, Requests};
pub(crate) use server::{Replies as ServedReplies, Requests as ServedRequests, serve};
