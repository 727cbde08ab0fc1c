// Package metrics publishes the statistics of Breezeway's sessions in this process, under the names
// that the Rust crates use (docs/metrics.md): for expvar, and as text for Prometheus.
//
// It records nothing. Sessions keep their sums in any case, and each request reads them.
package metrics

import (
	"expvar"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// Publish publishes the statistics as a map in expvar. Each name can be used once.
func Publish(name string) {
	expvar.Publish(name, expvar.Func(func() any {
		values := map[string]uint64{}
		for _, s := range breezeway.Statistics() {
			values[labelled(s)] = s.Value
		}
		return values
	}))
}

func labelled(s breezeway.Statistic) string {
	if s.Reason != "" {
		return fmt.Sprintf("%s{reason=%q}", s.Name, s.Reason)
	}
	return fmt.Sprintf("%s{role=%q}", s.Name, s.Role)
}

// Write writes the statistics in Prometheus's text format.
func Write(w io.Writer) error {
	var text strings.Builder
	all := breezeway.Statistics()
	typed := map[string]bool{}
	for _, first := range all {
		if typed[first.Name] {
			continue
		}
		typed[first.Name] = true
		kind := "gauge"
		if strings.HasSuffix(first.Name, "_total") {
			kind = "counter"
		}
		fmt.Fprintf(&text, "# TYPE %s %s\n", first.Name, kind)
		for _, s := range all {
			if s.Name == first.Name {
				fmt.Fprintf(&text, "%s %d\n", labelled(s), s.Value)
			}
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// Handler returns a handler that serves the output of Write.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_ = Write(w) // The client may be gone.
	})
}
