package proto

import "fmt"

// MetadataPrefix is the length of the prefix of a metadata block, which holds the block's length.
const MetadataPrefix = 2

// metadataLen validates the metadata block of a body (section 4.3), and returns its length, which
// the prefix of the body holds.
func metadataLen(body int, prefix uint16, limit int) (int, error) {
	if limit == 0 {
		return 0, fmt.Errorf("metadata, of which this side takes none (option MaxMetadata)")
	}
	if body < MetadataPrefix {
		return 0, fmt.Errorf("a body of %d bytes has no room for the length of its metadata", body)
	}
	length := int(prefix)
	if length > body-MetadataPrefix {
		return 0, fmt.Errorf("metadata of %d bytes in a body of %d", length, body)
	}
	if length > limit {
		return 0, fmt.Errorf("metadata of %d bytes; this side takes %d (option MaxMetadata)",
			length, limit)
	}
	return length, nil
}
