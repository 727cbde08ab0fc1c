package breezeway

import (
	"errors"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// A memoryLink carries messages by shared memory.
type memoryLink struct {
	end  *shm.Endpoint
	room shm.Room
	// consumed is the progress of the peer as of the last hasProgressed.
	consumed uint64
	// trusted is the value of the option WithTrustedPeer.
	trusted uint64
}

func (l *memoryLink) carrier() Carrier { return Shm }
func (l *memoryLink) flush()           { l.end.Flush() }
func (l *memoryLink) isClosed() bool   { return l.end.IsClosed() }
func (l *memoryLink) maxMessage() int  { return l.end.Cap() }
func (l *memoryLink) close()           { l.end.Close() }
func (l *memoryLink) stop()            { l.end.Stop() }
func (l *memoryLink) exited()          { l.end.Exited() }
func (l *memoryLink) refused() []int   { return l.end.Refused() }

// judged turns errors of the peer into violations. Shortages are errors of this side.
func judged(ok bool, err error) (bool, error) { return ok, violation(err) }

func violation(err error) error {
	if err = exported(err); err == nil || isShortage(err) {
		return err
	}
	return &ViolationError{err.Error()}
}

func isShortage(err error) bool {
	var shortage *ShortageError
	return errors.As(err, &shortage)
}

func (l *memoryLink) take(in *incoming) (taken, progress bool, err error) {
	entry, m := &in.entry, &in.message
	entry.Kind = 0
	taken, err = l.end.Take(entry)
	if err != nil || !taken {
		// If there was an entry, it concerned segments.
		return false, entry.Kind != 0, violation(err)
	}
	if entry.Kind == proto.KindMessage && entry.Flags.Has(proto.FlagLent) {
		lease, err := l.end.Borrow(entry)
		if err != nil {
			return false, false, violation(err)
		}
		*m = Message{}
		m.lease(lease, l.trusted)
		return true, true, nil
	}
	m.length, m.start, m.lent, m.private = entry.Len, 0, nil, nil
	m.metadata, m.hasMetadata = nil, false
	return true, true, nil
}

// send publishes a message with a body of total bytes.
func (l *memoryLink) send(head *proto.Head, out *outgoing, total int) error {
	head.Flags |= out.flags()
	if out.reserved != nil {
		return l.sendReserved(head, out)
	}
	if total > proto.InlineMax {
		return l.lend(head, out, total)
	}
	if out.isPlain() {
		return l.end.Publish(head, out.bytes)
	}
	if m := out.message; m != nil && !out.hasMetadata && m.lent == nil && m.private == nil {
		return l.end.Publish(head, m.inline[m.start:][:m.length])
	}
	var body [proto.InlineMax]byte
	if err := out.writeTo(body[:total]); err != nil {
		return err
	}
	return l.end.Publish(head, body[:total])
}

func (l *memoryLink) lend(head *proto.Head, out *outgoing, total int) error {
	loan, err := l.end.Reserve(total)
	if err != nil {
		return exported(err)
	}
	// Ensure a free ring entry before anything is copied or released.
	err = l.end.NeedSlot()
	if err == nil {
		err = fill(&loan, out)
	}
	if err == nil && out.releases != nil {
		out.releases.Release()
	}
	if err == nil {
		err = l.end.Lend(head, loan)
	}
	if err != nil {
		l.end.Abandon(loan)
	}
	return exported(err)
}

func fill(loan *shm.Loan, out *outgoing) error {
	at := out.prefixLen()
	if at > 0 {
		prefix := make([]byte, at)
		out.writePrefix(prefix)
		loan.CopyIn(0, prefix)
	}
	m := out.message
	switch {
	case m == nil:
		loan.CopyIn(at, out.bytes)
		at += len(out.bytes)
		for _, piece := range out.pieces {
			loan.CopyIn(at, piece)
			at += len(piece)
		}
	case m.lent != nil:
		return m.lent.copyTo(m.generation, loan, at, m.start, m.length)
	case m.private != nil:
		loan.CopyIn(at, m.private[m.start:][:m.length])
	default:
		loan.CopyIn(at, m.inline[m.start:][:m.length])
	}
	return nil
}

func (l *lent) copyTo(generation uint64, loan *shm.Loan, at, from, length int) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.live || l.generation != generation {
		return ErrReleased
	}
	loan.CopyFrom(at, &l.lease, from, length)
	return nil
}

func (l *memoryLink) reserve(n int) (*Reservation, error) {
	if n <= proto.InlineMax {
		return &Reservation{length: n, private: make([]byte, n)}, nil
	}
	loan, err := l.end.Reserve(n)
	if err != nil {
		return nil, exported(err)
	}
	loan.Hold()
	return &Reservation{length: n, loan: loan, isLoan: true}, nil
}

func (l *memoryLink) sendReserved(head *proto.Head, out *outgoing) error {
	r := out.reserved
	switch {
	case !r.isLoan:
		return l.end.Publish(head, r.private)
	case r.loan.Len() > proto.InlineMax:
		return l.end.Lend(head, r.loan)
	}
	// The reservation was truncated to a length that fits into an entry.
	var body [proto.InlineMax]byte
	r.loan.CopyOut(body[:r.loan.Len()])
	err := l.end.Publish(head, body[:r.loan.Len()])
	if err == nil {
		l.end.Abandon(r.loan)
	}
	return err
}

func (l *memoryLink) prepareSleep() (bool, error) { return judged(l.end.PrepareSleep()) }
func (l *memoryLink) armRoom(memory bool)         { l.room = l.end.ArmRoom(memory) }
func (l *memoryLink) disarmRoom()                 { l.end.DisarmRoom() }
func (l *memoryLink) hasRoom() (bool, error)      { return judged(l.end.HasRoom(l.room)) }

// hasProgressed returns true if the peer is known to have consumed entries since the last call.
func (l *memoryLink) hasProgressed() bool {
	before := l.consumed
	l.consumed = l.end.Consumed()
	return l.consumed != before
}

func (l *memoryLink) awake() error { return violation(l.end.Drain()) }

func (l *memoryLink) counters() Counters {
	return Counters(l.end.Counters())
}
