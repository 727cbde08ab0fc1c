//! How the project measures calls between two processes of one machine.
#![deny(unsafe_code)]

pub mod floor;
pub mod pattern;
