//! Durations of calls and streams, as OpenTelemetry's metrics for RPC of version 1.40.

use std::sync::LazyLock;
use std::time::Instant;

use breezeway::ErrorKind;
use opentelemetry::metrics::Histogram;
use opentelemetry::{KeyValue, global};

use crate::method::Method;

/// Bounds of the buckets in seconds, if the program's views set no others. The conventions begin at
/// 5 ms, and a call in shared memory takes microseconds.
const BOUNDS: [f64; 25] = [
    1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025,
    0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];

static OF_CLIENTS: LazyLock<Histogram<f64>> = LazyLock::new(|| {
    histogram("rpc.client.call.duration", "Duration of calls and streams that were made")
});
static OF_SERVERS: LazyLock<Histogram<f64>> = LazyLock::new(|| {
    histogram("rpc.server.call.duration", "Duration of calls and streams that were served")
});

/// Creates a histogram of the meter provider that the program has set.
fn histogram(name: &'static str, description: &'static str) -> Histogram<f64> {
    let meter = global::meter("breezeway_rpc");
    let histogram = meter.f64_histogram(name).with_unit("s").with_description(description);
    histogram.with_boundaries(BOUNDS.to_vec()).build()
}

/// Duration of a call or stream that has not ended.
#[derive(Debug)]
pub(crate) struct CallDuration {
    of: &'static LazyLock<Histogram<f64>>,
    begun: Instant,
    method: Method,
}

impl CallDuration {
    pub(crate) fn of_client(method: &Method) -> Self {
        Self::begin(&OF_CLIENTS, method)
    }

    pub(crate) fn of_server(method: &Method) -> Self {
        Self::begin(&OF_SERVERS, method)
    }

    fn begin(of: &'static LazyLock<Histogram<f64>>, method: &Method) -> Self {
        Self { of, begun: Instant::now(), method: *method }
    }

    /// Records the time up to now, with the kind of the failure.
    pub(crate) fn record(self, failure: Option<ErrorKind>) {
        let error = failure.map(|kind| format!("{kind:?}"));
        let is_failed = error.is_some();
        let attributes = [
            KeyValue::new("rpc.system.name", "breezeway"),
            KeyValue::new("rpc.method", self.method.full_name()),
            KeyValue::new("error.type", error.unwrap_or_default()),
        ];
        let count = if is_failed { 3 } else { 2 };
        self.of.record(self.begun.elapsed().as_secs_f64(), &attributes[..count]);
    }
}
