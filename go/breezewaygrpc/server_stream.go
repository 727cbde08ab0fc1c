package breezewaygrpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// serverStream is a server's side of a native call.
type serverStream struct {
	reader
	format
	ctx     context.Context
	path    string
	subtype string
	reply   *encoded // of a unary call

	reading sync.Mutex // held by a reader of messages
	isOver  bool       // nothing is read any more

	mu       sync.Mutex
	hasBegun bool // the headers were sent
	headers  metadata.MD
	trailers metadata.MD
}

var (
	errHeaders = status.Error(codes.Internal, "transport: SendHeader called multiple times")
	errOver    = status.Error(codes.Canceled, "grpc: RecvMsg called behind the end of the handler")
)

// Context returns the context of the handler.
func (c *serverStream) Context() context.Context { return c.ctx }

// SetHeader adds headers, which travel with the first message. It adds none if one cannot be sent.
func (c *serverStream) SetHeader(md metadata.MD) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hasBegun {
		return errHeaders
	}
	before := c.headers
	c.headers = metadata.Join(before, md)
	if _, err := c.headerBlock(); err != nil {
		c.headers = before
		return err
	}
	return nil
}

// SendHeader sends the headers, with those that were set before.
func (c *serverStream) SendHeader(md metadata.MD) error {
	if err := c.SetHeader(md); err != nil {
		return err
	}
	return c.send(nil)
}

// SetTrailer adds trailers, which travel with the status. It leaves out those that cannot be sent.
func (c *serverStream) SetTrailer(md metadata.MD) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trailers = metadata.Join(c.trailers, sendable(md))
}

// send sends pieces, with the headers if they were not sent.
func (c *serverStream) send(pieces [][]byte) error {
	c.mu.Lock()
	if c.hasBegun {
		c.mu.Unlock()
		_, err := send(c.ctx, c.stream, pieces, nil, nil, false)
		return c.failed(err)
	}
	defer c.mu.Unlock()
	block, err := c.headerBlock()
	if err != nil {
		return err
	}
	c.hasBegun, err = send(c.ctx, c.stream, pieces, block, nil, false)
	return c.failed(err)
}

// headerBlock returns the first block of a response whose trailers are in another one.
func (c *serverStream) headerBlock() ([]byte, error) {
	fields, err := c.headerFields()
	if err != nil {
		return nil, err
	}
	block, err := encodeResponse(fields, nil, false)
	if err != nil {
		return nil, status.Error(codes.ResourceExhausted, err.Error())
	}
	return block, nil
}

func (c *serverStream) headerFields() ([]field, error) {
	fields := append(make([]field, 0, 4), field{contentType, typeOf(c.subtype)})
	if c.compressor != nil {
		fields = append(fields, field{encodingName, c.compressor.Name()})
	}
	fields, err := appendMetadata(fields, c.headers)
	return fields, internal(err)
}

// SendMsg sends a message, and waits while the client does not read.
func (c *serverStream) SendMsg(message any) error {
	e, err := c.encode(message)
	if err != nil {
		return err
	}
	defer e.free()
	return c.send(e.pieces)
}

// failed returns the status error of a stream's error.
func (c *serverStream) failed(err error) error {
	if err == nil {
		return nil
	}
	if c.ctx.Err() != nil {
		err = c.ctx.Err()
	}
	return failure(err)
}

// RecvMsg receives the client's next message; io.EOF behind its last one.
func (c *serverStream) RecvMsg(message any) error {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.isOver {
		return errOver
	}
	err := c.read(c.ctx, &c.format, message)
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if _, is := status.FromError(err); is {
		return err
	}
	return c.failed(err)
}

// endReading lets go of the message that is being read. Goroutines of the handler may outlive it.
func (c *serverStream) endReading() {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.isOver = true
	c.release()
}

// statusPatience is how long a server waits for room for the status of a call that has failed.
const statusPatience = time.Second

// finish ends the response with the status of the handler's error, and with a unary call's reply.
func (c *serverStream) finish(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reply := c.reply; reply != nil {
		defer reply.free()
	}
	if err = c.end(c.ctx, statusOf(err)); err == nil {
		return
	}
	// A status replaces a reply that is too long or too late, and trailers that are too long.
	c.reply = nil
	outcome := statusOf(c.failed(err))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), statusPatience)
	defer cancel()
	if err = c.end(ctx, outcome); err == nil {
		return
	}
	c.trailers = nil
	if c.end(ctx, outcome) != nil {
		c.stream.Reset(breezeway.CodeFailed)
	}
}

// end sends the rest of the response.
func (c *serverStream) end(ctx context.Context, outcome *status.Status) error {
	fields := appendStatus(make([]field, 0, 4), outcome)
	trailers := c.trailers
	if words := details(outcome); words != "" {
		trailers = trailers.Copy()
		trailers.Set(detailsName, words) // Those of the handler describe another status.
	}
	fields, err := appendMetadata(fields, trailers)
	if err != nil {
		return internal(err)
	}
	var pieces [][]byte
	isWhole := !c.hasBegun
	if c.reply != nil && outcome.Code() == codes.OK {
		pieces = c.reply.pieces
		isWhole = isWhole && c.reply.isShort()
	}
	first, last, err := c.lastBlocks(fields, isWhole)
	if err != nil {
		return err
	}
	begun, err := send(ctx, c.stream, pieces, first, last, true)
	c.hasBegun = c.hasBegun || begun
	return err
}

// lastBlocks returns the blocks of the first and of the last entry that are still to be sent. Of a
// whole response they are one.
func (c *serverStream) lastBlocks(trailers []field, isWhole bool) (first, last []byte, err error) {
	if !isWhole {
		last, err = encodeTrailers(trailers)
	}
	if err == nil && !c.hasBegun {
		var headers []field
		if headers, err = c.headerFields(); err != nil {
			return nil, nil, err
		}
		first, err = encodeResponse(headers, trailers, isWhole)
	}
	if err != nil {
		return nil, nil, status.Error(codes.ResourceExhausted, err.Error())
	}
	return first, last, nil
}

// isShort returns true if the message is sent as one of the stream.
func (e *encoded) isShort() bool {
	_, rest := cut(e.pieces)
	return len(rest) == 0
}

func internal(err error) error {
	if err == nil {
		return nil
	}
	return status.Error(codes.Internal, err.Error())
}

// transportStream is a serverStream for grpc.SetHeader, grpc.SendHeader and grpc.SetTrailer.
type transportStream serverStream

// Method returns the full name of the method.
func (c *transportStream) Method() string { return c.path }

// SetHeader adds headers.
func (c *transportStream) SetHeader(md metadata.MD) error {
	return (*serverStream)(c).SetHeader(md)
}

// SendHeader sends the headers.
func (c *transportStream) SendHeader(md metadata.MD) error {
	return (*serverStream)(c).SendHeader(md)
}

// SetTrailer adds trailers.
func (c *transportStream) SetTrailer(md metadata.MD) error {
	(*serverStream)(c).SetTrailer(md)
	return nil
}

var (
	_ grpc.ServerStream          = (*serverStream)(nil)
	_ grpc.ServerTransportStream = (*transportStream)(nil)
)
