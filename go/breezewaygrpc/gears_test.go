package breezewaygrpc_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
	"github.com/breezeway-ipc/breezeway/go/internal/certificates"
)

// gears returns an interceptor that sends the type of each call's transport.
func gears() (chan string, grpc.UnaryServerInterceptor) {
	seen := make(chan string, 1)
	return seen, func(ctx context.Context, request any, _ *grpc.UnaryServerInfo,
		handler grpc.UnaryHandler) (any, error) {
		seen <- fmt.Sprintf("%T", grpc.ServerTransportStreamFromContext(ctx))
		return handler(ctx, request)
	}
}

const nativeTransport = "*breezewaygrpc.transportStream"

// travels makes a call, and compares its gear.
func travels(t *testing.T, conn grpc.ClientConnInterface, seen chan string, isNative bool) {
	t.Helper()
	_, err := testpb.NewTestServiceClient(conn).EmptyCall(within(t), new(testpb.Empty))
	if err != nil {
		t.Fatal(err)
	}
	if gear := <-seen; (gear == nativeTransport) != isNative {
		t.Errorf("a call of %s", gear)
	}
}

func TestServerServesBothGearsOnEveryCarrier(t *testing.T) {
	folder := t.TempDir()
	ends, err := certificates.Mutual(folder, thisHost)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"shm:" + filepath.Join(folder, "shm"),
		"unix:" + filepath.Join(folder, "unix"), "tcp:127.0.0.1:0", "tls:127.0.0.1:0"} {
		t.Run(address[:3], func(t *testing.T) {
			seen, interceptor := gears()
			address, _, _ := startNative(t, address, breezewaygrpc.Config{
				Unary: []grpc.UnaryServerInterceptor{interceptor}}, ends.Server...)
			native := connect(t, address, breezewaygrpc.WithSessionOptions(ends.Client...))
			travels(t, native, seen, true)
			dialer := breezewaygrpc.NewDialer(ends.Client...)
			defer dialer.Close()
			http2, err := grpc.NewClient("breezeway:"+address, dialer.Options()...)
			if err != nil {
				t.Fatal(err)
			}
			defer http2.Close()
			travels(t, http2, seen, false)
			carrier, place, _ := strings.Cut(address, ":")
			target, secure := "unix:"+place, insecure.NewCredentials()
			switch carrier {
			case "tcp":
				target = place
			case "tls":
				target, secure = place, clientTLS(t, folder)
			}
			plain, err := grpc.NewClient(target, grpc.WithTransportCredentials(secure))
			if err != nil {
				t.Fatal(err)
			}
			defer plain.Close()
			travels(t, plain, seen, false)
			travels(t, native, seen, true)
		})
	}
}

func TestClientFallsBackToHTTP2OfBreezewaysListener(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		listener, err := breezewaygrpc.Listen(address, ends.Server...)
		if err != nil {
			t.Fatal(err)
		}
		seen, interceptor := gears()
		conn := servePlain(t, listener, listener.Addr().String(), interceptor, ends)
		for range 3 {
			travels(t, conn, seen, false)
		}
	})
}

// servePlain serves the service by grpc-go's server, and returns a client of both gears.
func servePlain(t *testing.T, listener net.Listener, address string,
	interceptor grpc.UnaryServerInterceptor, ends certificates.Session,
	opts ...grpc.ServerOption) *breezewaygrpc.Client {
	t.Helper()
	server := grpc.NewServer(append(opts, grpc.UnaryInterceptor(interceptor))...)
	testpb.RegisterTestServiceServer(server, newTestService())
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return connect(t, address, breezewaygrpc.WithSessionOptions(ends.Client...))
}

func TestClientFallsBackToHTTP2OfPlainServers(t *testing.T) {
	folder := t.TempDir()
	ends, err := certificates.Mutual(folder, thisHost)
	if err != nil {
		t.Fatal(err)
	}
	for _, carrier := range []string{"unix", "tcp", "tls"} {
		t.Run(carrier, func(t *testing.T) {
			network, place := "tcp", "127.0.0.1:0"
			if carrier == "unix" {
				network, place = "unix", t.TempDir()+"/s"
			}
			listener, err := net.Listen(network, place)
			if err != nil {
				t.Fatal(err)
			}
			var opts []grpc.ServerOption
			if carrier == "tls" {
				opts = append(opts, grpc.Creds(serverTLS(t, folder)))
			}
			seen, interceptor := gears()
			// The first place has no server.
			address := "shm:" + t.TempDir() + "/none," + carrier + ":" + listener.Addr().String()
			conn := servePlain(t, listener, address, interceptor, ends, opts...)
			for range 3 {
				travels(t, conn, seen, false)
			}
			stream, err := testpb.NewTestServiceClient(conn).FullDuplexCall(within(t))
			if err == nil {
				err = stream.Send(output(1, 1))
			}
			if err != nil {
				t.Fatal(err)
			}
			receives(t, stream, 1)
		})
	}
}

func TestOtherServerAtShmIsUnavailable(t *testing.T) {
	path := t.TempDir() + "/s"
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_, interceptor := gears()
	conn := servePlain(t, listener, "shm:"+path, interceptor, certificates.Session{})
	_, err = testpb.NewTestServiceClient(conn).EmptyCall(within(t), new(testpb.Empty))
	isStatus(t, err, codes.Unavailable, "")
}

// TestClosedHandshakeEndsNoNativeCall has a listener close connections where a server was, as one
// that is about to stop does.
func TestClosedHandshakeEndsNoNativeCall(t *testing.T) {
	path := t.TempDir() + "/s"
	address, service, server := startNative(t, "unix:"+path, breezewaygrpc.Config{})
	conn := connect(t, address)
	client := testpb.NewTestServiceClient(conn)
	stream, err := client.StreamingInputCall(within(t))
	if err != nil {
		t.Fatal(err)
	}
	<-service.hangs
	stopped := make(chan struct{})
	go func() {
		server.GracefulStop()
		close(stopped)
	}()
	var closing net.Listener
	for closing, err = net.Listen("unix", path); err != nil; {
		closing, err = net.Listen("unix", path)
	}
	go func() {
		for {
			accepted, err := closing.Accept()
			if err != nil {
				return
			}
			_ = accepted.Close()
		}
	}()
	for err == nil {
		_, err = client.EmptyCall(within(t), new(testpb.Empty))
	}
	isStatus(t, err, codes.Unavailable, "")
	if _, err = stream.CloseAndRecv(); err != nil {
		t.Error("the call that ran: ", err)
	}
	<-stopped
	_ = closing.Close()
	seen, interceptor := gears()
	startNative(t, "unix:"+path, breezewaygrpc.Config{
		Unary: []grpc.UnaryServerInterceptor{interceptor}})
	travels(t, conn, seen, true)
}

// TestClientIsNativeAgainBehindAClosedHandshake has the first connection closed, as by a server
// that stops. Those behind it reach a server of both gears.
func TestClientIsNativeAgainBehindAClosedHandshake(t *testing.T) {
	seen, interceptor := gears()
	address, _, _ := startNative(t, "tcp:127.0.0.1:0", breezewaygrpc.Config{
		Unary: []grpc.UnaryServerInterceptor{interceptor}})
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer front.Close()
	go func() {
		if closed, err := front.Accept(); err == nil {
			_ = closed.Close()
		}
		for {
			client, err := front.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", strings.TrimPrefix(address, "tcp:"))
			if err != nil {
				t.Error(err)
				return
			}
			for from, to := range map[net.Conn]net.Conn{client: server, server: client} {
				go func() {
					_, _ = io.Copy(to, from)
					_ = to.Close()
				}()
			}
		}
	}()
	conn := connect(t, "tcp:"+front.Addr().String())
	travels(t, conn, seen, false)
	travels(t, conn, seen, true)
}

func TestClientMovesToSuccessorOfItsServer(t *testing.T) {
	path := t.TempDir() + "/s"
	address, _, server := startNative(t, "shm:"+path, breezewaygrpc.Config{})
	client := dialNative(t, address)
	callEveryForm(t, client)
	server.GracefulStop()
	startNative(t, "shm:"+path, breezewaygrpc.Config{})
	callEveryForm(t, client)
}

func TestClientMovesDuringTakeOverWithoutFailedCall(t *testing.T) {
	path := t.TempDir() + "/s"
	address, _, _ := startNative(t, "shm:"+path, breezewaygrpc.Config{},
		breezeway.WithTakeOver(true))
	client, over := dialNative(t, address), make(chan struct{})
	called := make(chan error, 1)
	go func() {
		for {
			select {
			case <-over:
				called <- nil
				return
			default:
			}
			if _, err := client.UnaryCall(within(t), simple(10, 10)); err != nil {
				called <- err
				return
			}
		}
	}()
	for range 3 {
		startNative(t, "shm:"+path, breezewaygrpc.Config{}, breezeway.WithTakeOver(true))
		callEveryForm(t, client)
	}
	close(over)
	if err := <-called; err != nil {
		t.Error(err)
	}
}
