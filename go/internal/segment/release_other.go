//go:build !amd64

package segment

import "sync/atomic"

// storeReleased stores a word that is seen no earlier than what was stored before it.
func storeReleased(to *uint64, value uint64) { atomic.StoreUint64(to, value) }
