//! What can be set, of sessions, servers and clients: one type for each, with a range for each value.

mod client;
mod server;
mod session;

use thiserror::Error;

pub use client::ClientOptions;
pub use server::ServerOptions;
pub use session::SessionOptions;

/// A setting outside its range: which, its value, and what is allowed.
#[derive(Clone, Error, PartialEq, Eq)]
#[error("{option} = {value} is not possible: {allowed}")]
pub struct OptionError {
    option: &'static str,
    value: String,
    allowed: &'static str,
}

impl OptionError {
    /// Refuses a value outside its range.
    fn check<T: PartialOrd + std::fmt::Display>(
        option: &'static str,
        value: T,
        range: std::ops::RangeInclusive<T>,
        allowed: &'static str,
    ) -> Result<(), Self> {
        Self::check_that(range.contains(&value), option, value, allowed)
    }

    /// Refuses a value that is not possible.
    fn check_that(
        possible: bool,
        option: &'static str,
        value: impl std::fmt::Display,
        allowed: &'static str,
    ) -> Result<(), Self> {
        if possible { Ok(()) } else { Err(Self { option, value: value.to_string(), allowed }) }
    }

    /// The option's name, which is its method's.
    pub fn option(&self) -> &str {
        self.option
    }

    /// The value that was refused.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// What is allowed instead.
    pub fn allowed(&self) -> &str {
        self.allowed
    }
}
