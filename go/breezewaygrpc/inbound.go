package breezewaygrpc

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// An inbound is the response of a native call.
type inbound struct {
	reader
	format *format

	mu       sync.Mutex
	hasHead  bool
	headErr  error
	response response
	// isWhole is true if the first entry is also the last one.
	isWhole  bool
	isOver   bool // the last entry was read
	headers  metadata.MD
	trailers metadata.MD
}

// head waits for the first entry, and reads its block.
func (r *inbound) head(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hasHead {
		return r.headErr
	}
	block, isLast, err := r.stream.AwaitMetadata(ctx)
	if err == nil {
		r.isWhole = isLast
		err = r.readHead(block)
	}
	r.hasHead, r.headErr = true, err
	return err
}

func (r *inbound) readHead(block []byte) (err error) {
	if r.response, err = decodeResponse(block); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	if _, isWithoutHeaders := statusIn(r.response.headers); !isWithoutHeaders {
		if r.headers, err = metadataOf(r.response.headers); err != nil {
			return status.Error(codes.Internal, err.Error())
		}
	}
	if name := valueOf(r.response.headers, encodingName); name != encoding.Identity {
		r.format.decompressor = encoding.GetCompressor(name)
	}
	return nil
}

// receive reads the next message; io.EOF behind the last one of a call without an error.
func (r *inbound) receive(ctx context.Context, message any) error {
	err := r.head(ctx)
	if err == nil {
		err = r.read(ctx, r.format, message)
	}
	if errors.Is(err, io.EOF) {
		return r.end()
	}
	if err == errCutShort {
		if outcome := r.end(); outcome != io.EOF {
			return outcome // The server has given up within a message.
		}
	}
	if err != nil {
		return r.failed(ctx, err)
	}
	return nil
}

// receiveOnly reads the only message of a response, and its end.
func (r *inbound) receiveOnly(ctx context.Context, message any) error {
	err := r.receive(ctx, message)
	if err == io.EOF {
		return status.Error(codes.Internal, "cardinality violation: the response has no message")
	}
	if err != nil {
		return err
	}
	n, err := r.fill(ctx, make([]byte, 1))
	switch {
	case n > 0:
		return status.Error(codes.Internal,
			"cardinality violation: the response has more than one message")
	case !errors.Is(err, io.EOF):
		return r.failed(ctx, err)
	}
	if err = r.end(); err == io.EOF {
		return nil
	}
	return err
}

// end returns the status behind the last message; io.EOF if it is OK.
func (r *inbound) end() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isOver = true
	fields, err := r.response.trailers, error(nil)
	if fields == nil && !r.isWhole {
		if fields, err = decodeTrailers(r.stream.Trailer()); err != nil {
			return status.Error(codes.Internal, err.Error())
		}
	}
	outcome, has := statusIn(fields)
	if !has {
		if outcome, has = statusIn(r.response.headers); has {
			fields = r.response.headers
		} else {
			outcome = statusOfHTTP(r.response.status)
		}
	}
	if r.trailers, err = metadataOf(fields); err != nil && outcome.Code() == codes.OK {
		return status.Error(codes.Internal, err.Error())
	}
	if outcome.Code() == codes.OK {
		return io.EOF
	}
	return outcome.Err()
}

// failed returns the status error of a call for the error of its stream.
func (r *inbound) failed(ctx context.Context, err error) error {
	if _, is := status.FromError(err); is {
		return err
	}
	if ctx.Err() != nil {
		err = ctx.Err() // It has reset the stream.
	}
	return failure(err)
}

// close lets go of the stream. A call that is not over is cancelled.
func (r *inbound) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isOver {
		r.stream.Reset(breezeway.CodeCancelled)
	}
	_ = r.stream.Close()
}

// metadata returns the headers and the trailers.
func (r *inbound) metadata() (headers, trailers metadata.MD) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.headers, r.trailers
}
