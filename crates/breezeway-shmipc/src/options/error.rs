//! Invalid values of options.

use std::fmt::Display;
use std::ops::RangeInclusive;

use thiserror::Error;

/// Error for an option with an invalid value.
#[derive(Clone, Error, PartialEq, Eq)]
#[error("{option} = {value} is not {allowed}")]
pub struct OptionError {
    option: &'static str,
    value: String,
    allowed: &'static str,
}

impl OptionError {
    /// Fails if a value is outside its range.
    pub(crate) fn check<T: PartialOrd + Display>(
        option: &'static str,
        value: T,
        range: RangeInclusive<T>,
        allowed: &'static str,
    ) -> Result<(), Self> {
        Self::check_that(range.contains(&value), option, value, allowed)
    }

    /// Fails if a value is invalid.
    pub(crate) fn check_that(
        is_possible: bool,
        option: &'static str,
        value: impl Display,
        allowed: &'static str,
    ) -> Result<(), Self> {
        if is_possible { Ok(()) } else { Err(Self::new(option, value, allowed)) }
    }

    /// Creates the error for a value of an option.
    pub(crate) fn new(option: &'static str, value: impl Display, allowed: &'static str) -> Self {
        Self { option, value: value.to_string(), allowed }
    }

    /// Returns the option's name, which is that of its method.
    pub fn option(&self) -> &str {
        self.option
    }

    /// Returns the rejected value.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns a description of the allowed values.
    pub fn allowed(&self) -> &str {
        self.allowed
    }
}

/// Checks the text of a refusal, for tests of the three kinds of options.
#[cfg(test)]
#[track_caller]
pub(super) fn assert_refused(outcome: Result<(), OptionError>, text: &str) {
    assert_eq!(outcome.unwrap_err().to_string(), text);
}
