package main

import (
	"context"
	"fmt"
	"net"

	"github.com/cloudwego/kitex/client/genericclient"
	"github.com/cloudwego/kitex/pkg/generic"
)

// callProtobuf calls a method with a message of Protobuf, and prints the outcome.
func callProtobuf(at net.Addr, framing string) {
	g := generic.BinaryPbGeneric("Shop", "shop")
	c, err := genericclient.NewClient("Shop", g, options(at, framing)...)
	must("client", err)
	reply, err := c.GenericCall(context.Background(), "echo", []byte{0x08, 0x01})
	fmt.Println(reply, err)
}
