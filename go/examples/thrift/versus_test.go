package thrift_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"testing"

	"breezeway/testing/peers/apache/shop"
	"github.com/apache/thrift/lib/go/thrift"
	kitex "github.com/cloudwego/gopkg/protocol/thrift"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/echo"
	"github.com/breezeway-ipc/breezeway/go/internal/versus"
)

func TestMain(m *testing.M) { versus.Main(m, serveForMeasurement) }

// TestMeasureBesideUnix prints calls with messages that generated code writes into reserved memory,
// beside the same code on a unix socket, with buffers of its own library and a length of four bytes
// before each message:
//
//	go test -run MeasureBesideUnix . -versus 3s -v
func TestMeasureBesideUnix(t *testing.T) {
	versus.Ask(t)
	shm, unix := versus.Servers(t)
	conn, err := breezeway.Dial(context.Background(), shm)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	apache, kitexes := connect(t, unix+".apache"), connect(t, unix+".kitex")
	for _, size := range []int{64, 64 << 10, 1 << 20} {
		item := &shop.Item{Name: "oolong", Count: 6, Picture: make([]byte, size)}
		came := func(back *shop.Item, err error) error {
			if err == nil && (len(back.Picture) != size || back.Count != 7) {
				err = errors.New("it came back otherwise")
			}
			return err
		}
		versus.Row(t, fmt.Sprint("Apache's code, ", size, " B"), 1,
			func() error { return came(apache.restocked(item)) },
			func() error { return came(restocked(conn, item)) })
		sent := item.Picture
		whole := func(back []byte, err error) error {
			if err == nil && len(back) != size {
				err = errors.New("it came back otherwise")
			}
			return err
		}
		versus.Row(t, fmt.Sprint("Kitex's code, ", size, " B"), 1,
			func() error { return whole(kitexes.bounced(sent)) },
			func() error { return whole(bounced(conn, sent)) })
	}
}

// plain is a connection of a unix socket, used by each generator.
type plain struct {
	net.Conn
	framed thrift.TTransport
	reader *bufio.Reader
	buffer []byte
}

func newPlain(conn net.Conn) *plain {
	socket := thrift.NewTSocketFromConnConf(conn, nil)
	return &plain{Conn: conn, framed: thrift.NewTFramedTransportConf(socket, nil),
		reader: bufio.NewReaderSize(conn, 64<<10)}
}

func connect(t *testing.T, path string) *plain {
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return newPlain(conn)
}

func (p *plain) writeApache(value thrift.TStruct) error {
	ctx := context.Background()
	err := value.Write(ctx, thrift.NewTBinaryProtocolConf(p.framed, nil))
	return errors.Join(err, p.framed.Flush(ctx))
}

func (p *plain) readApache(value thrift.TStruct) error {
	return value.Read(context.Background(), thrift.NewTBinaryProtocolConf(p.framed, nil))
}

func (p *plain) restocked(item *shop.Item) (*shop.Item, error) {
	back := shop.NewItem()
	return back, errors.Join(p.writeApache(item), p.readApache(back))
}

func (p *plain) writeKitex(value kitex.FastCodec) error {
	length := value.BLength()
	if cap(p.buffer) < 4+length {
		p.buffer = make([]byte, 4+length)
	}
	p.buffer = p.buffer[:4+length]
	binary.BigEndian.PutUint32(p.buffer, uint32(value.FastWriteNocopy(p.buffer[4:], nil)))
	_, err := p.Write(p.buffer)
	return err
}

func (p *plain) readKitex(value kitex.FastCodec) error {
	var head [4]byte
	if _, err := io.ReadFull(p.reader, head[:]); err != nil {
		return err
	}
	length := int(binary.BigEndian.Uint32(head[:]))
	if cap(p.buffer) < length {
		p.buffer = make([]byte, length)
	}
	if _, err := io.ReadFull(p.reader, p.buffer[:length]); err != nil {
		return err
	}
	_, err := value.FastRead(p.buffer[:length])
	return err
}

func (p *plain) bounced(sent []byte) ([]byte, error) {
	result := echo.NewEchoEchoResult()
	err := errors.Join(p.writeKitex(&echo.EchoEchoArgs{Body: sent}), p.readKitex(result))
	return result.Success, err
}

func (p *plain) serveApache() error {
	item := shop.NewItem()
	err := p.readApache(item)
	item.Count++
	return errors.Join(err, p.writeApache(item))
}

func (p *plain) serveKitex() error {
	args := echo.NewEchoEchoArgs()
	err := p.readKitex(args)
	return errors.Join(err, p.writeKitex(&echo.EchoEchoResult{Success: args.Body}))
}

// serveForMeasurement serves with reserved messages, or with both generators' code on sockets.
func serveForMeasurement(address string, listening func()) error {
	path, isUnix := versus.UnixPath(address)
	if !isUnix {
		server, err := breezeway.Listen(address, serveBoth)
		if err != nil {
			return err
		}
		listening()
		return server.Serve()
	}
	failed := make(chan error)
	for end, serve := range map[string]func(*plain) error{
		".apache": (*plain).serveApache, ".kitex": (*plain).serveKitex} {
		listener, err := net.Listen("unix", filepath.Clean(path+end))
		if err != nil {
			return err
		}
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					failed <- err
					return
				}
				go func() {
					p := newPlain(conn)
					for serve(p) == nil {
					}
					_ = conn.Close()
				}()
			}
		}()
	}
	listening()
	return <-failed
}
