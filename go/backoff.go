package breezeway

// mostBackOff is for how many tries something is left alone at most.
const mostBackOff = 63

// backOff leaves alone what did not pay: for more tries each time, and for fewer where it pays
// again.
type backOff struct{ length, left int }

// failed begins to leave it alone.
func (b *backOff) failed() {
	b.length = min(2*b.length+1, mostBackOff)
	b.left = b.length
}

func (b *backOff) paid() { b.length /= 2 }

// isOn says whether it is left alone now.
func (b *backOff) isOn() bool { return b.left > 0 }

// skip counts a try that is left out. False if it is to be tried.
func (b *backOff) skip() bool {
	if b.left == 0 {
		return false
	}
	b.left--
	return true
}
