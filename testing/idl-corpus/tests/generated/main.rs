//! The generated types of the whole corpus, used.

mod apache;
mod bytes;
mod decoding_cost;
mod example;
mod needs_go;
mod round_trip;
mod rustfmt;
mod unions;
mod writers;
