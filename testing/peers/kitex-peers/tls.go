package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/cloudwego/gopkg/bufiox"
	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/remote/trans/gonet"
	"github.com/cloudwego/kitex/server"
)

// overTLS makes every connection of a client one of TLS, with a certificate of its own, to a server
// with a certificate of that root. (Kitex's own option for TLS is gRPC's only.)
func overTLS(root, chain, key string) []client.Option {
	text, err := os.ReadFile(root)
	must("the root", err)
	roots := x509.NewCertPool()
	expect("a root", roots.AppendCertsFromPEM(text), true)
	own, err := tls.LoadX509KeyPair(chain, key)
	must("the certificate", err)
	config := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}}
	return []client.Option{
		client.WithDialer(tlsDialer{config}),
		client.WithTransHandlerFactory(gonet.NewCliTransHandlerFactory()),
	}
}

type tlsDialer struct{ config *tls.Config }

func (d tlsDialer) DialTimeout(network, place string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	connection, err := (&tls.Dialer{Config: d.config}).DialContext(ctx, network, place)
	if err != nil {
		return nil, err
	}
	return buffered(connection), nil
}

// serveTLS serves the shop within TLS.
func serveTLS(at net.Addr, chain, key string) {
	own, err := tls.LoadX509KeyPair(chain, key)
	must("the certificate", err)
	config := &tls.Config{Certificates: []tls.Certificate{own}}
	listener, err := tls.Listen(at.Network(), at.String(), config)
	must("listen", err)
	fmt.Printf("tls:%s\n", listener.Addr())
	run(listener, server.WithTransServerFactory(gonet.NewTransServerFactory()),
		server.WithTransHandlerFactory(gonet.NewSvrTransHandlerFactory()))
}

// conn has the methods that the handlers of gonet require of a connection.
type conn struct {
	net.Conn
	reader *bufiox.DefaultReader
	writer *bufiox.DefaultWriter
}

func buffered(connection net.Conn) *conn {
	return &conn{
		connection, bufiox.NewDefaultReader(connection), bufiox.NewDefaultWriter(connection),
	}
}

func (c *conn) Reader() *bufiox.DefaultReader  { return c.reader }
func (c *conn) Writer() *bufiox.DefaultWriter  { return c.writer }
func (c *conn) Read(bytes []byte) (int, error) { return c.reader.Read(bytes) }
