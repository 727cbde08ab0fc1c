//! Figures for people: three significant digits and a unit.

/// A size, as in `64 KiB`.
#[must_use]
pub fn bytes(size: usize) -> String {
    const UNITS: [(usize, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = UNITS.iter().find(|(unit, _)| size >= *unit && size.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{size} B"), |(unit, name)| format!("{} {name}", size / unit))
}

/// Three significant digits, without an exponent.
#[must_use]
pub fn significant(number: f64) -> String {
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
#[must_use]
pub fn duration(nanoseconds: f64) -> String {
    scaled(nanoseconds, &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")])
}

/// A duration given in nanoseconds, in µs without the unit.
#[must_use]
pub fn microseconds(nanoseconds: f64) -> String {
    let number = nanoseconds / 1e3;
    if number < 0.9995 { format!("{number:.3}") } else { significant(number) }
}

/// A share of 1, in percent without the sign.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}

/// Messages a second.
#[must_use]
pub fn rate(per_second: f64) -> String {
    scaled(per_second, &[(1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s")])
}

/// Bytes a second.
#[must_use]
pub fn throughput(per_second: f64) -> String {
    const UNITS: [(f64, &str); 5] =
        [(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s"), (1e12, "TB/s")];
    scaled(per_second, &UNITS)
}

/// A figure without the digits after a point that are zero: for the ticks of an axis.
#[must_use]
pub fn round(figure: &str) -> String {
    let (number, unit) = figure.split_once(' ').unwrap_or((figure, ""));
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    };
    format!("{number} {unit}").trim_end().to_owned()
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
        assert_eq!(throughput(9.5559e9), "9.56 GB/s");
        assert_eq!(throughput(0.0), "0.00 B/s");
        assert_eq!(rate(13_431_906.0), "13.4 M/s");
    }

    #[test]
    fn microseconds_have_three_digits() {
        let shown = [84.4, 999.6, 12_345.6, 4_321_000.0].map(microseconds);
        assert_eq!(shown, ["0.084", "1.00", "12.3", "4321"]);
        assert_eq!([0.0, 0.0123, 0.433, 1.0].map(percent), ["0.0", "1.2", "43", "100"]);
    }

    #[test]
    fn tick_labels_have_no_trailing_zeros() {
        let shown = ["1.00 µs", "10.0 ns", "100 ns", "0.50", "2.50 GB/s"].map(round);
        assert_eq!(shown, ["1 µs", "10 ns", "100 ns", "0.5", "2.5 GB/s"]);
    }
}
