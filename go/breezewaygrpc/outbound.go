package breezewaygrpc

import (
	"context"
	"math"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// An outbound is a native call of a client, with its options.
type outbound struct {
	format
	method     string
	subtype    string // of the content type
	compressed string // name of the compressor
	waits      bool   // for a server
	creds      credentials.PerRPCCredentials
	headers    []*metadata.MD
	trailers   []*metadata.MD
	peers      []*peer.Peer
	finished   []func(error)
}

func newOutbound(method string, opts []grpc.CallOption) (*outbound, error) {
	o := &outbound{method: method, format: format{maxSend: math.MaxInt, maxRecv: defaultMaxRecv}}
	for _, option := range opts {
		o.apply(option)
	}
	if o.codec == nil {
		o.codec = codecOf(o.subtype)
	}
	if o.codec == nil {
		return nil, status.Errorf(codes.Internal, "no codec registered for content-subtype %s",
			o.subtype)
	}
	if o.compressed != "" && o.compressed != encoding.Identity {
		o.compressor = encoding.GetCompressor(o.compressed)
		if o.compressor == nil {
			return nil, status.Errorf(codes.Internal,
				"grpc: Compressor is not installed for requested grpc-encoding %q", o.compressed)
		}
	}
	return o, nil
}

func (o *outbound) apply(option grpc.CallOption) {
	switch option := option.(type) {
	case grpc.HeaderCallOption:
		o.headers = append(o.headers, option.HeaderAddr)
	case grpc.TrailerCallOption:
		o.trailers = append(o.trailers, option.TrailerAddr)
	case grpc.PeerCallOption:
		o.peers = append(o.peers, option.PeerAddr)
	case grpc.OnFinishCallOption:
		o.finished = append(o.finished, option.OnFinish)
	case grpc.FailFastCallOption:
		o.waits = !option.FailFast
	case grpc.MaxRecvMsgSizeCallOption:
		o.maxRecv = option.MaxRecvMsgSize
	case grpc.MaxSendMsgSizeCallOption:
		o.maxSend = option.MaxSendMsgSize
	case grpc.PerRPCCredsCallOption:
		o.creds = option.Creds
	case grpc.CompressorCallOption:
		o.compressed = option.CompressorType
	case grpc.ContentSubtypeCallOption:
		o.subtype = option.ContentSubtype
	case grpc.ForceCodecCallOption:
		o.codec, o.subtype = firstCodec{option.Codec}, strings.ToLower(option.Codec.Name())
	case grpc.ForceCodecV2CallOption:
		o.codec, o.subtype = option.CodecV2, strings.ToLower(option.CodecV2.Name())
	}
}

// block returns the block of the request, with the time that is left.
func (o *outbound) block(ctx context.Context, session *breezeway.Session) ([]byte, error) {
	if !isPath(o.method) {
		return nil, status.Errorf(codes.Internal, "malformed method name: %q", o.method)
	}
	fields := append(make([]field, 0, 8), field{contentType, typeOf(o.subtype)})
	if deadline, has := ctx.Deadline(); has {
		fields = append(fields, field{timeoutName, encodeTimeout(time.Until(deadline))})
	}
	if o.compressor != nil {
		name := o.compressor.Name()
		fields = append(fields, field{encodingName, name}, field{acceptName, name})
	}
	md, _ := metadata.FromOutgoingContext(ctx)
	fields, err := appendMetadata(fields, md)
	if err == nil && o.creds != nil {
		fields, err = o.appendCredentials(ctx, session, fields)
	}
	if err != nil {
		if _, is := status.FromError(err); is {
			return nil, err
		}
		return nil, status.Error(codes.Internal, err.Error())
	}
	block, err := encodeRequest(o.method, fields)
	if err != nil {
		return nil, status.Error(codes.ResourceExhausted, err.Error())
	}
	return block, nil
}

func typeOf(subtype string) string {
	if subtype == "" {
		return typeOfGRPC
	}
	return typeOfGRPC + "+" + subtype
}

func (o *outbound) appendCredentials(
	ctx context.Context, session *breezeway.Session, fields []field,
) ([]field, error) {
	if o.creds.RequireTransportSecurity() && session.Carrier() == breezeway.TCP {
		return nil, status.Error(codes.Unauthenticated,
			"transport: cannot send secure credentials on an insecure connection")
	}
	service := o.method[:max(strings.LastIndex(o.method, "/"), 0)]
	values, err := o.creds.GetRequestMetadata(ctx, "https://localhost"+service)
	if err != nil {
		return nil, status.Errorf(codes.Unauthenticated,
			"transport: per-RPC creds failed due to error: %v", err)
	}
	md := metadata.MD{}
	for name, value := range values {
		md.Append(name, value)
	}
	return appendMetadata(fields, md)
}

// opened hands the server out.
func (o *outbound) opened(session *breezeway.Session) {
	for _, to := range o.peers {
		*to = peer.Peer{Addr: session.Address(),
			LocalAddr: breezeway.Address{Carrier: session.Carrier()},
			AuthInfo:  authInfo(session.Peer(), session.Carrier())}
	}
}

// finish hands the metadata out, and the error that the call has ended with.
func (o *outbound) finish(in *inbound, err error) {
	headers, trailers := in.metadata()
	for _, to := range o.headers {
		*to = headers
	}
	for _, to := range o.trailers {
		*to = trailers
	}
	for _, finished := range o.finished {
		finished(err)
	}
}
