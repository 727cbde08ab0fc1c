//! The first gear: HTTP/2 by tonic and hyper.

mod client;
mod settings;

pub(crate) use client::exchange;
pub(crate) use settings::{client, server};
