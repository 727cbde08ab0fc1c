// Package breezeway is calls and streams between processes on one machine by shared memory, safe
// against a hostile peer; over unix sockets and TCP by the same API. It speaks the ABI of
// docs/abi.md, as the Rust crates of this repository do, without cgo.
//
// A server listens at addresses, and serves:
//
//	server, err := breezeway.Listen("shm:/run/user.sock", func(call *breezeway.Call) error {
//		return call.Reply([]byte("hello"))
//	})
//	…
//	err = server.Serve()
//
// A client dials the first of several addresses that can be had, and calls, from any number of
// goroutines:
//
//	conn, err := breezeway.Dial(ctx, "shm:/run/user.sock,unix:/run/user-unix.sock")
//	…
//	reply, err := conn.Call(ctx, method, request)
//	…
//	defer reply.Release()
//
// # Memory
//
// Each side writes only memory of its own, which the other maps read-only. So what was received is
// copied out before it is judged: a [Message] has ReadAt, AppendTo, WriteTo and Bytes. A slice of
// the sender's memory is there only with the option [TrustPeer]. It is lent until Release.
//
// # Waiting
//
// A session has no goroutine of its own on the client's side: who waits for something drives it,
// and one of them at a time. It polls as long as that has paid lately (see [Wait]), never where
// GOMAXPROCS is 1, and then parks in the runtime's network poller on the session's socket. A server
// has one goroutine for each session, which also runs the handler (see [Offload]).
//
// # Ends
//
// A session ends when either side closes it, dies, or breaks a rule of the ABI: [ErrPeerClosed],
// [ErrPeerDied], *[ViolationError]. Nobody else is harmed. A call whose reply did not come may or
// may not have been served.
package breezeway
