//go:build !amd64

package segment

import "sync/atomic"

// storeReleased stores a word that becomes visible no earlier than earlier stores.
func storeReleased(to *uint64, value uint64) { atomic.StoreUint64(to, value) }
