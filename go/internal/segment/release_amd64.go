package segment

// storeReleased stores a word that is seen no earlier than what was stored before it.
//
//go:noescape
func storeReleased(to *uint64, value uint64)
