package proto

// Served holds the requests of the peer that were received: calls until they are replied to, and
// one-way messages and streams until they are taken up.
type Served struct {
	numbers   numbers // of the calls
	calls     int
	taken     int // of the calls, those that were taken up
	callBytes int // of the calls that were not taken up
	posts     int
	postBytes int
	streams   int
	// handlers are those of streams that run, of at most maxHandlers.
	handlers, maxHandlers int
	// stopped is set once nothing more is taken up.
	stopped  bool
	maxCalls int
	// most is the most bytes of requests that are kept. Those of calls count on a socket only: in
	// shared memory, the lends bound them.
	most        int
	limitsCalls bool
	// limitsPosts is set without a window of one-way messages.
	limitsPosts bool
}

// Running returns the number of calls that were taken up and not replied to.
func (s *Served) Running() int { return s.taken }

// BeginStream notes that a stream which was taken up is served. It returns false if handlers run of
// twice as many streams as may be open: the peer opens and resets them faster than handlers end.
func (s *Served) BeginStream() bool {
	if s.handlers == s.maxHandlers {
		return false
	}
	s.handlers++
	return true
}

// StreamServed notes the end of a stream's handler.
func (s *Served) StreamServed() { s.handlers-- }

// Stop has nothing more taken up: this side closes.
func (s *Served) Stop() { s.stopped = true }

// HasStopped returns true once nothing more is taken up.
func (s *Served) HasStopped() bool { return s.stopped }

// isFlooded returns true if as much waits to be taken up as is to be kept.
func (s *Served) isFlooded() bool {
	return s.limitsPosts && (s.posts >= MaxOneWay || s.postBytes >= s.most) ||
		s.limitsCalls && s.callBytes > s.most
}

// Reply returns the reply to a call.
func (h *Head) Reply() Head { return Head{Kind: KindMessage, Flags: FlagFin, Stream: h.Stream} }

// Refusal returns the reply that a call which was not begun never runs (section 1.2); false for
// streams and one-way messages, which have none.
func (h *Head) Refusal() (Head, bool) {
	reply := h.Reply()
	reply.Flags, reply.Tag = reply.Flags|FlagError, uint32(CodeRefused)
	return reply, h.Flags&(FlagStream|FlagNoReply) == 0
}

// CallEnded notes that a call which was taken up was replied to, or never is.
func (s *Served) CallEnded(number uint32) {
	s.numbers.remove(number)
	s.calls--
	s.taken--
}

func (s *Served) addPost(length int) {
	s.posts++
	s.postBytes += length
}

func (s *Served) addCall(number uint32, length int) {
	s.calls++
	s.callBytes += length
	s.numbers.add(number)
}

// numbers is a set of stream numbers: by number modulo a power of two, and those whose place is
// taken in a map. Numbers that ascend seldom collide.
type numbers struct {
	slots  []uint32 // 0 is a free one
	others map[uint32]struct{}
}

func newNumbers(limit int) numbers { return numbers{slots: make([]uint32, places(limit))} }

// has returns true if the number is in use. 0, which is the number of none, is so if its place is
// free.
func (n *numbers) has(number uint32) bool {
	if len(n.others) == 0 {
		return *n.at(number) == number
	}
	_, is := n.others[number]
	return is || *n.at(number) == number
}

func (n *numbers) add(number uint32) {
	if slot := n.at(number); *slot == 0 {
		*slot = number
		return
	}
	if n.others == nil {
		n.others = map[uint32]struct{}{}
	}
	n.others[number] = struct{}{}
}

func (n *numbers) remove(number uint32) {
	if slot := n.at(number); *slot == number {
		*slot = 0
	} else {
		delete(n.others, number)
	}
}

// at returns the place of a number.
func (n *numbers) at(number uint32) *uint32 {
	return &n.slots[int(number>>1)&(len(n.slots)-1)]
}

// places returns the number of slots for at most limit numbers, a power of two.
func places(limit int) int {
	size := 16
	for size < 2*limit {
		size *= 2
	}
	return size
}
