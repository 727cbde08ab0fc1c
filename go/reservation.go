package breezeway

import (
	"io"
	"runtime"
	"sync"

	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// A Reservation is space for one message, which is filled in place: in shared memory, if it is
// longer than 104 bytes. The other side can read it before it is sent. It holds whatever this
// session wrote there before, or zeros.
//
// It is an io.Writer, so that encoders write into it; who does not know the length beforehand
// reserves enough, and truncates. Send it, or Abandon it, also if sending has failed; one that was
// forgotten is abandoned by the garbage collector, late.
type Reservation struct {
	session *session
	length  int
	private []byte
	isLoan  bool
	loan    shm.Loan

	mu      sync.Mutex
	written int
	gone    bool
}

// Len is its length in bytes.
func (r *Reservation) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.length
}

// WriteAt writes bytes to a place, as io.WriterAt says.
func (r *Reservation) WriteAt(bytes []byte, at int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writeAt(bytes, at)
}

func (r *Reservation) writeAt(bytes []byte, at int64) (int, error) {
	if r.gone {
		return 0, ErrSent
	}
	if at < 0 {
		return 0, errNegativeOffset
	}
	n := max(min(len(bytes), r.length-int(min(at, int64(r.length)))), 0)
	if r.isLoan && n > 0 {
		r.loan.CopyIn(int(at), bytes[:n])
	} else if !r.isLoan {
		copy(r.private[min(at, int64(r.length)):], bytes[:n])
	}
	if n < len(bytes) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// Write writes bytes behind those of the last Write.
func (r *Reservation) Write(bytes []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := r.writeAt(bytes, int64(r.written))
	r.written += n
	return n, err
}

// Truncate keeps the first n bytes, if there are more: for a message that turns out shorter than
// what was reserved, as r.Truncate(r.Written()) behind what Write has written.
func (r *Reservation) Truncate(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n = max(n, 0); r.gone || n >= r.length {
		return
	}
	r.length, r.written = n, min(r.written, n)
	if r.isLoan {
		r.loan.Truncate(n)
	} else {
		r.private = r.private[:n]
	}
}

// Written is how many bytes Write has written.
func (r *Reservation) Written() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written
}

// Abandon gives the space back, if it was not sent.
func (r *Reservation) Abandon() {
	if !r.take() {
		return
	}
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.isLoan && !s.freed {
		s.memory.end.Abandon(r.loan)
	}
	r.drop()
}

// abandonIfForgotten gives the space back once nobody can reach the reservation any more.
func (r *Reservation) abandonIfForgotten() {
	if r.isLoan {
		runtime.SetFinalizer(r, (*Reservation).Abandon)
	}
}

// take makes sure that it is sent or abandoned once, and that nobody writes meanwhile.
func (r *Reservation) take() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.gone
	r.gone = true
	return !was
}

// untake takes that back: it was not sent.
func (r *Reservation) untake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = false
}

func (r *Reservation) drop() {
	if r.isLoan {
		runtime.SetFinalizer(r, nil)
		r.loan.Drop()
	}
}

// sentOr ends the reservation if it was sent, and gives it back to its user if not.
func (r *Reservation) sentOr(err error) {
	if err != nil {
		r.untake()
		return
	}
	r.drop()
}
