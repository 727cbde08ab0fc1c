//! The first gear: HTTP/2 by tonic and hyper.

mod authority;
mod calls;
mod client;
mod frame;
mod hpack;
mod keepalive;
mod opening;
mod progress;
mod refusals;
mod server;
mod settings;

pub(crate) use authority::Rewriter;
pub(crate) use client::exchange;
pub(crate) use opening::Opened;
pub(crate) use progress::Progress;
pub(crate) use refusals::Refusals;
pub(crate) use server::{Limits, serve};
pub(crate) use settings::client;
