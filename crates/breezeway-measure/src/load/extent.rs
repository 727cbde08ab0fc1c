//! How long a measurement runs.

/// A number of messages or a time.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Extent {
    /// End after this many round trips
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "N",
            conflicts_with = "seconds",
            value_parser = clap::value_parser!(u64).range(1..),
        )
    )]
    pub count: Option<u64>,
    /// End after this many seconds
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "S",
            default_value_t = Extent::DEFAULT_SECONDS,
            value_parser = Extent::parse_seconds,
        )
    )]
    pub seconds: f64,
}

/// A day: longer is a typing error.
const LONGEST: f64 = 86_400.0;

impl Extent {
    /// Default time of a run in seconds.
    pub const DEFAULT_SECONDS: f64 = 5.0;

    /// Parses seconds of a command line.
    ///
    /// # Errors
    ///
    /// Returns a message with the expected format.
    pub fn parse_seconds(text: &str) -> Result<f64, String> {
        match text.parse() {
            Ok(seconds) if seconds > 0.0 && seconds <= LONGEST => Ok(seconds),
            _ => Err(format!("expected a number of seconds above 0 and up to {LONGEST}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_positive_and_finite() {
        assert_eq!(Extent::parse_seconds("0.25"), Ok(0.25));
        for text in ["", "0", "-1", "NaN", "inf", "1e9", "5s"] {
            assert!(Extent::parse_seconds(text).is_err(), "{text}");
        }
    }
}
