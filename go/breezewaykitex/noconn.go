package breezewaykitex

import (
	"net"
	"time"

	"github.com/cloudwego/kitex/pkg/utils"
)

// network is the network of addresses to Kitex.
const network = "breezeway"

// noConn stands for a connection to Kitex where there is none: a native call is one message.
type noConn struct{ network, address string }

func (noConn) Read([]byte) (int, error)         { return 0, net.ErrClosed }
func (noConn) Write([]byte) (int, error)        { return 0, net.ErrClosed }
func (noConn) Close() error                     { return nil }
func (noConn) SetDeadline(time.Time) error      { return nil }
func (noConn) SetReadDeadline(time.Time) error  { return nil }
func (noConn) SetWriteDeadline(time.Time) error { return nil }
func (c noConn) LocalAddr() net.Addr            { return utils.NewNetAddr(c.network, c.address) }
func (c noConn) RemoteAddr() net.Addr           { return utils.NewNetAddr(c.network, c.address) }
