//! Values as people write them, each checked against its range: the same for flags, environment and
//! file.

use std::time::Duration;

use breezeway::unstable::Tuning as _;
use breezeway::{OptionError, ServerOptions, SessionOptions};
use bytesize::ByteSize;
use clap::ValueEnum;
use clap::builder::RangedI64ValueParser;

use breezeway_measure::Wait;

type Parsed<T> = Result<T, String>;

/// Returns the message for a value that an option refuses, to follow the value.
fn refused(error: OptionError) -> String {
    format!("it is not {}", error.allowed())
}

fn of_session<T: Copy>(value: T, set: fn(SessionOptions, T) -> SessionOptions) -> Parsed<T> {
    set(SessionOptions::new(), value).validate().map_err(refused)?;
    Ok(value)
}

fn of_server<T: Copy>(value: T, set: fn(ServerOptions, T) -> ServerOptions) -> Parsed<T> {
    set(ServerOptions::new(), value).validate().map_err(refused)?;
    Ok(value)
}

/// Parses a number of bytes, with or without a unit. A number that overflows becomes the largest
/// one, which no limit allows, so that the error names the limit.
fn bytes(text: &str) -> Parsed<u64> {
    // Plain numbers by themselves: the other parser rounds large ones.
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(text.parse().unwrap_or(u64::MAX));
    }
    let size: Result<ByteSize, _> = text.parse();
    size.map(|size| size.as_u64())
        .map_err(|_| "expected bytes, such as 65536, 256KiB or 64MiB".to_owned())
}

/// The largest cap that a session can have, and so the largest message.
const LARGEST_MESSAGE: u64 = 1 << 40;

/// The size of a message.
pub(crate) fn size(text: &str) -> Parsed<usize> {
    let size = Some(bytes(text)?).filter(|size| *size <= LARGEST_MESSAGE);
    size.and_then(|size| usize::try_from(size).ok())
        .ok_or_else(|| format!("allowed is at most {:.0}", ByteSize(LARGEST_MESSAGE)))
}

/// The size of a message that has at least one byte and at most `MOST`.
pub(crate) fn size_up_to<const MOST: u32>(text: &str) -> Parsed<u32> {
    let size = u32::try_from(bytes(text)?).ok().filter(|size| (1..=MOST).contains(size));
    size.ok_or_else(|| format!("it is not within 1 byte to {:.0}", ByteSize(MOST.into())))
}

/// A number from 1 to `most`.
pub(crate) fn up_to(most: u32) -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=most.into())
}

fn time(text: &str) -> Parsed<Duration> {
    humantime::parse_duration(text)
        .map_err(|_| "expected a time with its unit, such as 100us, 50ms or 1s".to_owned())
}

fn number<T: std::str::FromStr>(text: &str) -> Parsed<T> {
    text.parse().map_err(|_| "expected a whole number".to_owned())
}

pub(crate) fn wait(text: &str) -> Parsed<Wait> {
    Wait::from_str(text, false).map_err(|_| "allowed is busy, adaptive or park".to_owned())
}

pub(crate) fn spin_bound(text: &str) -> Parsed<Duration> {
    of_session(time(text)?, SessionOptions::spin_bound)
}

pub(crate) fn cap(text: &str) -> Parsed<u64> {
    of_session(bytes(text)?, SessionOptions::cap)
}

pub(crate) fn prefault(text: &str) -> Parsed<u64> {
    of_session(bytes(text)?, SessionOptions::prefault)
}

pub(crate) fn shrink_after(text: &str) -> Parsed<Duration> {
    of_session(time(text)?, SessionOptions::shrink_after)
}

/// Largest number of bytes in flight, if that is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnderWay(pub(crate) Option<u64>);

pub(crate) fn under_way(text: &str) -> Parsed<UnderWay> {
    let set = if text == "auto" { None } else { Some(bytes(text)?) };
    of_session(set, SessionOptions::under_way).map(UnderWay)
}

pub(crate) fn ring_capacity(text: &str) -> Parsed<u32> {
    of_session(number(text)?, SessionOptions::ring_capacity)
}

pub(crate) fn handshake_timeout(text: &str) -> Parsed<Duration> {
    of_session(time(text)?, SessionOptions::handshake_timeout)
}

/// Time limit of a call, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallTimeout(pub(crate) Option<Duration>);

pub(crate) fn call_timeout(text: &str) -> Parsed<CallTimeout> {
    let timeout = if text == "none" { None } else { Some(time(text)?) };
    of_session(timeout, SessionOptions::call_timeout).map(CallTimeout)
}

pub(crate) fn workers(text: &str) -> Parsed<usize> {
    of_server(number(text)?, ServerOptions::workers)
}

pub(crate) fn offload(text: &str) -> Parsed<usize> {
    of_server(number(text)?, ServerOptions::offload)
}

pub(crate) fn drain(text: &str) -> Parsed<Duration> {
    of_server(time(text)?, ServerOptions::drain_timeout)
}

pub(crate) fn max_sessions(text: &str) -> Parsed<usize> {
    of_server(number(text)?, ServerOptions::max_sessions)
}

/// Memory limit of clients, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaxMemory(pub(crate) Option<u64>);

fn limit_of_memory(text: &str, set: fn(ServerOptions, u64) -> ServerOptions) -> Parsed<MaxMemory> {
    match text {
        "none" => Ok(MaxMemory(None)),
        _ => of_server(bytes(text)?, set).map(|bytes| MaxMemory(Some(bytes))),
    }
}

pub(crate) fn max_memory(text: &str) -> Parsed<MaxMemory> {
    limit_of_memory(text, ServerOptions::max_memory)
}

pub(crate) fn max_memory_of_user(text: &str) -> Parsed<MaxMemory> {
    limit_of_memory(text, ServerOptions::max_memory_of_user)
}

pub(crate) fn max_calls_in_flight(text: &str) -> Parsed<usize> {
    of_server(number(text)?, ServerOptions::max_calls_in_flight)
}

/// Permission bits in octal, as chmod(1) takes them.
pub(crate) fn socket_mode(text: &str) -> Parsed<u32> {
    let digits = text.strip_prefix("0o").unwrap_or(text);
    let mode = u32::from_str_radix(digits, 8)
        .map_err(|_| "expected permission bits in octal, such as 0600".to_owned())?;
    of_server(mode, ServerOptions::socket_mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MORE_THAN_CAN_BE_COUNTED: [&str; 6] = [
        "18446744073709551616",
        "18446744073709551616B",
        "16EiB",
        "20EiB",
        "99999999999.5EB",
        "340282366920938463463374607431768211456",
    ];

    #[test]
    fn bytes_have_units_of_people_or_none() {
        for (text, expected) in [
            ("1", 1),
            ("65536", 65536),
            ("256KiB", 256 << 10),
            ("256 KiB", 256 << 10),
            ("64MiB", 64 << 20),
            ("1.5GiB", 3 << 29),
            ("1TiB", 1 << 40),
            ("10MB", 10_000_000),
            ("1.50KiB", 1536),
            ("0.5KiB", 512),
            (".5KiB", 512),
        ] {
            assert_eq!(cap(text), Ok(expected), "{text}");
        }
        for text in
            ["", "-1", ".", ".KiB", "1.2.3MiB", "many", "64 frogs", "MiB", "1e3", "0x10", "-1KiB"]
        {
            let reason = cap(text).unwrap_err();
            assert!(reason.contains("such as 65536, 256KiB"), "{text}: {reason}");
        }
        for text in ["0", "0MiB", "2TiB", "99999999999999999", "18446744073709551615"]
            .into_iter()
            .chain(MORE_THAN_CAN_BE_COUNTED)
        {
            assert_eq!(cap(text).unwrap_err(), "it is not within 1 byte to 1 TiB", "{text}");
        }
    }

    #[test]
    fn sizes_of_messages_are_bytes_within_their_range() {
        assert_eq!((size("0"), size("64KiB"), size("1.5MB")), (Ok(0), Ok(65536), Ok(1_500_000)));
        assert_eq!(size_up_to::<4096>("4KiB"), Ok(4096));
        for text in
            ["0", "4097", "5KiB", "4GiB", "8TiB"].into_iter().chain(MORE_THAN_CAN_BE_COUNTED)
        {
            assert_eq!(size_up_to::<4096>(text).unwrap_err(), "it is not within 1 byte to 4 KiB");
        }
        assert!(size_up_to::<4096>("4 frogs").unwrap_err().contains("such as 65536, 256KiB"));
    }

    #[test]
    fn sizes_of_messages_go_up_to_the_largest_cap() {
        assert_eq!((size("1TiB"), cap("1TiB")), (Ok(1 << 40), Ok(LARGEST_MESSAGE)));
        for text in ["1099511627777", "1.5TiB"].into_iter().chain(MORE_THAN_CAN_BE_COUNTED) {
            assert_eq!(size(text).unwrap_err(), "allowed is at most 1 TiB", "{text}");
            assert!(cap(text).is_err());
        }
    }

    #[test]
    fn limits_of_memory_are_bytes_or_none() {
        for limit in [max_memory, max_memory_of_user] {
            assert_eq!(limit("none"), Ok(MaxMemory(None)));
            assert_eq!(limit("2GiB"), Ok(MaxMemory(Some(2 << 30))));
            assert_eq!(limit("9223372036854775808"), Ok(MaxMemory(Some(1 << 63))));
            for text in ["0", "9223372036854775809"].into_iter().chain(MORE_THAN_CAN_BE_COUNTED) {
                let reason = limit(text).unwrap_err();
                assert_eq!(reason, "it is not within 1 byte to 2^63 bytes", "{text}");
            }
            assert!(limit("some").unwrap_err().contains("such as 65536, 256KiB"));
        }
    }

    #[test]
    fn times_have_units() {
        for (text, nanoseconds) in
            [("100us", 100_000), ("1s", 1_000_000_000), ("2ms 5us", 2_005_000), ("0s", 0)]
        {
            assert_eq!(spin_bound(text), Ok(Duration::from_nanos(nanoseconds)), "{text}");
        }
        for text in ["", "100", "-1s", "soon", "1 fortnight", "99999999999999999999s"] {
            let reason = spin_bound(text).unwrap_err();
            assert!(reason.contains("such as 100us"), "{text}: {reason}");
        }
        assert_eq!(spin_bound("2s").unwrap_err(), "it is not within 0 s to 1 s");
        assert_eq!(shrink_after("61min").unwrap_err(), "it is not within 0 s to 1 h");
        for text in ["0s", "2h"] {
            assert_eq!(handshake_timeout(text).unwrap_err(), "it is not within 1 ns to 1 h");
        }
        assert_eq!(call_timeout("none"), Ok(CallTimeout(None)));
        assert_eq!(call_timeout("3s"), Ok(CallTimeout(Some(Duration::from_secs(3)))));
        assert_eq!(call_timeout("0s").unwrap_err(), "it is not at least 1 ns, or none");
    }

    #[test]
    fn numbers_have_ranges() {
        assert_eq!((ring_capacity("8"), workers("1024")), (Ok(8), Ok(1024)));
        for text in ["7", "0", "131072", "100"] {
            assert_eq!(ring_capacity(text).unwrap_err(), "it is not a power of two in 8..=65536");
        }
        for text in ["0", "1025"] {
            assert_eq!(workers(text).unwrap_err(), "it is not in 1..=1024");
        }
        for text in ["0", "1000001"] {
            assert_eq!(max_sessions(text).unwrap_err(), "it is not in 1..=1000000");
        }
        for text in ["0", "16777217"] {
            assert_eq!(max_calls_in_flight(text).unwrap_err(), "it is not in 1..=16777216");
        }
        for text in ["-1", "1.5", "", "many", "99999999999999999999999"] {
            assert_eq!(workers(text).unwrap_err(), "expected a whole number", "{text}");
        }
    }

    #[test]
    fn socket_modes_are_octal() {
        for text in ["0600", "600", "0o600"] {
            assert_eq!(socket_mode(text), Ok(0o600));
        }
        assert_eq!(socket_mode("01000").unwrap_err(), "it is not in 0o000..=0o777");
        for text in ["0680", "rw", "", "-600"] {
            assert!(socket_mode(text).unwrap_err().contains("in octal"), "{text}");
        }
    }

    #[test]
    fn wait_policies_are_named() {
        assert_eq!(wait("park"), Ok(Wait::Park));
        assert_eq!(wait("never").unwrap_err(), "allowed is busy, adaptive or park");
    }
}
