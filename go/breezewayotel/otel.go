// Package breezewayotel traces and measures the calls, one-way messages and streams of services of
// package rpc, by OpenTelemetry's conventions for RPC of version 1.40: with spans, and the
// histograms rpc.client.call.duration and rpc.server.call.duration. The spans of both ends are in
// one trace, also if the other end is breezeway-rpc in Rust with the feature opentelemetry.
//
//	client.Observe(breezewayotel.Client)
//	server.Observe(breezewayotel.Server)
//
// It uses the providers and the propagator that the program has set in package otel, and sends the
// values of the propagator, such as traceparent, in the metadata of the request.
package breezewayotel

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/breezeway-ipc/breezeway/go/rpc"
)

const scope = "github.com/breezeway-ipc/breezeway/go/breezewayotel"

var (
	tracer    = otel.Tracer(scope)
	ofClients = histogram("rpc.client.call.duration", "made")
	ofServers = histogram("rpc.server.call.duration", "served")
)

// bounds are those of a histogram's buckets in seconds, if the program's views set no others. The
// conventions begin at 5 ms, and a call in shared memory takes microseconds.
var bounds = []float64{1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3,
	5e-3, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}

func histogram(name, what string) metric.Float64Histogram {
	histogram, err := otel.Meter(scope).Float64Histogram(name, metric.WithUnit("s"),
		metric.WithDescription("Duration of calls and streams that were "+what),
		metric.WithExplicitBucketBoundaries(bounds...))
	if err != nil {
		panic(err) // of an invalid name
	}
	return histogram
}

// Client is an [rpc.Observer] of a client. A span is a child of that in the context of its call,
// and ends with the call, or with the stream.
func Client(ctx context.Context, m rpc.Method) (context.Context, func(err error)) {
	ctx, end := begin(ctx, m, ofClients, trace.SpanKindClient)
	sent := propagation.MapCarrier{}
	otel.GetTextMapPropagator().Inject(ctx, sent)
	for name, value := range sent {
		ctx = rpc.WithMetadata(ctx, name, value)
	}
	return ctx, end
}

// Server is an [rpc.Observer] of a server. A span is a child of its client's, and ends when the
// handler has returned. Calls and spans that are made with the handler's context are its children.
func Server(ctx context.Context, m rpc.Method) (context.Context, func(err error)) {
	propagator, received := otel.GetTextMapPropagator(), propagation.MapCarrier{}
	for _, name := range propagator.Fields() {
		if value, has := rpc.Metadata(ctx, name); has {
			received.Set(name, value)
		}
	}
	carrier, _ := rpc.CarrierOf(ctx)
	return begin(propagator.Extract(ctx, received), m, ofServers, trace.SpanKindServer,
		attribute.String("breezeway.carrier", carrier.String()))
}

func begin(ctx context.Context, m rpc.Method, durations metric.Float64Histogram,
	kind trace.SpanKind, more ...attribute.KeyValue) (context.Context, func(err error)) {
	name := strings.Replace(m.String(), ".", "/", 1)
	attributes := []attribute.KeyValue{attribute.String("rpc.system.name", "breezeway"),
		attribute.String("rpc.method", name)}
	begun := time.Now()
	ctx, span := tracer.Start(ctx, name, trace.WithSpanKind(kind),
		trace.WithAttributes(attributes...), trace.WithAttributes(more...))
	return ctx, func(err error) {
		if err != nil {
			kind := attribute.String("error.type", kindOf(err))
			attributes = append(attributes, kind)
			span.SetAttributes(kind)
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
		durations.Record(ctx, time.Since(begun).Seconds(), metric.WithAttributes(attributes...))
	}
}
