//! How several readings of one thing lie.

use serde::Serialize;

/// The five numbers that describe readings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The least.
    pub min: f64,
    /// A quarter lies below.
    pub q1: f64,
    /// Half lies below.
    pub median: f64,
    /// Three quarters lie below.
    pub q3: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// The spread of `readings`, `None` of nothing.
    pub fn of(readings: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = readings.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let at = |share| quantile(&sorted, share);
        Some(Self { min, q1: at(0.25), median: at(0.5), q3: at(0.75), max })
    }
}

/// The median, `None` of nothing.
pub fn median(readings: impl IntoIterator<Item = f64>) -> Option<f64> {
    Spread::of(readings).map(|spread| spread.median)
}

/// The quantile between the two nearest of `sorted`, which is not empty.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    low + (high - low) * position.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_spread() {
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn one_reading_is_all_five() {
        let all = Spread { min: 7.0, q1: 7.0, median: 7.0, q3: 7.0, max: 7.0 };
        assert_eq!(Spread::of([7.0]), Some(all));
    }

    #[test]
    fn quartiles_lie_between_readings() {
        let spread = Spread::of([4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((spread.q1, spread.median, spread.q3), (1.75, 2.5, 3.25));
    }
}
