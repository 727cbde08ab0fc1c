package breezeway_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// silentClients connects clients to an address that send nothing.
func silentClients(t *testing.T, address string, count int) {
	carrier, place, _ := strings.Cut(address, ":")
	network := map[string]string{"shm": "unix", "unix": "unix", "tcp": "tcp", "tls": "tcp"}[carrier]
	for range count {
		conn, err := net.Dial(network, place)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

func TestSilentClientsTakeNoSessionOfOthers(t *testing.T) {
	const most = 4
	for name, limit := range map[string]breezeway.ServerOption{
		"WithMaxSessions":       breezeway.WithMaxSessions(most),
		"WithMaxSessionsOfUser": breezeway.WithMaxSessionsOfUser(most),
	} {
		t.Run(name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, carrier string) {
				address := goServer(t, carrier, echoes, nil, limit,
					breezeway.WithHandshakeTimeout(time.Hour))
				silentClients(t, address, 10*most)
				ctx := within(t, time.Minute)
				for range most {
					if err := echoed(ctx, dial(t, address), []byte("there")); err != nil {
						t.Fatal(err)
					}
				}
				if name == "WithMaxSessionsOfUser" && (carrier == "tcp" || carrier == "tls") {
					return // Users are not known there.
				}
				var refused *breezeway.RefusedError
				_, err := breezeway.Dial(ctx, address, dials()...)
				if !errors.As(err, &refused) || !strings.Contains(refused.Reason, name) {
					t.Errorf("a session too many: %v", err)
				}
			})
		})
	}
}
