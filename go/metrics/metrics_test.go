package metrics_test

import (
	"context"
	"encoding/json"
	"expvar"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/metrics"
)

// TestMain publishes once, as a name can be published only once in a process.
func TestMain(m *testing.M) {
	metrics.Publish("breezeway")
	os.Exit(m.Run())
}

func published(t *testing.T) (values map[string]uint64) {
	if err := json.Unmarshal([]byte(expvar.Get("breezeway").String()), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

func TestSessionCountersArePublished(t *testing.T) {
	before := published(t)
	server, err := breezeway.Listen("shm:"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *breezeway.Call) error { return call.Echo() })
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	conn, err := breezeway.Dial(context.Background(), server.Addresses()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	const calls, size = 7, 1000
	for range calls {
		reply, err := conn.Call(context.Background(), 0, make([]byte, size))
		if err != nil {
			t.Fatal(err)
		}
		reply.Release()
	}
	reserved, err := conn.Reserve(context.Background(), size)
	if err != nil {
		t.Fatal(err)
	}
	during := published(t)
	if lent := during[`breezeway_lent_bytes{role="client"}`]; lent < size {
		t.Errorf("%d bytes are lent or reserved, want %d at least", lent, size)
	}
	reserved.Abandon()
	_ = conn.Close()
	_ = server.Close()
	<-served
	after := published(t)
	for name, want := range map[string]uint64{
		`breezeway_calls_sent_total{role="client"}`:      calls,
		`breezeway_calls_received_total{role="server"}`:  calls,
		`breezeway_ends_received_total{role="client"}`:   calls,
		`breezeway_bytes_sent_total{role="client"}`:      calls * size,
		`breezeway_bytes_sent_total{role="server"}`:      calls * size,
		`breezeway_sessions_opened_total{role="client"}`: 1,
	} {
		if got := during[name] - before[name]; got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
		if after[name] < during[name] {
			t.Errorf("%s: %d, and %d once the session is over", name, during[name], after[name])
		}
	}
	const live, memory = `breezeway_sessions{role="client"}`,
		`breezeway_own_memory_bytes{role="client"}`
	if during[live] != 1 || after[live] != 0 || during[memory] == 0 || after[memory] != 0 {
		t.Errorf("%d sessions with %d bytes, then %d with %d", during[live], during[memory],
			after[live], after[memory])
	}
}

func TestPollingCountersArePublished(t *testing.T) {
	server, err := breezeway.Listen("shm:"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *breezeway.Call) error { return call.Echo() })
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	conn, err := breezeway.Dial(context.Background(), server.Addresses()[0].String(),
		breezeway.WithWaitPolicy(breezeway.Busy))
	if err != nil {
		t.Fatal(err)
	}
	const spun, polled = `breezeway_spun_total{role="client"}`,
		`breezeway_spin_nanoseconds_total{role="client"}`
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	// A reply that is there at once is not polled for.
	for before, now := published(t), published(t); now[spun] == before[spun] ||
		now[polled] == before[polled]; now = published(t) {
		if _, err := conn.Call(ctx, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	_ = conn.Close()
	_ = server.Close()
	<-served
}

func TestEveryNameIsOneOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := metrics.Write(&text); err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`# TYPE (\w+) (\w+)`).FindAllStringSubmatch(text.String(), -1)
	if len(names) < 20 {
		t.Fatalf("%d names", len(names))
	}
	for _, name := range names {
		if !strings.Contains(string(page), "| `"+name[1]+"` | "+name[2]+" |") {
			t.Errorf("%s, a %s, is not in docs/metrics.md", name[1], name[2])
		}
	}
}
