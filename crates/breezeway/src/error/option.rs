//! Error of an option outside its range.

use std::fmt::Display;
use std::ops::RangeInclusive;

use thiserror::Error;

/// Error returned for an option outside its range, with its name, its value and the allowed values,
/// as in `ring_capacity = 7 is not a power of two in 8..=65536`.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{option} = {value} is not {allowed}")]
pub struct OptionError {
    option: &'static str,
    value: String,
    allowed: &'static str,
}

impl OptionError {
    /// Refuses a value outside its range.
    pub(crate) fn check<T: PartialOrd + Display>(
        option: &'static str,
        value: T,
        range: RangeInclusive<T>,
        allowed: &'static str,
    ) -> Result<(), Self> {
        Self::check_that(range.contains(&value), option, value, allowed)
    }

    /// Refuses a value that is not allowed.
    pub(crate) fn check_that(
        is_allowed: bool,
        option: &'static str,
        value: impl Display,
        allowed: &'static str,
    ) -> Result<(), Self> {
        if is_allowed { Ok(()) } else { Err(Self { option, value: value.to_string(), allowed }) }
    }

    /// Returns the option's name, which is its method's.
    pub fn option(&self) -> &str {
        self.option
    }

    /// Returns the value that was refused.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns the allowed values, such as "in 1..=1024" or "a power of two in 8..=65536".
    pub fn allowed(&self) -> &str {
        self.allowed
    }
}
