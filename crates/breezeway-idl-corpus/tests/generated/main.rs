//! The generated types of the whole corpus, used.

mod message;
mod round_trip;
mod writers;
