package breezewaygrpc_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
	"github.com/breezeway-ipc/breezeway/go/internal/certificates"
)

// checked makes health checks.
func checked(t *testing.T, conn *grpc.ClientConn) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client := grpc_health_v1.NewHealthClient(conn)
	for range 10 {
		reply, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		if err != nil || reply.Status != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Fatalf("%v, %v", reply, err)
		}
	}
}

// clientTLS returns the credentials of a plain client for a server of certificates.Mutual in that
// folder.
func clientTLS(t *testing.T, folder string) credentials.TransportCredentials {
	own, err := tls.LoadX509KeyPair(filepath.Join(folder, "client.pem"),
		filepath.Join(folder, "client.key"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	pem, err := os.ReadFile(filepath.Join(folder, "ca.pem"))
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		t.Fatal(err)
	}
	return credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{own}, RootCAs: roots})
}

// serverTLS returns the credentials of a plain server of certificates.Mutual in that folder.
func serverTLS(t *testing.T, folder string) credentials.TransportCredentials {
	own, err := tls.LoadX509KeyPair(filepath.Join(folder, "server.pem"),
		filepath.Join(folder, "server.key"))
	if err != nil {
		t.Fatal(err)
	}
	return credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{own}})
}

func TestPlainClientsOfGRPCAreServedOnEverySocket(t *testing.T) {
	folder := t.TempDir()
	ends, err := certificates.Mutual(folder, thisHost)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"shm:" + filepath.Join(folder, "shm"),
		"unix:" + filepath.Join(folder, "unix"), "tcp:127.0.0.1:0", "tls:127.0.0.1:0"} {
		t.Run(address[:3], func(t *testing.T) {
			known := make(chan bool, 100)
			address, server := start(t, address, func(ctx context.Context, request any,
				_ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
				peer, is := breezewaygrpc.PeerOf(ctx)
				known <- is && (peer.IsSameUser() || peer.Identity != nil)
				return handler(ctx, request)
			}, ends.Server...)
			carrier, place, _ := strings.Cut(address, ":")
			target, secure := "unix:"+place, insecure.NewCredentials()
			switch carrier {
			case "tcp":
				target = place
			case "tls":
				target, secure = place, clientTLS(t, folder)
			}
			conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(secure))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			checked(t, conn)
			if is := <-known; is != (carrier != "tcp") {
				t.Errorf("the peer is known: %v", is)
			}
			stopped := make(chan struct{})
			go func() { server.GracefulStop(); close(stopped) }()
			select {
			case <-stopped:
			case <-time.After(20 * time.Second):
				t.Error("the server does not stop")
			}
		})
	}
}

// TestBreezewayBenchIsServedOnEverySocket makes health checks with the Rust command, over HTTP/2.
func TestBreezewayBenchIsServedOnEverySocket(t *testing.T) {
	command := os.Getenv("BREEZEWAY_BIN")
	if command == "" {
		t.Skip("SKIPPED: BREEZEWAY_BIN does not name the command breezeway")
	}
	for _, carrier := range []string{"shm:", "unix:", "tcp:"} {
		place := filepath.Join(t.TempDir(), "s")
		if carrier == "tcp:" {
			place = "127.0.0.1:0"
		}
		address, _ := start(t, carrier+place, func(ctx context.Context, request any,
			_ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			return handler(ctx, request)
		})
		bench := exec.Command(command, "bench", "--protocol", "grpc", "--gear", "http2", "--addr",
			address, "--count", "100")
		if text, err := bench.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", address, err, text)
		}
	}
}
