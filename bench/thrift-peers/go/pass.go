package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"os"

	apache "github.com/apache/thrift/lib/go/thrift"
)

// pass reads structs, one line of hexadecimal digits each, as Apache Thrift for Go does, and prints
// them as it writes them.
func pass() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	for lines.Scan() {
		message, err := hex.DecodeString(lines.Text())
		check(err)
		from, to := apache.NewTMemoryBuffer(), apache.NewTMemoryBuffer()
		_, err = from.Write(message)
		check(err)
		p := passer{apache.NewTBinaryProtocolConf(from, nil), apache.NewTBinaryProtocolConf(to, nil)}
		p.structure()
		if from.Len() != 0 {
			check(fmt.Errorf("%d bytes are left", from.Len()))
		}
		fmt.Fprintln(out, hex.EncodeToString(to.Bytes()))
	}
	check(lines.Err())
	check(out.Flush())
}

// passer writes the messages that it reads.
type passer struct{ from, to *apache.TBinaryProtocol }

var background = context.Background()

func copied[T any](read func(context.Context) (T, error), write func(context.Context, T) error) {
	value, err := read(background)
	check(err)
	check(write(background, value))
}

func (p passer) structure() {
	_, err := p.from.ReadStructBegin(background)
	check(err)
	check(p.to.WriteStructBegin(background, ""))
	for {
		_, kind, id, err := p.from.ReadFieldBegin(background)
		check(err)
		if kind == apache.STOP {
			break
		}
		check(p.to.WriteFieldBegin(background, "", kind, id))
		p.value(kind)
		check(p.from.ReadFieldEnd(background))
		check(p.to.WriteFieldEnd(background))
	}
	check(p.from.ReadStructEnd(background))
	check(p.to.WriteFieldStop(background))
	check(p.to.WriteStructEnd(background))
}

func (p passer) value(kind apache.TType) {
	switch kind {
	case apache.BOOL:
		copied(p.from.ReadBool, p.to.WriteBool)
	case apache.BYTE:
		copied(p.from.ReadByte, p.to.WriteByte)
	case apache.I16:
		copied(p.from.ReadI16, p.to.WriteI16)
	case apache.I32:
		copied(p.from.ReadI32, p.to.WriteI32)
	case apache.I64:
		copied(p.from.ReadI64, p.to.WriteI64)
	case apache.DOUBLE:
		copied(p.from.ReadDouble, p.to.WriteDouble)
	case apache.STRING:
		copied(p.from.ReadString, p.to.WriteString)
	case apache.UUID:
		copied(p.from.ReadUUID, p.to.WriteUUID)
	case apache.STRUCT:
		p.structure()
	case apache.LIST:
		of, count, err := p.from.ReadListBegin(background)
		check(err)
		check(p.to.WriteListBegin(background, of, count))
		p.values(count, of)
	case apache.SET:
		of, count, err := p.from.ReadSetBegin(background)
		check(err)
		check(p.to.WriteSetBegin(background, of, count))
		p.values(count, of)
	case apache.MAP:
		key, value, count, err := p.from.ReadMapBegin(background)
		check(err)
		check(p.to.WriteMapBegin(background, key, value, count))
		p.values(count, key, value)
	default:
		check(fmt.Errorf("type %d", kind))
	}
}

// values passes count elements, or pairs.
func (p passer) values(count int, kinds ...apache.TType) {
	for range count {
		for _, kind := range kinds {
			p.value(kind)
		}
	}
}
