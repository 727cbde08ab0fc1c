package breezewayotel_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	otlp "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// A collector of OTLP keeps the spans that it receives.
type collector struct {
	otlp.UnimplementedTraceServiceServer
	mu       sync.Mutex
	received []*spans.Span
	arrival  chan struct{} // closed at the next one
}

// received has the spans of this process and of those that it starts.
var received = &collector{arrival: make(chan struct{})}

// A metricsCollector of OTLP keeps the last metrics that it receives.
type metricsCollector struct {
	metrics.UnimplementedMetricsServiceServer
	last atomic.Pointer[metrics.ExportMetricsServiceRequest]
}

var (
	receivedMetrics = new(metricsCollector)
	meters          *metric.MeterProvider
)

func (c *metricsCollector) Export(_ context.Context,
	request *metrics.ExportMetricsServiceRequest) (
	*metrics.ExportMetricsServiceResponse, error) {
	c.last.Store(request)
	return &metrics.ExportMetricsServiceResponse{}, nil
}

// A duration names the durations that are counted together.
type duration struct{ name, unit, system, method, failure string }

// durations returns the count of each up to now.
func durations(t *testing.T) map[duration]uint64 {
	t.Helper()
	if err := meters.ForceFlush(context.Background()); err != nil {
		t.Fatal(err)
	}
	counts := make(map[duration]uint64)
	for _, resource := range receivedMetrics.last.Load().GetResourceMetrics() {
		for _, scope := range resource.ScopeMetrics {
			for _, found := range scope.Metrics {
				for _, point := range found.GetHistogram().GetDataPoints() {
					value := func(name string) string { return valueOf(point.Attributes, name) }
					counts[duration{found.Name, found.Unit, value("rpc.system.name"),
						value("rpc.method"), value("error.type")}] += point.Count
				}
			}
		}
	}
	return counts
}

// endpoint is the collector's address, as the variables of OpenTelemetry have it.
var endpoint string

func TestMain(m *testing.M) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	endpoint = "http://" + listener.Addr().String()
	server := grpc.NewServer()
	otlp.RegisterTraceServiceServer(server, received)
	metrics.RegisterMetricsServiceServer(server, receivedMetrics)
	go func() { _ = server.Serve(listener) }()
	exporter, err := otlptracegrpc.New(context.Background(),
		otlptracegrpc.WithEndpointURL(endpoint))
	if err != nil {
		panic(err)
	}
	meter, err := otlpmetricgrpc.New(context.Background(),
		otlpmetricgrpc.WithEndpointURL(endpoint))
	if err != nil {
		panic(err)
	}
	meters = metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(meter)))
	otel.SetMeterProvider(meters)
	otel.SetTracerProvider(sdk.NewTracerProvider(sdk.WithSyncer(exporter)))
	otel.SetTextMapPropagator(propagation.TraceContext{})
	os.Exit(m.Run())
}

func (c *collector) Export(_ context.Context, request *otlp.ExportTraceServiceRequest) (
	*otlp.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.received = append(c.received, scope.Spans...)
		}
	}
	close(c.arrival)
	c.arrival = make(chan struct{})
	return &otlp.ExportTraceServiceResponse{}, nil
}

// wait waits for a number of spans.
func (c *collector) wait(t *testing.T, count int, wanted func(*spans.Span) bool) trace {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		var found trace
		c.mu.Lock()
		for _, span := range c.received {
			if wanted(span) {
				found = append(found, span)
			}
		}
		arrival := c.arrival
		c.mu.Unlock()
		if len(found) >= count {
			return found
		}
		select {
		case <-arrival:
		case <-timeout:
			t.Fatalf("%d spans, and not %d: %v", len(found), count, found)
		}
	}
}

// A trace is the spans of one trace.
type trace []*spans.Span

// traced makes calls in a span of its own. It returns the trace once that has count more spans.
func traced(t *testing.T, count int, calls func(ctx context.Context)) trace {
	t.Helper()
	ctx, root := otel.Tracer("test").Start(context.Background(), "root")
	calls(ctx)
	root.End()
	id := root.SpanContext().TraceID()
	return received.wait(t, count+1, func(span *spans.Span) bool {
		return bytes.Equal(span.TraceId, id[:])
	})
}

// child returns the only child of a span.
func (all trace) child(t *testing.T, parent *spans.Span) *spans.Span {
	t.Helper()
	var children trace
	for _, span := range all {
		if bytes.Equal(span.ParentSpanId, parent.SpanId) {
			children = append(children, span)
		}
	}
	if len(children) != 1 {
		t.Fatalf("%v has the children %v, of %v", parent, children, all)
	}
	return children[0]
}

func (all trace) root(t *testing.T) *spans.Span {
	t.Helper()
	for _, span := range all {
		if len(span.ParentSpanId) == 0 {
			return span
		}
	}
	t.Fatalf("no root in %v", all)
	return nil
}

// ends returns the spans of the only call of a trace: the client's, and its child, the server's.
func (all trace) ends(t *testing.T, name string) (client, server *spans.Span) {
	t.Helper()
	client = all.child(t, all.root(t))
	server = all.child(t, client)
	isCall(t, client, name, spans.Span_SPAN_KIND_CLIENT)
	isCall(t, server, name, spans.Span_SPAN_KIND_SERVER)
	return client, server
}

// isCall asserts kind, name and attributes of a span.
func isCall(t *testing.T, span *spans.Span, name string, kind spans.Span_SpanKind) {
	t.Helper()
	if span.Kind != kind || span.Name != name || attribute(span, "rpc.method") != name ||
		attribute(span, "rpc.system.name") != "breezeway" {
		t.Errorf("%v is not a span of %v of %s", span, kind, name)
	}
}

func attribute(span *spans.Span, name string) string { return valueOf(span.Attributes, name) }

func valueOf(attributes []*common.KeyValue, name string) string {
	for _, pair := range attributes {
		if pair.Key == name {
			return pair.Value.GetStringValue()
		}
	}
	return ""
}

// isOk asserts that a span has not failed.
func isOk(t *testing.T, span *spans.Span) {
	t.Helper()
	if span.Status.GetCode() != spans.Status_STATUS_CODE_UNSET ||
		attribute(span, "error.type") != "" {
		t.Errorf("%v has failed", span)
	}
}

// isFailed asserts the failure of a span.
func isFailed(t *testing.T, span *spans.Span, kind, reason string) {
	t.Helper()
	if span.Status.GetCode() != spans.Status_STATUS_CODE_ERROR ||
		attribute(span, "error.type") != kind || span.Status.Message != reason {
		t.Errorf("%v has not failed as %s by %q", span, kind, reason)
	}
}
