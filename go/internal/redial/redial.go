// Package redial has the pauses between attempts to reach a server.
package redial

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	shortest = time.Millisecond
	longest  = 200 * time.Millisecond
)

// Pauses are pauses of growing length. A random part of each, up to half of it, is left out, so
// that clients do not dial at the same time.
type Pauses struct{ last time.Duration }

// Await waits for the next pause, or until the end of ctx.
func (p *Pauses) Await(ctx context.Context) {
	p.last = min(max(2*p.last, shortest), longest)
	select {
	case <-time.After(p.last - rand.N(p.last/2)):
	case <-ctx.Done():
	}
}
