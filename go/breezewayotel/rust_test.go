package breezewayotel_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/internal/idl/room"
)

func TestTraceContinuesInAServerInRust(t *testing.T) {
	program := os.Getenv("BREEZEWAY_INTEROP")
	if program == "" {
		t.Skip("needs the program of the variable BREEZEWAY_INTEROP, as make go sets it")
	}
	address := "shm:" + t.TempDir() + "/room"
	server := exec.Command(program, "serve-users", address)
	server.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint,
		"OTEL_BSP_SCHEDULE_DELAY=1")
	server.Stderr = os.Stderr
	input, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	bufio.NewScanner(output).Scan() // It listens.
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
	_ = input.Close()
}
