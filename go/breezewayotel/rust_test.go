package breezewayotel_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/internal/idl/room"
	"github.com/breezeway-ipc/breezeway/go/internal/programs"
)

func TestTraceContinuesInAServerInRust(t *testing.T) {
	address := "shm:" + t.TempDir() + "/room"
	command := exec.Command(programs.Path(t, "BREEZEWAY_INTEROP"), "serve-users", address)
	command.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint,
		"OTEL_BSP_SCHEDULE_DELAY=1")
	programs.Start(t, command).Says(t) // It listens.
	client := room.NewRoomClient(clientOf(t, address))
	for name, call := range map[string]func(ctx context.Context) error{
		"Room/say": func(ctx context.Context) error {
			_, err := client.Say(ctx, line(""))
			return err
		},
		"Room/listen": func(ctx context.Context) error { return listened(ctx, client, "1") },
	} {
		all := traced(t, 2, func(ctx context.Context) {
			if err := call(ctx); err != nil {
				t.Error(err)
			}
		})
		client, server := all.ends(t, name)
		isOk(t, client)
		isOk(t, server)
		if carrier := attribute(server, "breezeway.carrier"); carrier != "shm" {
			t.Errorf("the carrier is %q", carrier)
		}
	}
}
