package breezeway

// mostBackOff is the maximum number of attempts to skip.
const mostBackOff = 63

// A backOff skips attempts at something that did not pay: more of them after each failure, fewer
// after a success.
type backOff struct{ length, left int }

// failed begins to skip attempts.
func (b *backOff) failed() {
	b.length = min(2*b.length+1, mostBackOff)
	b.left = b.length
}

func (b *backOff) paid() { b.length /= 2 }

// isOn returns true while attempts are skipped.
func (b *backOff) isOn() bool { return b.left > 0 }

// skip counts an attempt, and returns true if it is to be skipped.
func (b *backOff) skip() bool {
	if b.left == 0 {
		return false
	}
	b.left--
	return true
}
