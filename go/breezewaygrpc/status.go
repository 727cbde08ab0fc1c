package breezewaygrpc

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// codeOfReset returns the code of a status for the code of a reset.
func codeOfReset(code breezeway.Code) codes.Code {
	switch code {
	case breezeway.CodeCancelled:
		return codes.Canceled
	case breezeway.CodeDeadlinePassed:
		return codes.DeadlineExceeded
	case breezeway.CodeRefused, breezeway.CodeNoSuchMethod:
		return codes.Unavailable
	case breezeway.CodeOverloaded, breezeway.CodeNoMemory:
		return codes.ResourceExhausted
	}
	return codes.Internal
}

// failure returns the status error of an error of a stream or its session. Status errors are
// returned as they are.
func failure(err error) error {
	if _, is := status.FromError(err); is {
		return err
	}
	code := codes.Unavailable // The session is over.
	switch reset, isReset := breezeway.IsReset(err); {
	case isReset:
		code = codeOfReset(reset)
	case errors.Is(err, context.Canceled), errors.Is(err, breezeway.ErrClosed):
		code = codes.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	case errors.As(err, new(*breezeway.TooLargeError)),
		errors.As(err, new(*breezeway.TooMuchMetadataError)),
		errors.As(err, new(*breezeway.ShortageError)):
		code = codes.ResourceExhausted
	}
	return status.Error(code, err.Error())
}

// appendStatus appends a status as trailers.
func appendStatus(fields []field, s *status.Status) []field {
	fields = append(fields, field{statusName, strconv.Itoa(int(s.Code()))})
	if words := s.Message(); words != "" {
		fields = append(fields, field{messageName, encodeMessage(words)})
	}
	return fields
}

// details returns the details of a status as metadata, or "" if it has none.
func details(s *status.Status) string {
	if len(s.Proto().GetDetails()) == 0 {
		return ""
	}
	bytes, err := proto.Marshal(s.Proto())
	if err != nil {
		return ""
	}
	return string(bytes)
}

// statusIn returns the status in fields, or false if there is none.
func statusIn(fields []field) (s *status.Status, has bool) {
	value := valueOf(fields, statusName)
	if value == "" {
		return nil, false
	}
	code, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return status.Newf(codes.Internal, "the server sent the status %q", value), true
	}
	s = status.New(codes.Code(code), decodeMessage(valueOf(fields, messageName)))
	bytes, err := decodeBinary(valueOf(fields, detailsName))
	detailed := new(spb.Status)
	if err == nil && len(bytes) > 0 && proto.Unmarshal(bytes, detailed) == nil &&
		detailed.Code == int32(code) {
		return status.FromProto(detailed), true
	}
	return s, true
}

// statusOfHTTP returns the status of a response that has none of gRPC.
func statusOfHTTP(code int) *status.Status {
	of := codes.Unknown
	switch code {
	case http.StatusOK:
		return status.New(codes.Internal, "the server ended the call without a status")
	case http.StatusBadRequest:
		of = codes.Internal
	case http.StatusUnauthorized:
		of = codes.Unauthenticated
	case http.StatusForbidden:
		of = codes.PermissionDenied
	case http.StatusNotFound:
		of = codes.Unimplemented
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		of = codes.Unavailable
	}
	return status.Newf(of, "the server sent the HTTP status %d", code)
}
