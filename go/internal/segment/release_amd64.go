package segment

// storeReleased stores a word that becomes visible no earlier than earlier stores.
//
//go:noescape
func storeReleased(to *uint64, value uint64)
