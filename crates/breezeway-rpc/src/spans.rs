//! A span of `tracing` and a recorded duration for each call and stream, with the feature
//! `opentelemetry`; without it, nothing at all.
//!
//! Fields and attributes follow OpenTelemetry's conventions for RPC of version 1.40. The client's
//! span travels in the metadata of the request, as the program's propagator writes it, and is the
//! parent of the server's.

#[cfg(feature = "opentelemetry")]
mod enabled {
    use std::mem;
    use std::thread;

    use breezeway::{ErrorKind, describe};
    use opentelemetry::global::get_text_map_propagator;
    use opentelemetry::propagation::{Extractor, Injector};
    use opentelemetry::trace::TraceContextExt;
    #[cfg(feature = "tokio")]
    use tracing::Instrument;
    use tracing::{Span, field};
    use tracing_opentelemetry::OpenTelemetrySpanExt;

    use crate::context::Context;
    use crate::durations::CallDuration;
    use crate::error::Error;
    use crate::metadata::{Pairs, RequestMetadata};
    use crate::method::Method;

    /// Span and duration of a call or stream.
    #[derive(Debug)]
    pub(crate) struct CallSpan {
        span: Span,
        /// `None` once the call has ended.
        duration: Option<CallDuration>,
        is_served: bool,
    }

    macro_rules! span_of {
        ($kind:literal, $method:ident $(, $name:literal = $value:expr)?) => {
            tracing::info_span!(
                target: "breezeway_rpc::calls",
                "call",
                "otel.name" = %$method.full_name(),
                "otel.kind" = $kind,
                "rpc.system.name" = "breezeway",
                "rpc.method" = %$method.full_name(),
                $($name = $value,)?
                "error.type" = field::Empty,
                "otel.status_code" = field::Empty,
                "otel.status_description" = field::Empty,
            )
        };
    }

    impl CallSpan {
        /// Creates the span of a call that is made.
        pub(crate) fn of_client(method: &Method) -> Self {
            let duration = Some(CallDuration::of_client(method));
            Self { span: span_of!("client", method), duration, is_served: false }
        }

        /// Creates the span of a call that is served: a child of its client's.
        pub(crate) fn of_server<'m>(method: impl FnOnce() -> &'m Method, cx: &Context) -> Self {
            let method = method();
            let span =
                span_of!("server", method, "breezeway.carrier" = field::display(cx.carrier()));
            if !span.is_disabled() {
                let parent =
                    get_text_map_propagator(|propagator| propagator.extract(&Received(cx)));
                // Fails without a layer of OpenTelemetry, which then has no use for the parent.
                let _ = span.set_parent(parent);
            }
            Self { span, duration: Some(CallDuration::of_server(method)), is_served: true }
        }

        /// Runs a part of the call within the span.
        pub(crate) fn enter<T>(&self, part: impl FnOnce() -> T) -> T {
            self.span.in_scope(part)
        }

        /// Awaits a part of the call within the span.
        #[cfg(feature = "tokio")]
        pub(crate) async fn within<T>(&self, part: impl Future<Output = T>) -> T {
            part.instrument(self.span.clone()).await
        }

        /// Runs the whole call within the span.
        pub(crate) fn run<T>(
            mut self,
            work: impl FnOnce() -> Result<T, Error>,
        ) -> Result<T, Error> {
            let outcome = self.enter(work);
            self.end(&outcome);
            outcome
        }

        /// Awaits the whole call within the span.
        #[cfg(feature = "tokio")]
        pub(crate) async fn run_async<T>(
            mut self,
            work: impl Future<Output = Result<T, Error>>,
        ) -> Result<T, Error> {
            let outcome = self.within(work).await;
            self.end(&outcome);
            outcome
        }

        /// Ends the span with the outcome of the call, and records its duration.
        pub(crate) fn end<T>(&mut self, outcome: &Result<T, Error>) {
            match outcome {
                Ok(_) => self.finish(None, String::new),
                Err(error) => self.finish(Some(error.kind()), || describe(error)),
            }
        }

        fn finish(&mut self, failure: Option<ErrorKind>, reason: impl FnOnce() -> String) {
            let Some(duration) = self.duration.take() else { return };
            let span = mem::replace(&mut self.span, Span::none());
            if let (Some(kind), false) = (&failure, span.is_disabled()) {
                span.record("error.type", field::debug(kind));
                span.record("otel.status_code", "ERROR");
                span.record("otel.status_description", reason());
            }
            duration.record(failure);
        }
    }

    impl Drop for CallSpan {
        fn drop(&mut self) {
            // A caller that panics has dropped its calls.
            let (kind, reason) = if self.is_served && thread::panicking() {
                (ErrorKind::Failed, "the handler panicked")
            } else {
                (ErrorKind::Cancelled, "dropped before its end")
            };
            self.finish(Some(kind), || reason.to_owned());
        }
    }

    /// Returns the metadata of a request that makes the server's span a child of the current one.
    pub(crate) fn trace() -> Pairs {
        let mut metadata = RequestMetadata::default();
        let mut inject = |context: &opentelemetry::Context| {
            get_text_map_propagator(|propagator| {
                propagator.inject_context(context, &mut metadata);
            });
        };
        let context = Span::current().context();
        if context.has_active_span() {
            inject(&context);
        } else {
            // The span is not exported, or the program uses OpenTelemetry without `tracing`.
            opentelemetry::Context::map_current(inject);
        }
        metadata.0
    }

    impl Injector for RequestMetadata {
        fn set(&mut self, name: &str, value: String) {
            // A trace has mostly no state.
            if !value.is_empty() {
                self.add(name, value);
            }
        }
    }

    /// The metadata of a call that is served.
    struct Received<'c>(&'c Context);

    impl Extractor for Received<'_> {
        fn get(&self, name: &str) -> Option<&str> {
            self.0.metadata(name).and_then(|value| str::from_utf8(value).ok())
        }

        fn keys(&self) -> Vec<&str> {
            self.0.request_metadata().names().filter_map(|name| str::from_utf8(name).ok()).collect()
        }
    }
}

#[cfg(not(feature = "opentelemetry"))]
mod disabled {
    use crate::context::Context;
    use crate::error::Error;
    use crate::metadata::Pairs;
    use crate::method::Method;

    /// A span without the feature: no state.
    #[derive(Debug)]
    pub(crate) struct CallSpan;

    impl CallSpan {
        #[inline(always)]
        pub(crate) fn of_client(_: &Method) -> Self {
            Self
        }

        #[inline(always)]
        pub(crate) fn of_server<'m>(_: impl FnOnce() -> &'m Method, _: &Context) -> Self {
            Self
        }

        #[inline(always)]
        pub(crate) fn enter<T>(&self, part: impl FnOnce() -> T) -> T {
            part()
        }

        #[cfg(feature = "tokio")]
        #[inline(always)]
        pub(crate) fn within<T>(&self, part: impl Future<Output = T>) -> impl Future<Output = T> {
            part
        }

        #[inline(always)]
        pub(crate) fn run<T>(self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
            work()
        }

        #[cfg(feature = "tokio")]
        #[inline(always)]
        pub(crate) fn run_async<T>(
            self,
            work: impl Future<Output = Result<T, Error>>,
        ) -> impl Future<Output = Result<T, Error>> {
            work
        }

        #[inline(always)]
        pub(crate) fn end<T>(&mut self, _: &Result<T, Error>) {}
    }

    #[inline(always)]
    pub(crate) fn trace() -> Pairs {
        Pairs::new()
    }
}

#[cfg(not(feature = "opentelemetry"))]
pub(crate) use disabled::{CallSpan, trace};
#[cfg(feature = "opentelemetry")]
pub(crate) use enabled::{CallSpan, trace};
