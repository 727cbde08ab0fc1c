package breezewaygrpc_test

import (
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
	"github.com/breezeway-ipc/breezeway/go/internal/programs"
)

// The command reads the types of the messages by reflection, itself a stream.
func TestCommandCallsByReflection(t *testing.T) {
	command := programs.Path(t, "BREEZEWAY_BIN")
	for _, carrier := range []string{"shm:", "unix:"} {
		server := breezewaygrpc.NewServer(breezewaygrpc.Config{})
		grpc_health_v1.RegisterHealthServer(server, health.NewServer())
		reflection.Register(server)
		address := carrier + t.TempDir() + "/health"
		if err := server.Listen(address); err != nil {
			t.Fatal(err)
		}
		go func() { _ = server.Serve() }()
		defer server.Stop()
		for _, c := range []struct {
			method string
			fails  bool
			output string
		}{
			{"grpc.health.v1.Health/Check", false, `{"status":"SERVING"}`},
			{"Nothing/Check", true, "grpc.health.v1.Health"},
		} {
			output, err := exec.Command(command, "call", address, c.method).CombinedOutput()
			if (err != nil) != c.fails || !strings.Contains(string(output), c.output) {
				t.Errorf("%s%s: %v, %s", carrier, c.method, err, output)
			}
		}
	}
}
