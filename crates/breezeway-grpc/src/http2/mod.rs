//! The first gear: HTTP/2 by tonic and hyper.

mod authority;
mod client;
mod frame;
mod hpack;
mod opening;
mod refusals;
mod server;
mod settings;
mod transport;

pub(crate) use authority::Rewriter;
pub(crate) use client::exchange;
pub(crate) use opening::Opened;
pub(crate) use refusals::Refusals;
pub(crate) use server::{Limits, serve};
pub(crate) use settings::client;
