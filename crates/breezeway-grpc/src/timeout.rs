//! Deadline of a call, from its `grpc-timeout`.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use tokio::time::{Instant, Sleep, sleep};
use tonic::Status;

pub(crate) const HEADER: &str = "grpc-timeout";

/// Remaining time of a call, if it is bounded.
pub(crate) struct Timeout {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timeout {
    /// No bound.
    pub(crate) const NEVER: Self = Self { sleep: None };

    /// Returns the shorter of the timeouts in the headers and in this side's settings.
    pub(crate) fn of(headers: &HeaderMap, own: Option<Duration>) -> Self {
        let said = headers.get(HEADER).and_then(parse);
        let time = said.into_iter().chain(own).min();
        Self { sleep: time.map(|time| Box::pin(sleep(time))) }
    }

    /// Writes the remaining time into the headers, if they have a timeout: for a call that has
    /// waited for its connection, so that the server does not count that time again.
    pub(crate) fn renew(&self, headers: &mut HeaderMap) {
        if let (Some(sleep), Some(said)) = (&self.sleep, headers.get_mut(HEADER)) {
            *said = write(sleep.deadline().saturating_duration_since(Instant::now()));
        }
    }

    /// Returns true if the call has no deadline.
    pub(crate) fn is_never(&self) -> bool {
        self.sleep.is_none()
    }

    /// Returns the status of a call that timed out.
    pub(crate) fn status() -> Status {
        Status::deadline_exceeded("Timeout expired")
    }

    /// Returns ready with the status, once the time is over.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Status> {
        let Some(sleep) = &mut self.sleep else { return Poll::Pending };
        sleep.as_mut().poll(cx).map(|()| Self::status())
    }
}

/// Parses at most eight digits and a unit; `None` for an invalid value, which is treated as absent.
pub(crate) fn parse(value: &HeaderValue) -> Option<Duration> {
    let (unit, digits) = value.as_bytes().split_last()?;
    if digits.is_empty() || digits.len() > 8 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(match unit {
        b'H' => Duration::from_secs(number * 3600),
        b'M' => Duration::from_secs(number * 60),
        b'S' => Duration::from_secs(number),
        b'm' => Duration::from_millis(number),
        b'u' => Duration::from_micros(number),
        b'n' => Duration::from_nanos(number),
        _ => return None,
    })
}

/// Formats a time in the smallest unit for which eight digits suffice, rounded down.
pub(crate) fn write(time: Duration) -> HeaderValue {
    const MOST: u128 = 99_999_999;
    let units = [(time.as_nanos(), 'n'), (time.as_micros(), 'u'), (time.as_millis(), 'm')];
    let fits = units.into_iter().find(|&(number, _)| number <= MOST);
    let (number, unit) = fits.unwrap_or((u128::from(time.as_secs()).min(MOST), 'S'));
    format!("{number}{unit}").try_into().expect("digits and a letter")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_is_read_and_invalid_time_is_none() {
        let cases = [
            ("3H", Some(Duration::from_secs(10_800))),
            ("2M", Some(Duration::from_secs(120))),
            ("1S", Some(Duration::from_secs(1))),
            ("82m", Some(Duration::from_millis(82))),
            ("7u", Some(Duration::from_micros(7))),
            ("99999999n", Some(Duration::from_nanos(99_999_999))),
            ("99999999H", Some(Duration::from_secs(99_999_999 * 3600))),
            ("100000000n", None),
            ("S", None),
            ("1", None),
            ("", None),
            ("-1S", None),
            ("1s", None),
        ];
        for (value, expected) in cases {
            assert_eq!(parse(&HeaderValue::from_static(value)), expected, "{value}");
        }
    }

    #[test]
    fn written_time_is_never_read_as_longer() {
        let cases = [
            (Duration::ZERO, "0n"),
            (Duration::from_nanos(99_999_999), "99999999n"),
            (Duration::from_nanos(100_000_999), "100000u"),
            (Duration::from_secs(100), "100000m"),
            (Duration::from_micros(99_999_999), "99999999u"),
            (Duration::from_secs(100_000), "100000S"),
            (Duration::MAX, "99999999S"),
        ];
        for (time, expected) in cases {
            let written = write(time);
            assert_eq!(written, expected);
            assert!(parse(&written).is_some_and(|read| read <= time), "{expected}");
        }
    }

    #[test]
    fn renewed_timeout_is_the_remaining_time() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _within = runtime.enter();
        let mut headers = HeaderMap::new();
        let (own, time) = (Duration::from_secs(30), Duration::from_secs(60));
        Timeout::of(&headers, Some(own)).renew(&mut headers);
        assert!(headers.is_empty(), "a call that said nothing goes on saying nothing");

        headers.insert(HEADER, write(time));
        let left = |headers: &HeaderMap| parse(&headers[HEADER]).unwrap();
        Timeout::of(&headers, None).renew(&mut headers);
        assert!(left(&headers) < time, "some time has passed");
        Timeout::of(&headers, Some(own)).renew(&mut headers);
        assert!(left(&headers) < own, "this side's is the shorter");
        Timeout::of(&headers, Some(Duration::ZERO)).renew(&mut headers);
        assert_eq!(left(&headers), Duration::ZERO);
        Timeout::NEVER.renew(&mut headers);
        assert_eq!(left(&headers), Duration::ZERO);
    }
}
