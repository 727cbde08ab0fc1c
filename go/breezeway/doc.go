// Package breezeway provides calls and streams between processes on one machine, over shared
// memory, unix sockets, TCP or TLS with the same API. It is safe against a hostile peer. It
// implements the ABI of docs/abi.md, like the Rust crates of this repository, without cgo.
//
// A server listens at addresses and serves:
//
//	hello := func(ctx context.Context, call *breezeway.Call) error {
//		return call.Reply([]byte("hello"))
//	}
//	server, err := breezeway.Listen("shm:/run/user.sock", hello)
//	…
//	err = server.Serve()
//
// A client makes calls on one session, which it dials with the first call, and again after the
// session has ended. Any number of goroutines share it:
//
//	client := breezeway.NewClient("shm:/run/user.sock,unix:/run/user-unix.sock")
//	defer client.Close()
//	reply, err := client.Call(ctx, method, request)
//	…
//	defer reply.Release()
//
// [Dial] opens one [Session], which ends once. [ListenNet] and [NetDialer] carry protocols that run
// over net.Conn, such as HTTP.
//
// # Memory
//
// Each side writes only its own memory, which the peer maps read-only. Received bytes are therefore
// copied out before they are validated: a [Message] has ReadAt, AppendTo, WriteTo and Bytes. Slices
// of the sender's memory require the option [WithTrustedPeer]. A message is lent until Release.
//
// # Waiting
//
// A client's session has no goroutine of its own. A goroutine that waits on the session drives it,
// one at a time. It polls for as long as polling has recently paid (see [WithWaitPolicy]), never if
// GOMAXPROCS is 1, and then parks in the runtime's network poller on the session's socket. A server
// runs one goroutine per session, which also runs the handler (see [WithOffload]).
//
// # Ends
//
// A session ends when either side closes it, dies, or breaks a rule of the ABI: see [ErrClosed],
// [ErrPeerClosed], [ErrPeerDied] and [ViolationError]. Other sessions are not affected. The server
// may or may not have served a call without a reply: see [MayHaveRun]. Errors are also those of the
// standard library: net.ErrClosed, context.Canceled and context.DeadlineExceeded.
package breezeway
