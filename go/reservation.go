package breezeway

import (
	"io"
	"runtime"
	"sync"

	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// A Reservation is space for one message, which is filled in place. In shared memory, the peer can
// read a reservation of more than 104 bytes before it is sent. Its initial content is zeros, or
// bytes that this session has written there before.
//
// A Reservation is an io.Writer, so that encoders can write into it. If the length is not known in
// advance, reserve enough and truncate. Send or abandon each reservation; if a send fails, send it
// again or abandon it. The garbage collector eventually abandons a reservation that is unreachable.
type Reservation struct {
	session *session
	length  int
	start   int // of the message, behind its metadata block
	private []byte
	isLoan  bool
	loan    shm.Loan

	mu      sync.Mutex
	written int
	gone    bool
}

// Len returns the length in bytes.
func (r *Reservation) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.length
}

// WriteAt implements [io.WriterAt].
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

// Truncate keeps only the first n bytes. It has no effect if the reservation is not longer.
// r.Truncate(r.Written()) cuts the reservation to the bytes of Write.
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

// Written returns the number of bytes that Write has written.
func (r *Reservation) Written() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written
}

// Abandon frees the space, unless the reservation was sent.
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

// abandonIfForgotten has the garbage collector abandon an unreachable reservation.
func (r *Reservation) abandonIfForgotten() {
	if r.isLoan {
		runtime.SetFinalizer(r, (*Reservation).Abandon)
	}
}

// take claims the reservation for one send or Abandon, and blocks further writes. It returns false
// if the reservation is claimed already.
func (r *Reservation) take() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.gone
	r.gone = true
	return !was
}

// untake reverts take after a send that failed.
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

// sentOr ends the reservation if err is nil, and reverts take otherwise.
func (r *Reservation) sentOr(err error) {
	if err != nil {
		r.untake()
		return
	}
	r.drop()
}
