package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	breezeway "github.com/breezeway-ipc/breezeway/go"
)

const (
	// Payloads from large on are written in place and compared in pieces that stay in the
	// first-level cache.
	pieceLen = 4096
	large    = 16 << 10
	warmUp   = 100
	// awakeBefore is how long before a call of an open loop is due its caller stops sleeping.
	awakeBefore        = 100 * time.Microsecond
	step        uint64 = 0x9E37_79B9_7F4A_7C15
	// step4 is four of them, modulo 2^64.
	step4 uint64 = 0x78DD_E6E5_FD29_F054
)

// driver is one session of a load.
type driver struct {
	load      *load
	conn      *breezeway.Conn
	count     uint64
	latencies histogram
}

func newDriver(l *load, options []breezeway.Option) (*driver, error) {
	conn, err := breezeway.Dial(context.Background(), l.addr, options...)
	if err != nil {
		return nil, err
	}
	return &driver{load: l, conn: conn}, nil
}

func (d *driver) close() { _ = d.conn.Close() }

func (d *driver) run(count uint64, until time.Time) error {
	if d.load.pattern == "one-way" {
		return d.oneWay(count, until)
	}
	if err := d.newCaller().loop(min(warmUp, count), until.Add(time.Hour), nil); err != nil {
		return err
	}
	if d.load.rate > 0 {
		return d.openLoop(count, until)
	}
	callers := make([]*caller, d.load.depth)
	errs := make([]error, len(callers))
	var all sync.WaitGroup
	for i := range callers {
		callers[i] = d.newCaller()
		all.Add(1)
		go func() {
			defer all.Done()
			errs[i] = callers[i].loop(count/uint64(len(callers)), until, &callers[i].latencies)
		}()
	}
	all.Wait()
	for i, c := range callers {
		if errs[i] != nil {
			return errs[i]
		}
		d.count += c.latencies.count
		d.latencies.merge(&c.latencies)
	}
	return nil
}

func (d *driver) openLoop(count uint64, until time.Time) error {
	c := d.newCaller()
	interval := time.Duration(float64(time.Second) / d.load.rate)
	due := time.Now()
	for ; d.count < count && due.Before(until); due = due.Add(interval) {
		if early := time.Until(due) - awakeBefore; early > 0 {
			time.Sleep(early)
		}
		for time.Now().Before(due) {
		}
		if err := c.call(); err != nil {
			return err
		}
		d.latencies.add(uint64(time.Since(due)))
		d.count++
	}
	return nil
}

// caller makes calls, one after the other.
type caller struct {
	*driver
	method    uint32
	round     uint64
	buffer    []byte
	reply     []byte
	latencies histogram
}

func (d *driver) newCaller() *caller {
	c := &caller{driver: d, method: echo}
	if d.load.touch == "none" {
		c.method = hollow
	}
	c.buffer = make([]byte, min(int(d.load.size), large))
	c.reply = make([]byte, 0, len(c.buffer))
	return c
}

func (c *caller) loop(count uint64, until time.Time, latencies *histogram) error {
	last := time.Now()
	for i := uint64(0); i < count; i++ {
		if err := c.call(); err != nil {
			return err
		}
		now := time.Now()
		if latencies != nil {
			latencies.add(uint64(now.Sub(last)))
		}
		if last = now; now.After(until) {
			break
		}
	}
	return nil
}

func (c *caller) call() error {
	c.round++
	seed := c.round * 0xD1B5_4A32_D192_ED03
	if c.load.touch == "none" || int(c.load.size) > large {
		return c.callReserved(seed)
	}
	fill(c.buffer, seed)
	reply, err := c.conn.Call(context.Background(), c.method, c.buffer)
	if err != nil {
		return err
	}
	defer reply.Release()
	if c.reply, err = reply.AppendTo(c.reply[:0]); err != nil {
		return err
	}
	return c.check(len(c.reply) == int(c.load.size) && matches(c.reply, seed))
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
		piece := c.buffer[:min(pieceLen, touched-at)]
		fill(piece, seed+uint64(at/8)*step)
		if _, err := request.WriteAt(piece, int64(at)); err != nil {
			return err
		}
	}
	reply, err := c.conn.CallReserved(context.Background(), c.method, request)
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
		same = matches(piece, seed+uint64(at/8)*step)
	}
	return c.check(same)
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
		// Four at once: the compiler unrolls no loop.
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

// oneWay posts messages in batches, and compares what the server has counted with what was sent.
// Other clients' messages would show here.
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
