//! Values that an option cannot have.

use std::fmt::Display;
use std::ops::RangeInclusive;

use thiserror::Error;

/// An option has a value that is not possible.
#[derive(Clone, Error, PartialEq, Eq)]
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

    /// Refuses a value that is not possible.
    pub(crate) fn check_that(
        is_possible: bool,
        option: &'static str,
        value: impl Display,
        allowed: &'static str,
    ) -> Result<(), Self> {
        if is_possible { Ok(()) } else { Err(Self::new(option, value, allowed)) }
    }

    /// The value of an option is not what is allowed.
    pub(crate) fn new(option: &'static str, value: impl Display, allowed: &'static str) -> Self {
        Self { option, value: value.to_string(), allowed }
    }

    /// The option's name, which is that of its method.
    pub fn option(&self) -> &str {
        self.option
    }

    /// The value that was refused.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// What is possible.
    pub fn allowed(&self) -> &str {
        self.allowed
    }
}

/// Refusals as their text, for tests of the three kinds of options.
#[cfg(test)]
#[track_caller]
pub(super) fn assert_refused(outcome: Result<(), OptionError>, text: &str) {
    assert_eq!(outcome.unwrap_err().to_string(), text);
}
