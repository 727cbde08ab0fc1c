//! Figures for people: three significant digits and a unit.

/// Three significant digits, without an exponent.
pub(super) fn significant(number: f64) -> String {
    match number.abs() {
        below if below < 9.995 => format!("{number:.2}"),
        below if below < 99.95 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

fn scaled(number: f64, units: &[(f64, &str)]) -> String {
    let unit = units.iter().rev().find(|(size, _)| number >= *size * 0.9995).unwrap_or(&units[0]);
    format!("{} {}", significant(number / unit.0), unit.1)
}

/// A duration given in nanoseconds.
pub(super) fn duration(nanoseconds: f64) -> String {
    scaled(nanoseconds, &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")])
}

/// Messages a second.
pub(super) fn rate(per_second: f64) -> String {
    scaled(per_second, &[(1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_kept() {
        let shown: Vec<_> = [0.014, 1.417, 29.06, 391.4, 12_345.6].map(significant).into();
        assert_eq!(shown, ["0.01", "1.42", "29.1", "391", "12346"]);
    }

    #[test]
    fn the_unit_fits_the_size() {
        assert_eq!(duration(121.4), "121 ns");
        assert_eq!(duration(999.9), "1.00 µs");
        assert_eq!(duration(4_321_000.0), "4.32 ms");
        assert_eq!(rate(13_431_906.0), "13.4 M/s");
    }
}
