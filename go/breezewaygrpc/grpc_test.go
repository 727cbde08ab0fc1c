package breezewaygrpc_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
	"github.com/breezeway-ipc/breezeway/go/internal/certificates"
)

// serve serves gRPC's health service, and returns a client of it.
func serve(t testing.TB, address string, ends certificates.Session) grpc_health_v1.HealthClient {
	listener, err := breezewaygrpc.Listen(address, ends.Server...)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }()
	client, err := grpc.NewClient("passthrough:///test",
		breezewaygrpc.WithDialer(listener.Addr().String(), ends.Client...),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(); server.Stop() })
	return grpc_health_v1.NewHealthClient(client)
}

func TestGRPCRunsOverEveryCarrier(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		client := serve(t, address, ends)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		for range 100 {
			reply, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
			if err != nil || reply.Status != grpc_health_v1.HealthCheckResponse_SERVING {
				t.Fatalf("%v, %v", reply, err)
			}
		}
		watched, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := watched.Recv(); err != nil {
			t.Fatal(err)
		}
	})
}

// thisHost is the address at which the tests listen over TCP.
var thisHost = net.IPv4(127, 0, 0, 1)

// onEveryCarrier runs a test on each carrier. Only tls: uses the certificates in ends.
func onEveryCarrier(t *testing.T,
	test func(t *testing.T, address string, ends certificates.Session)) {
	folder := t.TempDir()
	ends, err := certificates.Mutual(folder, thisHost)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"shm:" + filepath.Join(folder, "shm"),
		"unix:" + filepath.Join(folder, "unix"), "tcp:127.0.0.1:0", "tls:127.0.0.1:0"} {
		t.Run(address[:3], func(t *testing.T) { test(t, address, ends) })
	}
}

// start serves gRPC's health service with credentials. The interceptor check sees each call.
func start(t testing.TB, address string, check grpc.UnaryServerInterceptor,
	opts ...breezeway.ServerOption) (string, *grpc.Server) {
	listener, err := breezewaygrpc.Listen(address, opts...)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(breezewaygrpc.Credentials()), grpc.UnaryInterceptor(check))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	return listener.Addr().String(), server
}

func TestATargetIsResolvedAndBothSidesKnowWhoIsOnTheOtherOne(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		peers := make(chan breezeway.Peer, 1)
		address, _ = start(t, address, func(ctx context.Context, request any,
			_ *grpc.UnaryServerInfo,
			handler grpc.UnaryHandler) (any, error) {
			who, known := breezewaygrpc.PeerOf(ctx)
			if !known {
				t.Error("the context says nothing")
			}
			peers <- who
			return handler(ctx, request)
		}, ends.Server...)
		dialer := breezewaygrpc.NewDialer(ends.Client...)
		defer dialer.Close()
		// An unreachable address is skipped.
		conn, err := grpc.NewClient("breezeway:shm:/nowhere/s,"+address, dialer.Options()...)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		var server peer.Peer
		_, err = grpc_health_v1.NewHealthClient(conn).Check(ctx,
			&grpc_health_v1.HealthCheckRequest{}, grpc.Peer(&server))
		if err != nil {
			t.Fatal(err)
		}
		encrypted := strings.HasPrefix(address, "tls:")
		local := !encrypted && !strings.HasPrefix(address, "tcp:")
		client, info := <-peers, server.AuthInfo.(breezewaygrpc.AuthInfo)
		for name, p := range map[string]breezeway.Peer{"client": client, "server": info.Peer} {
			isThis := int(p.UID) == os.Getuid() && int(p.PID) == os.Getpid()
			if p.Known != local || local && !isThis {
				t.Errorf("the peer is %+v", p)
			}
			if (p.Identity != nil) != encrypted ||
				encrypted && p.Identity.Subject.CommonName != name {
				t.Errorf("the %s shows %+v", name, p.Identity)
			}
		}
		safe := info.SecurityLevel == credentials.PrivacyAndIntegrity
		if safe != (local || encrypted) {
			t.Errorf("the security level is %v", info.SecurityLevel)
		}
	})
	dialer := breezewaygrpc.NewDialer()
	conn, err := grpc.NewClient("breezeway:nonsense", dialer.Options()...)
	if err == nil {
		defer conn.Close()
		_, err = grpc_health_v1.NewHealthClient(conn).Check(context.Background(),
			&grpc_health_v1.HealthCheckRequest{})
	}
	if err == nil {
		t.Error("a target that names no address is called")
	}
}

func TestAServerThatStopsGracefullyServesTheCallsInFlight(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		began, over := make(chan struct{}), make(chan struct{})
		address, server := start(t, address, func(ctx context.Context, request any,
			_ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			close(began)
			<-over
			return handler(ctx, request)
		}, ends.Server...)
		dialer := breezewaygrpc.NewDialer(ends.Client...)
		defer dialer.Close()
		conn, err := grpc.NewClient("breezeway:"+address, dialer.Options()...)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		served := make(chan error, 1)
		go func() {
			_, err := grpc_health_v1.NewHealthClient(conn).Check(context.Background(),
				&grpc_health_v1.HealthCheckRequest{})
			served <- err
		}()
		<-began
		stopped := make(chan struct{})
		go func() { server.GracefulStop(); close(stopped) }()
		for listens := true; listens; { // Until it has begun to stop.
			session, err := breezeway.Dial(context.Background(), address, ends.Client...)
			if listens = err == nil; listens {
				_ = session.Close()
			}
		}
		close(over)
		if err := <-served; err != nil {
			t.Error(err)
		}
		<-stopped
	})
}

func TestACertificateThatIsRefusedFailsTheCallWithWhatIsWrong(t *testing.T) {
	refusals, err := certificates.Refusals(t.TempDir(), thisHost)
	if err != nil {
		t.Fatal(err)
	}
	for _, refusal := range refusals {
		t.Run(refusal.Name, func(t *testing.T) {
			client := serve(t, "tls:127.0.0.1:0", refusal.Session)
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			_, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
			if status.Code(err) != codes.Unavailable ||
				!strings.Contains(err.Error(), refusal.Says) {
				t.Errorf("%v, which does not say %q", err, refusal.Says)
			}
		})
	}
}
