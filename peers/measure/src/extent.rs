//! How long a measurement runs.

/// A number of round trips or a time.
#[derive(Debug, Clone, Copy, PartialEq, clap::Args)]
pub struct Extent {
    /// End after this many round trips
    #[arg(long, value_name = "N", conflicts_with = "seconds", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// End after this time
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = parse_seconds)]
    pub seconds: f64,
}

/// A day: longer is a typing error.
const LONGEST: f64 = 86_400.0;

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if seconds > 0.0 && seconds <= LONGEST => Ok(seconds),
        _ => Err(format!("expected a number of seconds above 0 and up to {LONGEST}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_positive_and_finite() {
        assert_eq!(parse_seconds("0.25"), Ok(0.25));
        for text in ["", "0", "-1", "NaN", "inf", "1e9", "5s"] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
    }
}
