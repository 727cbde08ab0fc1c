// Package breezewayotel traces the calls, one-way messages and streams of services of package rpc,
// with spans by OpenTelemetry's conventions for RPC. The spans of both ends are in one trace, also
// if the other end is breezeway-rpc in Rust with the feature opentelemetry.
//
//	client.Observe(breezewayotel.Client)
//	server.Observe(breezewayotel.Server)
//
// It uses the tracer provider and the propagator that the program has set in package otel, and
// sends the values of the propagator, such as traceparent, in the metadata of the request.
package breezewayotel

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/breezeway-ipc/breezeway/go/rpc"
)

var tracer = otel.Tracer("github.com/breezeway-ipc/breezeway/go/breezewayotel")

// Client is an [rpc.Observer] of a client. A span is a child of that in the context of its call,
// and ends with the call, or with the stream.
func Client(ctx context.Context, m rpc.Method) (context.Context, func(err error)) {
	ctx, end := begin(ctx, m, trace.SpanKindClient)
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
	return begin(propagator.Extract(ctx, received), m, trace.SpanKindServer,
		attribute.String("breezeway.carrier", carrier.String()))
}

func begin(ctx context.Context, m rpc.Method, kind trace.SpanKind, more ...attribute.KeyValue) (
	context.Context, func(err error)) {
	service, method, _ := strings.Cut(m.String(), ".")
	attributes := append(more, attribute.String("rpc.system", "breezeway"),
		attribute.String("rpc.service", service), attribute.String("rpc.method", method))
	ctx, span := tracer.Start(ctx, service+"/"+method, trace.WithSpanKind(kind),
		trace.WithAttributes(attributes...))
	return ctx, func(err error) {
		if err != nil {
			span.SetAttributes(attribute.String("error.type", kindOf(err)))
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}
