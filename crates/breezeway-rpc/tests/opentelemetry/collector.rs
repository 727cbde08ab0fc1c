//! A collector of OTLP in this process, and the pipelines that export to it: of `tracing`, and of
//! metrics.

use std::sync::{Arc, Condvar, LazyLock, Mutex};
use std::time::Duration;

use opentelemetry::propagation::text_map_propagator::FieldIter;
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator};
use opentelemetry::trace::{TraceContextExt, TracerProvider};
use opentelemetry::{Context, global};
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithExportConfig};
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{HistogramDataPoint, Metric};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider};
use tokio::runtime::Runtime;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, async_trait};
use tracing::level_filters::LevelFilter;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;

/// Length of a value that the trace of a context has besides.
#[derive(Clone, Copy)]
pub(crate) struct Padding(pub(crate) usize);

/// Propagator of traces and of their padding.
#[derive(Debug)]
struct Propagator(TraceContextPropagator);

impl TextMapPropagator for Propagator {
    fn inject_context(&self, cx: &Context, injector: &mut dyn Injector) {
        self.0.inject_context(cx, injector);
        if let Some(Padding(len)) = cx.get() {
            injector.set("padding", "x".repeat(*len));
        }
    }

    fn extract_with_context(&self, cx: &Context, extractor: &dyn Extractor) -> Context {
        self.0.extract_with_context(cx, extractor)
    }

    fn fields(&self) -> FieldIter<'_> {
        self.0.fields()
    }
}

/// Time limit of each wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// Spans that the collector has received.
#[derive(Clone, Default)]
struct Received(Arc<(Mutex<Vec<Span>>, Condvar)>);

#[async_trait]
impl TraceService for Received {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let resources = request.into_inner().resource_spans.into_iter();
        let spans = resources.flat_map(|it| it.scope_spans).flat_map(|it| it.spans);
        let (received, arrived) = &*self.0;
        received.lock().unwrap().extend(spans);
        arrived.notify_all();
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// Metrics of the last export that the collector has received.
#[derive(Clone, Default)]
struct ReceivedMetrics(Arc<Mutex<Vec<Metric>>>);

#[async_trait]
impl MetricsService for ReceivedMetrics {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let resources = request.into_inner().resource_metrics.into_iter();
        let metrics = resources.flat_map(|it| it.scope_metrics).flat_map(|it| it.metrics);
        *self.0.lock().unwrap() = metrics.collect();
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

pub(crate) struct Collector {
    runtime: Runtime,
    received: Received,
    metrics: ReceivedMetrics,
    meters: SdkMeterProvider,
    // Exports until the process ends.
    _provider: SdkTracerProvider,
}

pub(crate) static COLLECTOR: LazyLock<Collector> = LazyLock::new(Collector::start);

impl Collector {
    /// Starts the collector, and exports the spans of this process to it.
    fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let (received, metrics) = (Received::default(), ReceivedMetrics::default());
        let (provider, meters) = {
            let _entered = runtime.enter();
            let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let endpoint = format!("http://{}", incoming.local_addr().unwrap());
            let service = TraceServiceServer::new(received.clone());
            let server = tonic::transport::Server::builder().add_service(service);
            let server = server.add_service(MetricsServiceServer::new(metrics.clone()));
            runtime.spawn(server.serve_with_incoming(incoming));
            let exporter = MetricExporter::builder().with_tonic().with_endpoint(&*endpoint);
            let reader = PeriodicReader::builder(exporter.build().unwrap()).build();
            let meters = SdkMeterProvider::builder().with_reader(reader).build();
            let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint);
            let soon = BatchConfigBuilder::default().with_scheduled_delay(Duration::from_millis(1));
            let processor = BatchSpanProcessor::builder(exporter.build().unwrap())
                .with_batch_config(soon.build())
                .build();
            (SdkTracerProvider::builder().with_span_processor(processor).build(), meters)
        };
        global::set_meter_provider(meters.clone());
        global::set_text_map_propagator(Propagator(TraceContextPropagator::new()));
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        // Of the crates below only the spans of services.
        let spans = Targets::new()
            .with_target("breezeway_rpc", LevelFilter::INFO)
            .with_target(module_path!().split("::").next().unwrap(), LevelFilter::INFO);
        let subscriber = tracing_subscriber::registry().with(layer.with_filter(spans));
        tracing::subscriber::set_global_default(subscriber).unwrap();
        Self { runtime, received, metrics, meters, _provider: provider }
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Runs `work` in a span of its own. Returns its trace once that has `count` more spans.
    pub(crate) fn trace<T>(&self, count: usize, work: impl FnOnce() -> T) -> (Trace, T) {
        let root = tracing::info_span!("root");
        let id = root.context().span().span_context().trace_id().to_bytes();
        let outcome = root.in_scope(work);
        drop(root);
        (Trace(self.wait(count + 1, |span| span.trace_id == id)), outcome)
    }

    /// Returns the unit of a histogram and its count of a method and of an error's type, or of
    /// calls without an error, up to now.
    pub(crate) fn count(&self, name: &str, method: &str, error: Option<&str>) -> (String, u64) {
        self.meters.force_flush().unwrap();
        let metrics = self.metrics.0.lock().unwrap();
        let metric = metrics.iter().find(|metric| metric.name == name).expect("it was recorded");
        let Some(Data::Histogram(histogram)) = &metric.data else { panic!("{metric:?}") };
        let is_wanted = |point: &&HistogramDataPoint| {
            value(&point.attributes, "rpc.system.name") == Some("breezeway")
                && value(&point.attributes, "rpc.method") == Some(method)
                && value(&point.attributes, "error.type") == error
        };
        let count = histogram.data_points.iter().filter(is_wanted).map(|point| point.count).sum();
        (metric.unit.clone(), count)
    }

    /// Waits for this number of spans.
    pub(crate) fn wait(&self, count: usize, wanted: impl Fn(&Span) -> bool) -> Vec<Span> {
        let (received, arrived) = &*self.received.0;
        let lacks =
            |spans: &mut Vec<Span>| spans.iter().filter(|span| wanted(span)).count() < count;
        let received = received.lock().unwrap();
        let (received, waited) = arrived.wait_timeout_while(received, PATIENCE, lacks).unwrap();
        let spans: Vec<_> = received.iter().filter(|span| wanted(span)).cloned().collect();
        let names: Vec<_> = spans.iter().map(|span| (&span.name, span.kind())).collect();
        assert!(!waited.timed_out(), "{names:?}");
        spans
    }
}

/// The spans of one trace.
#[derive(Debug)]
pub(crate) struct Trace(pub(crate) Vec<Span>);

impl Trace {
    /// Returns the only child of a span.
    pub(crate) fn child(&self, of: &Span) -> &Span {
        let mut children = self.0.iter().filter(|span| span.parent_span_id == of.span_id);
        let child = children.next().unwrap_or_else(|| panic!("no child of {of:?} in {self:#?}"));
        assert_eq!(children.next(), None);
        child
    }

    pub(crate) fn root(&self) -> &Span {
        self.0.iter().find(|span| span.parent_span_id.is_empty()).unwrap()
    }
}

/// Returns the text of a span's attribute.
pub(crate) fn attribute<'s>(span: &'s Span, name: &str) -> Option<&'s str> {
    value(&span.attributes, name)
}

fn value<'a>(attributes: &'a [KeyValue], name: &str) -> Option<&'a str> {
    let found = attributes.iter().find(|attribute| attribute.key == name)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text),
        other => panic!("{other:?}"),
    }
}
