package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

const (
	// Payloads of at least large bytes are written in place and compared in pieces that stay in the
	// first-level cache.
	pieceLen = 4096
	large    = 16 << 10
	// A message of up to small bytes lies in an entry, so it needs no reserved memory.
	small  = 104
	warmUp = 100
	// countedAtOnce is the number of latencies that a caller collects before it counts them.
	countedAtOnce = 64
	// warmUpTime bounds the warm-up of an open loop, whose calls are as rare as later ones.
	warmUpTime        = 20 * time.Millisecond
	openWithin        = 5 * time.Second
	step       uint64 = 0x9E37_79B9_7F4A_7C15
	// step4 is four steps, modulo 2^64.
	step4 uint64 = 0x78DD_E6E5_FD29_F054
)

// A driver runs one session of a load, or several one after the other.
type driver struct {
	load      *load
	options   []breezeway.DialOption
	conn      *breezeway.Session
	count     uint64
	counting  sync.Mutex // held by callers that count
	latencies histogram
}

func newDriver(l *load, options []breezeway.DialOption) (*driver, error) {
	conn, err := breezeway.Dial(context.Background(), l.addr, options...)
	if err != nil {
		return nil, err
	}
	return &driver{load: l, options: options, conn: conn}, nil
}

func (d *driver) close() { _ = d.conn.Close() }

func (d *driver) run(count uint64, until time.Time) error {
	if d.load.pattern == "one-way" {
		return d.oneWay(count, until)
	}
	if d.load.pattern == "cold" {
		return d.cold(count, until)
	}
	if d.load.rate > 0 {
		return d.openLoop(count, until)
	}
	if err := d.newCaller().loop(min(warmUp, count), until.Add(time.Hour), false); err != nil {
		return err
	}
	callers := make([]*caller, max(d.load.depth, d.load.streams))
	for i := range callers {
		callers[i] = d.newCaller()
		if d.load.streams > 0 {
			stream, err := d.open()
			if err != nil {
				return fmt.Errorf("stream %d of %d: %w", i+1, len(callers), err)
			}
			callers[i].stream = stream
		}
	}
	errs := make([]error, len(callers))
	var all sync.WaitGroup
	for i := range callers {
		all.Add(1)
		go func() {
			defer all.Done()
			errs[i] = callers[i].loop(count/uint64(len(callers)), until, true)
			callers[i].countRecent()
		}()
	}
	all.Wait()
	d.count = d.latencies.count
	return errors.Join(errs...)
}

// open opens a stream, and waits while the server's limit on streams is reached.
func (d *driver) open() (*breezeway.Stream, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openWithin)
	defer cancel()
	stream, err := d.conn.Open(ctx, echo)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("not open within 5 s; does the server take as many (its MaxStreams)?")
	}
	return stream, err
}

// cold repeatedly connects, makes one call and closes, and records the total time of each round.
func (d *driver) cold(count uint64, until time.Time) error {
	c := d.newCaller()
	for ; d.count < count && time.Now().Before(until); d.count++ {
		d.close()
		began := time.Now()
		conn, err := breezeway.Dial(context.Background(), d.load.addr, d.options...)
		if err != nil {
			return err
		}
		d.conn = conn
		if err := c.call(); err != nil {
			return err
		}
		d.close()
		d.latencies.add(uint64(time.Since(began)))
	}
	return nil
}

func (d *driver) openLoop(count uint64, until time.Time) error {
	c := d.newCaller()
	err := c.paced(min(warmUp, count), time.Now().Add(warmUpTime), func(time.Duration) {})
	if err != nil {
		return err
	}
	return c.paced(count, until, func(latency time.Duration) {
		d.latencies.add(uint64(latency))
		d.count++
	})
}

// paced makes each call when it is due, and sleeps until then as programs do. A latency runs from
// the begin of its call or, after a call that ended late, from when the call was due.
func (c *caller) paced(count uint64, until time.Time, record func(latency time.Duration)) error {
	interval := time.Duration(float64(time.Second) / c.load.rate)
	due := time.Now()
	for made := uint64(0); made < count && due.Before(until); made++ {
		began := due
		if early := time.Until(due); early > 0 {
			time.Sleep(early)
			began = time.Now()
		}
		if err := c.call(); err != nil {
			return err
		}
		record(time.Since(began))
		due = due.Add(interval)
	}
	return nil
}

// A caller makes calls, or exchanges messages on a stream, one after the other.
type caller struct {
	*driver
	stream *breezeway.Stream // nil for calls
	method uint32
	round  uint64
	buffer []byte
	reply  []byte
	// recent holds latencies that are not yet counted. Separate histograms for many callers would
	// not fit into the caches.
	recent []uint64
}

func (d *driver) newCaller() *caller {
	c := &caller{driver: d, method: echo}
	if d.load.touch == "none" {
		c.method = hollow
	}
	c.buffer = make([]byte, min(int(d.load.size), large))
	c.reply = make([]byte, 0, len(c.buffer))
	c.recent = make([]uint64, 0, countedAtOnce)
	return c
}

func (c *caller) loop(count uint64, until time.Time, counts bool) error {
	// Since reads one clock, and Now two.
	began := time.Now()
	last, end := time.Duration(0), until.Sub(began)
	for i := uint64(0); i < count; i++ {
		if err := c.call(); err != nil {
			return err
		}
		now := time.Since(began)
		if counts {
			c.add(uint64(now - last))
		}
		if last = now; now > end {
			break
		}
	}
	return nil
}

func (c *caller) add(latency uint64) {
	c.recent = append(c.recent, latency)
	if len(c.recent) == countedAtOnce {
		c.countRecent()
	}
}

func (c *caller) countRecent() {
	c.counting.Lock()
	defer c.counting.Unlock()
	for _, latency := range c.recent {
		c.latencies.add(latency)
	}
	c.recent = c.recent[:0]
}

func (c *caller) call() error {
	c.round++
	seed := c.round * 0xD1B5_4A32_D192_ED03
	if int(c.load.size) > small && c.load.touch == "none" || int(c.load.size) > large {
		return c.callReserved(seed)
	}
	touched := c.buffer
	if c.load.touch == "none" {
		touched = touched[:min(len(touched), hollowBytes)]
	}
	fill(touched, seed)
	reply, err := c.exchange()
	if err != nil {
		return err
	}
	defer reply.Release()
	if c.reply, err = reply.AppendTo(c.reply[:0]); err != nil {
		return err
	}
	return c.check(len(c.reply) == int(c.load.size) && matches(c.reply[:len(touched)], seed))
}

func (c *caller) exchange() (breezeway.Message, error) {
	if c.stream == nil {
		return c.conn.Call(context.Background(), c.method, c.buffer)
	}
	if err := c.stream.Send(context.Background(), c.buffer); err != nil {
		return breezeway.Message{}, err
	}
	return c.stream.Recv(context.Background())
}

func (c *caller) exchangeReserved(request *breezeway.Reservation) (breezeway.Message, error) {
	if c.stream == nil {
		return c.conn.CallReserved(context.Background(), c.method, request)
	}
	if err := c.stream.SendReserved(context.Background(), request); err != nil {
		return breezeway.Message{}, err
	}
	return c.stream.Recv(context.Background())
}

// callReserved fills the request in place, piece by piece, or only its first bytes.
func (c *caller) callReserved(seed uint64) error {
	length := int(c.load.size)
	touched := length
	if c.load.touch == "none" {
		touched = min(length, hollowBytes)
	}
	request, err := c.conn.Reserve(context.Background(), length)
	if err != nil {
		return err
	}
	for at := 0; at < touched; at += pieceLen {
		piece := window(seed, at)[:min(pieceLen, touched-at)]
		if _, err := request.WriteAt(piece, int64(at)); err != nil {
			return err
		}
	}
	reply, err := c.exchangeReserved(request)
	if err != nil {
		return err
	}
	defer reply.Release()
	same := reply.Len() == length
	for at := 0; same && at < touched; at += pieceLen {
		piece := c.buffer[:min(pieceLen, touched-at)]
		if _, err := reply.ReadAt(piece, int64(at)); err != nil {
			return err
		}
		same = bytes.Equal(piece, window(seed, at)[:len(piece)])
	}
	return c.check(same)
}

// pattern is the content of large payloads. Each piece is another window of it, as is the same
// piece of the next round. Payloads are thus written and compared by the runtime's vector
// instructions, and the expected bytes stay in the first-level cache.
var pattern = func() (words [2 * pieceLen]byte) {
	fill(words[:], step)
	return words
}()

// window returns the content of a piece. It differs among 512 consecutive pieces of a message, and
// among 512 consecutive rounds.
func window(seed uint64, at int) []byte {
	first := (seed + uint64(at/pieceLen)*step) % (pieceLen / 8) * 8
	return pattern[first:][:pieceLen]
}

func (c *caller) check(same bool) error {
	if !same {
		return fmt.Errorf("the reply to round %d differs from its request of %d bytes", c.round,
			c.load.size)
	}
	return nil
}

// fill writes the pattern of a seed: word i is seed + i × step.
func fill(bytes []byte, seed uint64) {
	for ; len(bytes) >= 32; bytes = bytes[32:] {
		// Four words at once, since the compiler does not unroll loops.
		binary.LittleEndian.PutUint64(bytes[0:], seed)
		binary.LittleEndian.PutUint64(bytes[8:], seed+step)
		binary.LittleEndian.PutUint64(bytes[16:], seed+step+step)
		binary.LittleEndian.PutUint64(bytes[24:], seed+step+step+step)
		seed += step4
	}
	for ; len(bytes) >= 8; bytes = bytes[8:] {
		binary.LittleEndian.PutUint64(bytes, seed)
		seed += step
	}
	for i := range bytes {
		bytes[i] = byte(seed >> (8 * i))
	}
}

func matches(bytes []byte, seed uint64) bool {
	var different uint64
	for ; len(bytes) >= 32; bytes = bytes[32:] {
		different |= binary.LittleEndian.Uint64(bytes[0:]) ^ seed |
			binary.LittleEndian.Uint64(bytes[8:]) ^ (seed + step) |
			binary.LittleEndian.Uint64(bytes[16:]) ^ (seed + step + step) |
			binary.LittleEndian.Uint64(bytes[24:]) ^ (seed + step + step + step)
		seed += step4
	}
	for ; len(bytes) >= 8; bytes = bytes[8:] {
		different |= binary.LittleEndian.Uint64(bytes) ^ seed
		seed += step
	}
	for i, b := range bytes {
		different |= uint64(b ^ byte(seed>>(8*i)))
	}
	return different == 0
}

// ---- one way ----

func (d *driver) tally() (count, sum uint64, err error) {
	reply, err := d.conn.Call(context.Background(), tally, nil)
	if err != nil {
		return 0, 0, err
	}
	bytes := reply.Bytes()
	if len(bytes) != 16 {
		return 0, 0, fmt.Errorf("the server's tally makes no sense; is it a `breezeway serve`?")
	}
	return binary.LittleEndian.Uint64(bytes), binary.LittleEndian.Uint64(bytes[8:]), nil
}

// oneWay posts messages in batches, and compares the server's count with the number sent. Messages
// of other clients would cause a mismatch.
func (d *driver) oneWay(count uint64, until time.Time) error {
	counted, summed, err := d.tally()
	if err != nil {
		return err
	}
	var sum uint64
	batch := make([][]byte, d.load.batch)
	for i := range batch {
		batch[i] = make([]byte, d.load.size)
	}
	for d.count < count && time.Now().Before(until) {
		messages := batch[:min(uint64(len(batch)), count-d.count)]
		for _, m := range messages {
			d.count++
			touched := m
			if d.load.touch == "none" {
				touched = m[:min(len(m), hollowBytes)]
			}
			fill(touched, d.count*0xD1B5_4A32_D192_ED03)
			sum += sumWords(m)
		}
		if err := d.conn.PostAll(context.Background(), sink, messages); err != nil {
			return err
		}
	}
	nowCounted, nowSummed, err := d.tally()
	if err == nil && (nowCounted-counted != d.count || nowSummed-summed != sum) {
		err = fmt.Errorf("the server confirms %d messages, %d were sent; or their sum differs",
			nowCounted-counted, d.count)
	}
	return err
}
