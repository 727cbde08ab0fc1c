package shm

import "slices"

// granule is the size in bytes to which allocations are rounded: payloads never share a cache line,
// nor the pair of lines that a prefetcher fetches.
const granule = 128

func rounded(n int) int { return (n + granule - 1) &^ (granule - 1) }

// An extent is a run of free bytes.
type extent struct{ offset, length int }

// A space is the free space of one payload segment, in private memory. It allocates first fit from
// a sorted list, because the lowest space is usually the one released last, and still in a cache.
type space struct {
	size    int
	extents []extent
}

func newSpace(size int) *space { return &space{size, []extent{{0, size}}} }

func (s *space) take(n int) (int, bool) {
	n = rounded(n)
	for i := range s.extents {
		free := &s.extents[i]
		if free.length < n {
			continue
		}
		offset := free.offset
		free.offset += n
		free.length -= n
		if free.length == 0 {
			s.extents = slices.Delete(s.extents, i, i+1)
		}
		return offset, true
	}
	return 0, false
}

// giveBack frees space of take(n).
func (s *space) giveBack(offset, n int) {
	n = rounded(n)
	i := 0
	for i < len(s.extents) && s.extents[i].offset < offset {
		i++
	}
	touchesNext := i < len(s.extents) && offset+n == s.extents[i].offset
	touchesPrevious := i > 0 && s.extents[i-1].offset+s.extents[i-1].length == offset
	switch {
	case touchesPrevious && touchesNext:
		s.extents[i-1].length += n + s.extents[i].length
		s.extents = slices.Delete(s.extents, i, i+1)
	case touchesPrevious:
		s.extents[i-1].length += n
	case touchesNext:
		s.extents[i].offset = offset
		s.extents[i].length += n
	default:
		s.extents = slices.Insert(s.extents, i, extent{offset, n})
	}
}

func (s *space) isWhole() bool { return len(s.extents) == 1 && s.extents[0].length == s.size }
