//! Scales and their ticks.

/// Conversion of values to shares of an axis, 0 at its beginning and 1 at its end.
#[derive(Debug)]
pub(crate) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    pub(crate) title: String,
    pub(crate) ticks: Vec<Tick>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    Linear,
    Logarithmic,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// Factor by which an axis extends beyond its lowest and its highest value.
const MARGIN: f64 = 1.15;
/// An axis with fewer decades than this has ticks between them too.
const FEW_DECADES: f64 = 3.2;

impl Axis {
    /// A logarithmic axis for `values`, which are positive, with ticks at decades or between.
    pub(crate) fn logarithmic(
        title: &str,
        values: impl Iterator<Item = f64>,
        label: impl Fn(f64) -> String,
    ) -> Self {
        let (low, high) = bounds(values);
        let (low, high) = (low / MARGIN, high * MARGIN);
        let few = (high / low).log10() < FEW_DECADES;
        let steps: &[f64] = if few { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let ticks = logarithmic_ticks(low, high, steps);
        let ticks = ticks.into_iter().map(|value| Tick { value, label: label(value) }).collect();
        Self { scale: Scale::Logarithmic, low, high, title: title.to_owned(), ticks }
    }

    /// A logarithmic axis with a tick at each of `values`, which are positive and ascending.
    pub(crate) fn at(title: &str, values: &[f64], label: impl Fn(f64) -> String) -> Self {
        let (low, high) = bounds(values.iter().copied());
        let ticks = values.iter().map(|&value| Tick { value, label: label(value) }).collect();
        Self { scale: Scale::Logarithmic, low, high, title: title.to_owned(), ticks }
    }

    /// An axis of names at 0, 1, 2 …
    pub(crate) fn of_names(title: &str, names: &[&str]) -> Self {
        let tick =
            |(index, name): (usize, &&str)| Tick { value: index as f64, label: (*name).to_owned() };
        let ticks = names.iter().enumerate().map(tick).collect();
        let high = names.len().saturating_sub(1) as f64;
        Self { scale: Scale::Linear, low: 0.0, high, title: title.to_owned(), ticks }
    }

    /// Returns the position of `value` from 0 to 1; an axis of a single value has it in the middle.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let place = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.ln(),
        };
        let (low, high) = (place(self.low), place(self.high));
        if high <= low { 0.5 } else { (place(value) - low) / (high - low) }
    }
}

/// The smallest and the largest of `values`; 1 to 10 of none.
fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let both = values
        .fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
    if both.0 <= both.1 { both } else { (1.0, 10.0) }
}

/// `steps` times the powers of ten from `low` to `high`.
fn logarithmic_ticks(low: f64, high: f64, steps: &[f64]) -> Vec<f64> {
    let decades = low.log10().floor() as i32..=high.log10().floor() as i32;
    let all = decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
    all.filter(|value| (low..=high).contains(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(axis: &Axis) -> Vec<f64> {
        axis.ticks.iter().map(|tick| tick.value).collect()
    }

    #[test]
    fn wide_ranges_have_ticks_at_decades_and_narrow_ones_between() {
        let wide = Axis::logarithmic("", [90.0, 2e6].into_iter(), |value| value.to_string());
        assert_eq!(values(&wide), [1e2, 1e3, 1e4, 1e5, 1e6]);
        let narrow = Axis::logarithmic("", [0.9, 4.0].into_iter(), |value| value.to_string());
        assert_eq!(values(&narrow), [1.0, 2.0]);
    }

    #[test]
    fn value_lies_on_axis_and_equal_ratios_are_equal_distances() {
        let axis = Axis::logarithmic("", [1.0, 10.0, 100.0].into_iter(), |_| String::new());
        let [first, second, third] = [1.0, 10.0, 100.0].map(|value| axis.share(value));
        assert!(first > 0.0 && third < 1.0);
        assert!((second - first - (third - second)).abs() < 1e-9);
    }

    #[test]
    fn given_values_reach_from_end_to_end() {
        let axis = Axis::at("", &[8.0, 64.0, 512.0], |value| value.to_string());
        let shares: Vec<f64> = values(&axis).into_iter().map(|value| axis.share(value)).collect();
        assert!((shares[0], shares[2]) == (0.0, 1.0) && (shares[1] - 0.5).abs() < 1e-9);
    }

    #[test]
    fn names_are_evenly_apart() {
        let axis = Axis::of_names("", &["p50", "p90", "p99"]);
        assert_eq!([0.0, 1.0, 2.0].map(|value| axis.share(value)), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn one_value_and_none_are_no_trouble() {
        assert_eq!(Axis::at("", &[64.0], |_| String::new()).share(64.0), 0.5);
        let empty = Axis::logarithmic("", std::iter::empty(), |_| String::new());
        assert!((0.0..=1.0).contains(&empty.share(5.0)));
    }
}
