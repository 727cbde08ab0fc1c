//! Export of the spans of services to a collector.

use opentelemetry::global;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{OTEL_EXPORTER_OTLP_ENDPOINT, SpanExporter};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Exports the spans of this process, if the environment names a collector.
pub(crate) fn export() {
    if std::env::var_os(OTEL_EXPORTER_OTLP_ENDPOINT).is_none() {
        return;
    }
    let exporter = SpanExporter::builder().with_tonic().build().expect("an endpoint");
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).build();
    global::set_text_map_propagator(TraceContextPropagator::new());
    // Not those of the exporter's own crates.
    let services = Targets::new().with_target("breezeway_rpc", LevelFilter::INFO);
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("interop"));
    tracing_subscriber::registry().with(layer.with_filter(services)).init();
}
