package proto

// Served holds the received requests of the peer: calls until they are replied to, one-way messages
// and streams until they are taken up.
type Served struct {
	numbers   numbers // of the calls
	calls     int
	taken     int // calls that were taken up
	callBytes int // of calls that were not taken up
	posts     int
	postBytes int
	streams   int
	// handlers counts the running handlers of streams, up to maxHandlers.
	handlers, maxHandlers int
	// running counts the running handlers of one-way messages, and runningBytes the bytes of these.
	running, runningBytes int
	// stopped is set once no request is taken up any more.
	stopped  bool
	maxCalls int
	// most is the limit on the bytes of waiting requests. It applies to calls only on a socket: in
	// shared memory, the number of lends bounds them.
	most        int
	limitsCalls bool
	// limitsPosts is true without a window of one-way messages.
	limitsPosts bool
}

// Running returns the number of calls that were taken up and not replied to.
func (s *Served) Running() int { return s.taken }

// BeginStream records that a stream is served. It returns false if the handlers of twice as many
// streams as may be open are running, because the peer opens and resets streams faster than
// handlers end.
func (s *Served) BeginStream() bool {
	if s.handlers == s.maxHandlers {
		return false
	}
	s.handlers++
	return true
}

// StreamServed records the end of a stream's handler.
func (s *Served) StreamServed() { s.handlers-- }

// MostPosts is the maximum number of running handlers of one-way messages, unless their messages
// reach the length of the longest message before. It is that of Rust's servers.
const MostPosts = 1024

// MayRunPost returns true if the handler of another one-way message may run: these have no limit of
// calls in flight, and a refusal could not reach a caller. The client's window bounds handlers that
// hold their message; this limit also bounds those that have released it.
func (s *Served) MayRunPost() bool { return s.running < MostPosts && s.runningBytes < s.most }

// BeginPost records that the handler of a one-way message of length bytes runs.
func (s *Served) BeginPost(length int) {
	s.running++
	s.runningBytes += length
}

// PostServed records the end of such a handler.
func (s *Served) PostServed(length int) {
	s.running--
	s.runningBytes -= length
}

// Stop ends the taking up of requests: this side closes.
func (s *Served) Stop() { s.stopped = true }

// HasStopped returns true after Stop.
func (s *Served) HasStopped() bool { return s.stopped }

// isFlooded returns true if as many requests wait to be taken up as the limits allow.
func (s *Served) isFlooded() bool {
	return s.limitsPosts && (s.posts >= MaxOneWay || s.postBytes >= s.most) ||
		s.limitsCalls && s.callBytes > s.most
}

// Reply returns the head of the reply to a call.
func (h *Head) Reply() Head { return Head{Kind: KindMessage, Flags: FlagFin, Stream: h.Stream} }

// Refusal returns the reply to a call that was not begun and never runs (section 1.2). It returns
// false for streams and one-way messages, which have no reply.
func (h *Head) Refusal() (Head, bool) {
	reply := h.Reply()
	reply.Flags, reply.Tag = reply.Flags|FlagError, uint32(CodeRefused)
	return reply, h.Flags&(FlagStream|FlagNoReply) == 0
}

// CallEnded records that a call that was taken up was replied to, or never will be.
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

// numbers is a set of stream numbers, indexed by number modulo a power of two. Numbers with an
// occupied place go to a map. Ascending numbers seldom collide.
type numbers struct {
	slots  []uint32 // 0 if free
	others map[uint32]struct{}
}

func newNumbers(limit int) numbers { return numbers{slots: make([]uint32, places(limit))} }

// has returns true if the number is in use. For 0, which is never used, it returns true if the
// place of 0 is free.
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
