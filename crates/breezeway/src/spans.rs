//! A span of `tracing` for each call, with the feature `spans`; without it, nothing at all.
//!
//! Each has the target `breezeway::calls`, the level info, the name `call`, and these fields:
//! `role`, `carrier`, `method`, `session` (the number that `breezeway inspect` shows), `outcome`
//! (`ok`, `failed`, `panicked`, or `cancelled` if it was dropped before its end), and for a failed
//! call `error`.

use breezeway_shm::statistics::HandlerTimes;

use crate::carrier::Carrier;

/// The session of a call.
#[derive(Debug)]
#[cfg_attr(not(feature = "spans"), expect(dead_code, reason = "spans alone read it"))]
pub(crate) struct CallOf {
    /// Carrier of the session.
    pub(crate) carrier: Carrier,
    /// Times of the session's handlers, which hold its number.
    pub(crate) times: Option<HandlerTimes>,
}

#[cfg(feature = "spans")]
mod enabled {
    use std::fmt::Display;

    use super::CallOf;

    /// The span of one call.
    #[derive(Debug)]
    pub struct CallSpan {
        span: tracing::Span,
        is_ended: bool,
    }

    macro_rules! span_of {
        ($role:literal, $method:ident, $of:ident) => {{
            let span = tracing::info_span!(
                target: "breezeway::calls",
                "call",
                role = $role,
                carrier = tracing::field::Empty,
                method = $method,
                session = tracing::field::Empty,
                outcome = tracing::field::Empty,
                error = tracing::field::Empty,
            );
            // Computed only if the span is recorded.
            if !span.is_disabled() {
                let CallOf { carrier, times } = $of();
                span.record("carrier", tracing::field::display(carrier));
                if let Some(session) = times.and_then(|times| times.session()) {
                    span.record("session", session);
                }
            }
            CallSpan { span, is_ended: false }
        }};
    }

    impl CallSpan {
        /// Creates the span of a call that is made.
        pub(crate) fn of_client(method: u32, of: impl FnOnce() -> CallOf) -> Self {
            span_of!("client", method, of)
        }

        /// Creates the span of a call that is served.
        pub(crate) fn of_server(method: u32, of: impl FnOnce() -> CallOf) -> Self {
            span_of!("server", method, of)
        }

        /// Runs a part of the call within the span.
        pub fn enter<T>(&self, part: impl FnOnce() -> T) -> T {
            self.span.in_scope(part)
        }

        /// Ends the span with the outcome of the call.
        pub fn end<T, E: Display>(mut self, outcome: &Result<T, E>) {
            self.is_ended = true;
            match outcome {
                Ok(_) => self.span.record("outcome", "ok"),
                Err(error) => self
                    .span
                    .record("outcome", "failed")
                    .record("error", tracing::field::display(error)),
            };
        }

        /// Runs the whole call within the span.
        pub fn of<T, E: Display>(self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
            let outcome = self.enter(work);
            self.end(&outcome);
            outcome
        }
    }

    impl Drop for CallSpan {
        fn drop(&mut self) {
            if !self.is_ended {
                let panics = std::thread::panicking();
                self.span.record("outcome", if panics { "panicked" } else { "cancelled" });
            }
        }
    }
}

#[cfg(not(feature = "spans"))]
mod disabled {
    use std::fmt::Display;

    use super::CallOf;

    /// A span without the feature: no state.
    #[derive(Debug)]
    pub struct CallSpan;

    impl CallSpan {
        /// Creates the span of a call that is made.
        #[inline(always)]
        pub(crate) fn of_client(_: u32, _: impl FnOnce() -> CallOf) -> Self {
            Self
        }

        /// Runs the whole call.
        #[inline(always)]
        pub fn of<T, E: Display>(self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
            work()
        }
    }
}

#[cfg(not(feature = "spans"))]
pub use disabled::CallSpan;
#[cfg(feature = "spans")]
pub use enabled::CallSpan;
