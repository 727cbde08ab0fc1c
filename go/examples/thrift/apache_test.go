package thrift_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"breezeway/peers/apache/shop"
	"github.com/apache/thrift/lib/go/thrift"

	breezeway "github.com/breezeway-ipc/breezeway/go"
)

// writeApache writes what Apache's compiler has generated into a message. Its code does not say how
// long that will be, so the message is cut behind it.
func writeApache(into *breezeway.Reservation, value thrift.TStruct) error {
	transport := thrift.NewStreamTransportW(into)
	ctx := context.Background()
	err := value.Write(ctx, thrift.NewTBinaryProtocolConf(transport, nil))
	if err == nil {
		err = transport.Flush(ctx)
	}
	into.Truncate(into.Written())
	return err
}

// readApache reads it from a message.
func readApache(from *breezeway.Message, value thrift.TStruct) error {
	transport := thrift.NewStreamTransportR(io.NewSectionReader(from, 0, int64(from.Len())))
	return value.Read(context.Background(), thrift.NewTBinaryProtocolConf(transport, nil))
}

// room is enough for an item but its picture.
const room = 1024

// restock counts one item more, by Apache's code.
func restock(call *breezeway.Call) error {
	item := shop.NewItem()
	if err := readApache(call.Request(), item); err != nil {
		return err
	}
	item.Count++
	reply, err := call.Reserve(room + len(item.Picture))
	if err != nil {
		return err
	}
	if err := writeApache(reply, item); err != nil {
		reply.Abandon()
		return err
	}
	return call.ReplyReserved(reply)
}

// restocked calls it.
func restocked(conn *breezeway.Conn, item *shop.Item) (*shop.Item, error) {
	ctx := context.Background()
	request, err := conn.Reserve(ctx, room+len(item.Picture))
	if err != nil {
		return nil, err
	}
	if err := writeApache(request, item); err != nil {
		request.Abandon()
		return nil, err
	}
	reply, err := conn.CallReserved(ctx, apaches, request)
	if err != nil {
		return nil, err
	}
	defer reply.Release()
	back := shop.NewItem()
	return back, readApache(&reply, back)
}

func Example_apache() {
	folder, err := os.MkdirTemp("", "thrift")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	address := "shm:" + filepath.Join(folder, "shop.sock")
	server, err := breezeway.Listen(address, serveBoth)
	if err != nil {
		panic(err)
	}
	go server.Serve()
	defer server.Close()
	conn, err := breezeway.Dial(context.Background(), address)
	if err != nil {
		panic(err)
	}
	defer conn.Close()

	item := &shop.Item{Name: "oolong", Count: 6, Picture: bytes.Repeat([]byte{7}, 100_000)}
	back, err := restocked(conn, item)
	if err != nil {
		panic(err)
	}
	fmt.Println(back.Name, back.Count, bytes.Equal(back.Picture, item.Picture))
	// Output: oolong 7 true
}
