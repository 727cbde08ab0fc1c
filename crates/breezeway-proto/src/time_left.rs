//! Encoding of the time that a caller waits in 16 bits of an entry (`docs/abi.md`, section
//! 4.4): a number of 11 bits, times a power of two, in microseconds.

use std::time::Duration;

/// Number of bits of the number.
const NUMBER_BITS: u32 = 11;
const LARGEST_NUMBER: u64 = (1 << NUMBER_BITS) - 1;
const LARGEST_POWER: u32 = (1 << (16 - NUMBER_BITS)) - 1;

/// Returns the encoding of a time left, rounded up by less than a thousandth or a microsecond.
/// Returns 0 for no time, and for one of more than 50 days.
#[inline]
pub fn encode(time: Option<Duration>) -> u16 {
    let Some(time) = time else { return 0 };
    let micros = u64::try_from(time.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX).max(1);
    let power = (u64::BITS - micros.leading_zeros()).saturating_sub(NUMBER_BITS);
    let rounded = micros.div_ceil(1 << power);
    // Rounding up may have made it one bit longer.
    let (number, power) =
        if rounded > LARGEST_NUMBER { (rounded.div_ceil(2), power + 1) } else { (rounded, power) };
    if power > LARGEST_POWER {
        return 0;
    }
    (power << NUMBER_BITS) as u16 | number as u16
}

/// Returns the time left that an entry holds. Every value is valid.
#[inline]
pub fn decode(coded: u16) -> Option<Duration> {
    let number = u64::from(coded) & LARGEST_NUMBER;
    let power = u32::from(coded) >> NUMBER_BITS;
    (number > 0).then(|| Duration::from_micros(number << power))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn none_and_the_ends_of_the_range() {
        assert_eq!(decode(encode(None)), None);
        assert_eq!(decode(encode(Some(Duration::ZERO))), Some(Duration::from_micros(1)));
        assert_eq!(decode(encode(Some(Duration::from_micros(2_047)))).unwrap().as_micros(), 2_047);
        assert_eq!(decode(encode(Some(Duration::from_micros(2_049)))).unwrap().as_micros(), 2_050);
        let longest = decode(u16::MAX).unwrap();
        assert!(longest > Duration::from_secs(50 * 86_400), "{longest:?}");
        assert_eq!(encode(Some(longest)), u16::MAX);
        assert_eq!(encode(Some(longest + Duration::from_nanos(1))), 0);
        assert_eq!(encode(Some(Duration::MAX)), 0);
    }

    proptest! {
        #[test]
        fn a_time_is_never_shortened_and_hardly_lengthened(
            nanos in 0..50 * 86_400 * 1_000_000_000u64,
        ) {
            let time = Duration::from_nanos(nanos);
            let found = decode(encode(Some(time))).unwrap();
            prop_assert!(found >= time);
            prop_assert!(found <= time + time / 1_000 + Duration::from_micros(1));
        }

        #[test]
        fn every_code_but_those_of_no_time_reads_back(coded: u16) {
            let again = encode(decode(coded));
            prop_assert_eq!(decode(again), decode(coded));
        }
    }
}
