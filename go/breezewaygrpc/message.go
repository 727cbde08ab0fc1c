package breezewaygrpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

const (
	// headLen is the length of gRPC's prefix of a message: a flag, and the length.
	headLen = 5
	// longestPiece is the length of the longest message of a stream. A longer one of gRPC is sent
	// as several, so that the peer copies one while this side writes the next.
	longestPiece = 256 << 10
	// defaultMaxRecv is the default of grpc-go for messages that it receives.
	defaultMaxRecv = 4 << 20
)

// A format has the coding and the limits of the messages of a call.
type format struct {
	codec            encoding.CodecV2
	compressor       encoding.Compressor // of sent messages; nil for none
	decompressor     encoding.Compressor // of received ones; nil for none
	maxSend, maxRecv int
}

// An encoded message is sent as its pieces, and freed then.
type encoded struct {
	data   mem.BufferSlice
	head   [headLen]byte
	pieces [][]byte
}

func (f *format) encode(message any) (*encoded, error) {
	data, err := f.codec.Marshal(message)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "grpc: error while marshaling: %v", err)
	}
	e := &encoded{data: data}
	if f.compressor != nil && data.Len() > 0 {
		if err := e.compress(f.compressor); err != nil {
			e.free()
			return nil, err
		}
	}
	length := e.data.Len()
	if length > min(f.maxSend, math.MaxUint32) {
		e.free()
		return nil, status.Errorf(codes.ResourceExhausted,
			"trying to send message larger than max (%d vs. %d)", length, f.maxSend)
	}
	binary.BigEndian.PutUint32(e.head[1:], uint32(length))
	e.pieces = append(make([][]byte, 0, 1+len(e.data)), e.head[:])
	for _, piece := range e.data {
		e.pieces = append(e.pieces, piece.ReadOnlyData())
	}
	return e, nil
}

func (e *encoded) free() { e.data.Free() }

func (e *encoded) compress(by encoding.Compressor) error {
	var to bytes.Buffer
	w, err := by.Compress(&to)
	for _, piece := range e.data {
		if err == nil {
			_, err = w.Write(piece.ReadOnlyData())
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return status.Errorf(codes.Internal, "grpc: error while compressing: %v", err)
	}
	e.data.Free()
	e.head[0], e.data = 1, mem.BufferSlice{mem.SliceBuffer(to.Bytes())}
	return nil
}

// cut returns the next message of the stream, and the pieces behind it.
func cut(pieces [][]byte) (first, rest [][]byte) {
	room := longestPiece
	for i, piece := range pieces {
		if len(piece) > room {
			first = append(slices.Clone(pieces[:i]), piece[:room])
			rest = append([][]byte{piece[room:]}, pieces[i+1:]...)
			return first, rest
		}
		room -= len(piece)
	}
	return pieces, nil
}

// send sends pieces: the first entry with the block first, and the last one with the block last, if
// it ends the direction. It returns true if the first entry was sent.
func send(ctx context.Context, stream *breezeway.Stream, pieces [][]byte, first, last []byte,
	isLast bool) (begun bool, err error) {
	for block := first; ; block = nil {
		message, rest := cut(pieces)
		entry := breezeway.Entry{Metadata: block, Message: message}
		if len(rest) == 0 && isLast {
			entry.Last = true
			if last != nil {
				entry.Metadata = last
			}
		}
		if err := stream.SendEntry(ctx, entry); err != nil {
			return begun, err
		}
		if begun = true; len(rest) == 0 {
			return begun, nil
		}
		pieces = rest
	}
}

// A reader reads gRPC's messages from those of a stream, which divide them in any way.
type reader struct {
	stream  *breezeway.Stream
	current breezeway.Message
	at      int
}

// read reads the next message of gRPC; io.EOF behind the last one. Other errors of the stream are
// returned as they are.
func (r *reader) read(ctx context.Context, f *format, message any) error {
	var head [headLen]byte
	if n, err := r.fill(ctx, head[:]); err != nil {
		return cutShort(n, err)
	}
	length := binary.BigEndian.Uint32(head[1:])
	switch {
	case head[0] > 1:
		return status.Errorf(codes.Internal, "grpc: received unexpected payload format %d", head[0])
	case head[0] == 1 && f.decompressor == nil:
		return status.Error(codes.Unimplemented,
			"grpc: a compressed message of an unknown encoding")
	case uint64(length) > uint64(f.maxRecv):
		return tooLarge(uint64(length), f.maxRecv)
	}
	body, err := r.body(ctx, int(length))
	if err != nil {
		return cutShort(headLen, err)
	}
	if head[0] == 1 {
		if body, err = decompress(f.decompressor, body, f.maxRecv); err != nil {
			return err
		}
	}
	defer body.Free()
	if err := f.codec.Unmarshal(mem.BufferSlice{body}, message); err != nil {
		return status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v",
			err)
	}
	return nil
}

func tooLarge(length uint64, most int) error {
	return status.Errorf(codes.ResourceExhausted,
		"grpc: received message larger than max (%d vs. %d)", length, most)
}

// cutShort returns the error of a stream, of which n bytes of a message were read before.
func cutShort(n int, err error) error {
	if errors.Is(err, io.EOF) && n > 0 {
		return errCutShort
	}
	return err
}

var errCutShort = status.Error(codes.Internal, "grpc: the stream ends within a message")

const (
	// leastRoom is the memory for a message of which nothing has arrived, and growth how many times
	// as much as has arrived there is at most for others.
	leastRoom = 64 << 10
	growth    = 16
)

// body reads bytes. Its memory is bounded by what arrives, and not by what a peer announces.
func (r *reader) body(ctx context.Context, length int) (mem.Buffer, error) {
	if room := max(leastRoom, growth*(r.current.Len()-r.at)); length > room {
		return r.growing(ctx, length, room)
	}
	if mem.IsBelowBufferPoolingThreshold(length) {
		to := make([]byte, length)
		_, err := r.fill(ctx, to)
		return mem.SliceBuffer(to), err
	}
	pool := mem.DefaultBufferPool()
	to := pool.Get(length)
	if _, err := r.fill(ctx, *to); err != nil {
		pool.Put(to)
		return nil, err
	}
	return mem.NewBuffer(to, pool), nil
}

// growing is body for more bytes than there is room for at first.
func (r *reader) growing(ctx context.Context, length, room int) (mem.Buffer, error) {
	to := make([]byte, 0, room)
	for len(to) < length {
		if len(to) == cap(to) {
			to = slices.Grow(to, min(len(to), length-len(to)))
		}
		n, err := r.fill(ctx, to[len(to):min(length, cap(to))])
		if to = to[:len(to)+n]; err != nil {
			return nil, err
		}
	}
	return mem.SliceBuffer(to), nil
}

// fill reads as many bytes. It releases each message of the stream behind its last byte.
func (r *reader) fill(ctx context.Context, to []byte) (filled int, err error) {
	for filled < len(to) {
		if r.at == r.current.Len() {
			if err := r.receive(ctx); err != nil {
				return filled, err
			}
		}
		n := min(len(to)-filled, r.current.Len()-r.at)
		if _, err := r.current.ReadAt(to[filled:][:n], int64(r.at)); err != nil && n > 0 {
			return filled, err
		}
		filled, r.at = filled+n, r.at+n
		if r.at == r.current.Len() {
			r.release()
		}
	}
	return filled, nil
}

func (r *reader) receive(ctx context.Context) error {
	next, err := r.stream.Recv(ctx)
	if err == nil && next.Len() == 0 {
		next.Release()
		return ctx.Err() // Empty messages may come without end.
	}
	if err == nil {
		r.current, r.at = next, 0
	}
	return err
}

// release returns the message that is being read to its sender.
func (r *reader) release() {
	r.current.Release()
	r.current, r.at = breezeway.Message{}, 0
}

func decompress(by encoding.Compressor, body mem.Buffer, most int) (mem.Buffer, error) {
	defer body.Free()
	var plain []byte
	from, err := by.Decompress(bytes.NewReader(body.ReadOnlyData()))
	if err == nil {
		plain, err = io.ReadAll(io.LimitReader(from, min(int64(most), math.MaxInt64-1)+1))
	}
	if err != nil {
		return nil, status.Errorf(codes.Internal, "grpc: failed to decompress the message: %v", err)
	}
	if len(plain) > most {
		return nil, tooLarge(uint64(len(plain)), most)
	}
	return mem.SliceBuffer(plain), nil
}

// codecOf returns the codec of a content type's subtype; nil if there is none.
func codecOf(subtype string) encoding.CodecV2 {
	if subtype == "" {
		subtype = "proto"
	}
	if codec := encoding.GetCodecV2(subtype); codec != nil {
		return codec
	}
	if codec := encoding.GetCodec(subtype); codec != nil {
		return firstCodec{codec}
	}
	return nil
}

// firstCodec is a codec of grpc-go's first interface.
type firstCodec struct{ encoding.Codec }

func (c firstCodec) Marshal(message any) (mem.BufferSlice, error) {
	bytes, err := c.Codec.Marshal(message)
	return mem.BufferSlice{mem.SliceBuffer(bytes)}, err
}

func (c firstCodec) Unmarshal(data mem.BufferSlice, message any) error {
	return c.Codec.Unmarshal(data.Materialize(), message)
}
