//! Two endpoints against a simple model: everything arrives once, in order and unchanged, memory
//! comes back, and the conditions for waiting for memory hold.

use std::collections::VecDeque;
use std::sync::OnceLock;

use crate::support::{FIN, OPEN, Pair, Terms, take};
use breezeway_adversary::interception::{Stopped, Which, with_faults};
use breezeway_shm::layout::{MESSAGE, SEGMENT_RETIRE};
use breezeway_shm::{
    Body, Endpoint, ForeignBytes, Head, Message, SendError, SocketError, Space, Violation, Want,
};
use proptest::prelude::*;
use rustix::io::Errno;

fn head(id: u32) -> Head {
    let flags = OPEN | FIN;
    Head { kind: MESSAGE, flags, stream: id.wrapping_mul(2) | 1, tag: id, time: 0 }
}

/// The bytes of message `id`: a piece of one run of noise, so that no two messages, and no two
/// places in one, are the same.
fn content(id: u32, len: usize) -> &'static [u8] {
    static NOISE: OnceLock<Vec<u8>> = OnceLock::new();
    let noise = NOISE.get_or_init(|| {
        let mut state = 1u64;
        let words = (0..(6 << 20) / 8).flat_map(|_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 8).to_le_bytes()
        });
        words.collect()
    });
    &noise[(id % 100_000) as usize * 16..][..len]
}

/// No file is kept of failures: the smallest one is printed, and belongs into a test of its own.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A message that was published.
#[derive(Clone, Copy, Debug)]
struct Sent {
    id: u32,
    len: usize,
    position: u64,
}

/// One step of one side.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Reserve, fill and publish in one go.
    Send {
        len: usize,
        flush: bool,
    },
    /// Take space and keep it.
    Reserve {
        len: usize,
    },
    /// Publish the space that was taken longest ago.
    Publish,
    /// Give back the space that was taken last.
    Abandon,
    Take,
    /// Release the current entry's payload before the entry is finished.
    ReleaseEarly,
    Finish,
    /// Keep the current message, and end one that was kept.
    Detach,
    EndLease(prop::sample::Index),
    Flush,
    Refresh,
    Drain,
    /// Announce an intent, as before sleeping.
    PrepareSleep {
        want: u8,
    },
}

fn len() -> impl Strategy<Value = usize> {
    prop_oneof![
        4 => 0usize..=110,
        4 => 100usize..5_000,
        2 => 5_000usize..70_000,
        1 => 70_000usize..400_000,
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (len(), any::<bool>()).prop_map(|(len, flush)| Step::Send { len, flush }),
        2 => len().prop_map(|len| Step::Reserve { len }),
        2 => Just(Step::Publish),
        1 => Just(Step::Abandon),
        8 => Just(Step::Take),
        2 => Just(Step::ReleaseEarly),
        8 => Just(Step::Finish),
        3 => Just(Step::Detach),
        3 => any::<prop::sample::Index>().prop_map(Step::EndLease),
        3 => Just(Step::Flush),
        1 => Just(Step::Refresh),
        1 => Just(Step::Drain),
        1 => (0u8..3).prop_map(|want| Step::PrepareSleep { want }),
    ]
}

/// An entry that a side has taken and not finished.
#[derive(Clone, Copy, Debug)]
struct Current {
    sent: Sent,
    released: bool,
}

/// One side and what the model knows of it.
struct Side {
    endpoint: Endpoint,
    /// Published here, not yet taken there.
    queue: VecDeque<Sent>,
    current: Option<Current>,
    reserved: VecDeque<(u32, usize, Space)>,
    /// Payloads that have come back, from the last shortage.
    back: u64,
    kept: Vec<(Sent, Message)>,
}

impl Side {
    fn new(endpoint: Endpoint) -> Self {
        let (queue, reserved) = (VecDeque::new(), VecDeque::new());
        Self { endpoint, queue, current: None, reserved, back: 0, kept: Vec::new() }
    }
}

struct Session {
    sides: [Side; 2],
    terms: Terms,
    next_id: u32,
}

impl Session {
    fn new(terms: Terms) -> Self {
        let Pair { one, other, .. } = Pair::new(terms);
        Self { sides: [Side::new(one), Side::new(other)], terms, next_id: 0 }
    }

    /// Reserves space, and checks that a failure was justified.
    fn reserve(&mut self, side: usize, len: usize) -> Option<(u32, usize, Space)> {
        let cap = self.terms.cap as usize;
        match self.sides[side].endpoint.reserve(len) {
            Ok(mut space) => {
                assert_eq!(space.len(), len);
                assert!(len <= cap.max(104));
                let id = self.next_id;
                self.next_id += 1;
                self.fill(side, id, &mut space);
                Some((id, len, space))
            }
            Err(SendError::TooLarge { .. }) => {
                assert!(len > cap, "{len} of {cap}");
                None
            }
            Err(SendError::NoMemory { until, .. }) => {
                if let Some(Want::Memory { back, .. }) = until {
                    self.sides[side].back = back;
                }
                assert!(len > 104, "inline space needs no memory");
                None
            }
            Err(other) => panic!("reserve {len}: {other}"),
        }
    }

    /// Fills space in one of both ways.
    fn fill(&mut self, side: usize, id: u32, space: &mut Space) {
        let bytes = content(id, space.len());
        let endpoint = &mut self.sides[side].endpoint;
        if id.is_multiple_of(2) {
            endpoint.fill(space).into_bytes().copy_from_slice(bytes);
        } else {
            endpoint.fill(space).write(0, ForeignBytes::stable(bytes));
        }
    }

    fn publish(&mut self, side: usize, (id, len, mut space): (u32, usize, Space)) {
        if len <= 104 {
            // There is one piece of private memory: what was reserved since has filled it again.
            self.fill(side, id, &mut space);
        }
        let this = &mut self.sides[side];
        let position = this.endpoint.published();
        match this.endpoint.send(head(id), Body::Space(&mut space)) {
            Ok(()) => this.queue.push_back(Sent { id, len, position }),
            Err(SendError::Full { .. }) => {
                let held = this.endpoint.published() - this.endpoint.known_consumed();
                assert_eq!(held, u64::from(self.terms.ring_capacity), "full only when it is");
                this.endpoint.abandon(&mut space);
            }
            Err(other) => panic!("publish {id}: {other}"),
        }
        assert!(len <= 104 || space.is_empty(), "published or given back");
    }

    /// Takes the peer's next message, and compares it with the model's.
    fn take(&mut self, side: usize) {
        if self.sides[side].current.is_some() {
            return;
        }
        let taken = take(&mut self.sides[side].endpoint).expect("the peer is honest");
        let expected = self.sides[1 - side].queue.pop_front();
        assert_eq!(taken, expected.is_some(), "everything arrives once");
        let Some(sent) = expected else { return };
        let entry = self.sides[side].endpoint.entry();
        assert_eq!((entry.tag(), entry.kind_number()), (sent.id, MESSAGE), "in order");
        self.sides[side].current = Some(Current { sent, released: false });
        self.check_current(side);
    }

    /// The current message, as long as it is not released, is what was sent.
    fn check_current(&self, side: usize) {
        if let Some(Current { sent, released: false }) = self.sides[side].current {
            let body = self.sides[side].endpoint.body();
            assert_eq!(body.len(), sent.len);
            assert!(body.to_vec() == content(sent.id, sent.len), "message {} changed", sent.id);
            assert_eq!(body.as_slice().is_some(), sent.len <= 104, "a slice of private bytes only");
        }
    }

    fn detach(&mut self, side: usize) {
        let this = &mut self.sides[side];
        let Some(Current { sent, released }) = this.current.take() else { return };
        let message = this.endpoint.detach();
        if released && sent.len > 104 {
            assert!(message.is_empty(), "it was released before");
        } else {
            this.kept.push((sent, message));
        }
    }

    /// Kept messages are unchanged, however much has come since.
    fn check_kept(&self, side: usize) {
        for (sent, message) in &self.sides[side].kept {
            assert_eq!(message.len(), sent.len);
            assert_eq!(message.is_lent(), sent.len > 104);
            assert!(message.to_vec() == content(sent.id, sent.len), "kept {} changed", sent.id);
        }
    }

    fn finish(&mut self, side: usize) {
        if self.sides[side].current.take().is_some() {
            self.sides[side].endpoint.finish().unwrap();
        }
    }

    fn step(&mut self, side: usize, step: Step) {
        match step {
            Step::Send { len, flush } => {
                if let Some(reserved) = self.reserve(side, len) {
                    self.publish(side, reserved);
                }
                if flush {
                    self.sides[side].endpoint.flush().unwrap();
                }
            }
            Step::Reserve { len } => {
                let reserved = self.reserve(side, len);
                self.sides[side].reserved.extend(reserved);
            }
            Step::Publish => {
                if let Some(reserved) = self.sides[side].reserved.pop_front() {
                    self.publish(side, reserved);
                }
            }
            Step::Abandon => {
                if let Some((.., mut space)) = self.sides[side].reserved.pop_back() {
                    self.sides[side].endpoint.abandon(&mut space);
                }
            }
            Step::Take => self.take(side),
            Step::ReleaseEarly => {
                if let Some(current) = &mut self.sides[side].current {
                    current.released = true;
                    self.sides[side].endpoint.release();
                }
            }
            Step::Finish => self.finish(side),
            Step::Detach => self.detach(side),
            Step::EndLease(index) => {
                let kept = &mut self.sides[side].kept;
                if !kept.is_empty() {
                    kept.swap_remove(index.index(kept.len()));
                }
            }
            Step::Flush => self.sides[side].endpoint.flush().unwrap(),
            Step::Refresh => {
                let this = &mut self.sides[side];
                let before = this.endpoint.known_consumed();
                this.endpoint.refresh().unwrap();
                let now = this.endpoint.known_consumed();
                assert!((before..=this.endpoint.published()).contains(&now));
                let waiting = this.queue.front().map(|sent| sent.position);
                assert!(waiting.is_none_or(|position| now <= position), "consumed, not taken");
            }
            Step::Drain => {
                self.sides[side].endpoint.drain().unwrap();
                assert!(!self.sides[side].endpoint.is_closed());
            }
            Step::PrepareSleep { want } => {
                let consumed = self.sides[side].endpoint.known_consumed();
                let memory = Want::Memory { consumed, back: self.sides[side].back };
                let want = [Want::Data, Want::Consumed(consumed), memory][usize::from(want)];
                let sleeps = self.sides[side].endpoint.prepare_sleep(want, None).unwrap();
                if !matches!(want, Want::Consumed(_)) && self.sides[side].current.is_none() {
                    let waits = !self.sides[1 - side].queue.is_empty();
                    assert!(!(sleeps && waits), "asleep though something is there");
                }
            }
        }
        for side in [0, 1] {
            self.check_current(side);
            self.check_kept(side);
        }
    }

    /// Receives everything, gives everything back, and publishes all of it.
    fn settle(&mut self) {
        for side in [0, 1] {
            while let Some((.., mut space)) = self.sides[side].reserved.pop_back() {
                self.sides[side].endpoint.abandon(&mut space);
            }
            self.sides[side].kept.clear();
        }
        self.receive_all();
        for side in [0, 1] {
            assert!(self.sides[side].queue.is_empty());
            let endpoint = &mut self.sides[side].endpoint;
            endpoint.refresh().unwrap();
            assert_eq!(endpoint.known_consumed(), endpoint.published(), "all is consumed");
        }
    }

    fn receive_all(&mut self) {
        for side in [0, 1] {
            self.finish(side);
            loop {
                self.take(side);
                if self.sides[side].current.is_none() {
                    break;
                }
                self.finish(side);
            }
            self.sides[side].endpoint.flush().unwrap();
        }
    }

    /// Once nothing is lent, the largest message fits again, however the memory was cut up before.
    fn expect_all_memory_back(&mut self) {
        let cap = self.terms.cap as usize;
        for side in [0, 1] {
            // Dropping segments takes ring slots, which the peer must consume.
            let space = (0..64).find_map(|_| {
                let reserved = self.sides[side].endpoint.reserve(cap).ok();
                self.receive_all();
                reserved
            });
            let mut space = space.unwrap_or_else(|| panic!("side {side} lacks memory for {cap}"));
            self.sides[side].endpoint.abandon(&mut space);
        }
    }

    /// Every lend number can be used again.
    fn expect_all_numbers_back(&mut self) {
        let count = self.terms.lend_count as usize;
        for side in [0, 1] {
            let mut spaces = Vec::new();
            while let Some(reserved) = self.reserve(side, 105) {
                spaces.push(reserved);
            }
            // The space may end before the numbers do, never the other way round.
            let fits = self.terms.cap as usize / 128;
            assert_eq!(spaces.len(), count.min(fits));
            for (.., mut space) in spaces {
                self.sides[side].endpoint.abandon(&mut space);
            }
            self.receive_all();
        }
    }
}

fn terms() -> impl Strategy<Value = Terms> {
    let ring_capacity = prop_oneof![Just(8u32), Just(16), Just(64)];
    let lend_count = prop_oneof![Just(64u32), Just(128), Just(1024)];
    let cap = prop_oneof![Just(4_096u64), Just(65_536), Just(1 << 19), Just(1 << 21)];
    (ring_capacity, lend_count, cap).prop_map(|(ring_capacity, lend_count, cap)| Terms {
        ring_capacity,
        lend_count,
        cap,
    })
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn messages_arrive_once_in_order_and_memory_returns(
        terms in terms(),
        steps in prop::collection::vec((0usize..2, step()), 1..250),
    ) {
        let mut session = Session::new(terms);
        for (side, step) in steps {
            session.step(side, step);
        }
        session.settle();
        session.expect_all_memory_back();
        session.expect_all_numbers_back();
        // The session continues as if nothing had happened.
        for side in [0, 1] {
            session.step(side, Step::Send { len: terms.cap as usize, flush: true });
            session.step(1 - side, Step::Take);
            session.step(1 - side, Step::Finish);
        }
        session.settle();
    }
}

/// One step of a receiver that has at most one lent message.
#[derive(Clone, Copy, Debug)]
enum Receiving {
    Take,
    ReleaseEarly,
    Finish,
    /// Keep the message.
    Detach,
    /// End what was kept, here or on another thread.
    End {
        elsewhere: bool,
    },
    Flush,
    FlushProgress,
    /// A message of its own, which may carry the release.
    Answer,
    PrepareSleep,
}

fn receiving() -> impl Strategy<Value = Receiving> {
    prop_oneof![
        3 => Just(Receiving::Take),
        1 => Just(Receiving::ReleaseEarly),
        3 => Just(Receiving::Finish),
        1 => Just(Receiving::Detach),
        2 => any::<bool>().prop_map(|elsewhere| Receiving::End { elsewhere }),
        1 => Just(Receiving::Flush),
        1 => Just(Receiving::FlushProgress),
        1 => Just(Receiving::PrepareSleep),
        1 => Just(Receiving::Answer),
    ]
}

/// State of the one payload that the sender has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lent {
    /// In the ring, or held by the receiver.
    Held,
    /// Released by the receiving thread, which may hide that until its next entry or wait.
    Hidden,
    /// Released so that the sender must see it.
    Visible,
}

/// A sender with room for one payload, and small messages around it: it has the memory again when
/// the receiver has released it, at the latest when that flushed, waited or answered, and not
/// before. The receiver's progress has no influence.
fn memory_follows_releases(capacity: u32, steps: &[(Receiving, u8)]) {
    const LEN: usize = 40_000;
    let terms = Terms { ring_capacity: capacity, cap: 65_536, ..Terms::default() };
    let Pair { one: mut sender, other: mut receiver, .. } = Pair::new(terms);
    let mut lent = None;
    let mut kept = None;
    for &(step, small) in steps {
        if lent.is_none()
            && let Ok(mut space) = sender.reserve(LEN)
        {
            match sender.send(head(0), Body::Space(&mut space)) {
                Ok(()) => lent = Some(Lent::Held),
                Err(_) => sender.abandon(&mut space),
            }
        }
        for _ in 0..small {
            // Full is fine.
            let _ = sender.send(head(1), Body::Bytes(b"small"));
        }
        let held = receiver.has_current() && receiver.body().len() == LEN;
        match step {
            Receiving::Take => drop(take(&mut receiver).unwrap()),
            Receiving::ReleaseEarly => {
                receiver.release();
                lent = if held { Some(Lent::Hidden) } else { lent };
            }
            Receiving::Finish => {
                receiver.finish().unwrap();
                lent = if held { Some(Lent::Hidden) } else { lent };
            }
            Receiving::Detach if held => kept = Some(receiver.detach()),
            Receiving::Detach => {}
            Receiving::End { elsewhere } => {
                if let Some(message) = kept.take() {
                    match elsewhere {
                        true => std::thread::spawn(|| drop(message)).join().unwrap(),
                        false => drop(message),
                    }
                    lent = Some(Lent::Visible);
                }
            }
            Receiving::Flush => receiver.flush().unwrap(),
            Receiving::FlushProgress => receiver.flush_progress().unwrap(),
            Receiving::Answer => drop(receiver.send(head(2), Body::Bytes(b"answer"))),
            Receiving::PrepareSleep => drop(receiver.prepare_sleep(Want::Data, None).unwrap()),
        }
        use Receiving::{Answer, Flush, FlushProgress, PrepareSleep};
        let shown = matches!(step, Flush | FlushProgress | PrepareSleep | Answer);
        if shown && lent == Some(Lent::Hidden) {
            lent = Some(Lent::Visible);
        }
        while take(&mut sender).unwrap() {
            sender.finish().unwrap();
        }
        match (sender.reserve(LEN), lent) {
            (Ok(mut space), Some(Lent::Hidden | Lent::Visible)) => {
                sender.abandon(&mut space);
                lent = None;
            }
            (Ok(_), Some(Lent::Held)) => panic!("{step:?}: memory that is read"),
            (Err(_), Some(Lent::Visible)) => panic!("{step:?}: it was released"),
            (Ok(mut space), None) => sender.abandon(&mut space),
            (Err(SendError::NoMemory { .. }), _) => {}
            (Err(error), _) => panic!("{error}"),
        }
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn released_memory_returns_by_the_receivers_next_wait(
        capacity in prop_oneof![Just(8u32), Just(16), Just(64)],
        steps in prop::collection::vec((receiving(), 0u8..3), 1..300),
    ) {
        memory_follows_releases(capacity, &steps);
    }
}

/// Sends a payload and gives its position.
fn lend(endpoint: &mut Endpoint, id: u32, len: usize) -> Result<u64, SendError> {
    let mut space = endpoint.reserve(len)?;
    let position = endpoint.published();
    endpoint.fill(&mut space).into_bytes().copy_from_slice(content(id, len));
    endpoint.send(head(id), Body::Space(&mut space)).expect("the ring has room");
    Ok(position)
}

fn receive_all(endpoint: &mut Endpoint) -> usize {
    let mut messages = 0;
    while take(endpoint).unwrap() {
        messages += 1;
        endpoint.finish().unwrap();
    }
    endpoint.flush().unwrap();
    messages
}

#[test]
fn a_message_of_the_cap_fits_and_one_byte_more_does_not() {
    let mut pair = Pair::new(Terms { cap: 65_536, ..Terms::default() });
    assert_eq!(pair.one.cap(), 65_536);
    assert!(matches!(pair.one.reserve(65_537), Err(SendError::TooLarge { len: 65_537, .. })));
    lend(&mut pair.one, 0, 65_536).unwrap();
    assert!(take(&mut pair.other).unwrap());
    assert!(pair.other.body().to_vec() == content(0, 65_536));
}

#[test]
fn lend_numbers_run_out_and_return_by_release() {
    let mut pair = Pair::new(Terms { lend_count: 64, ring_capacity: 256, ..Terms::default() });
    for id in 0..64 {
        lend(&mut pair.one, id, 105).unwrap();
    }
    assert!(matches!(lend(&mut pair.one, 64, 105), Err(SendError::NoMemory { .. })));
    assert!(pair.one.reserve(104).is_ok(), "an inline message needs no number");
    for id in 64..200 {
        assert!(take(&mut pair.other).unwrap());
        assert!(pair.other.body().to_vec() == content(id - 64, 105));
        pair.other.finish().unwrap();
        pair.other.flush().unwrap();
        lend(&mut pair.one, id, 105).unwrap();
        assert!(matches!(pair.one.reserve(105), Err(SendError::NoMemory { .. })));
    }
    assert_eq!(receive_all(&mut pair.other), 64);
    assert_eq!(pair.one.payload_memory().own, 64 * 1024, "one small segment did");
}

#[test]
fn space_that_is_abandoned_costs_nothing() {
    let mut pair = Pair::new(Terms::default());
    for round in 0..10_000 {
        let mut space = pair.one.reserve(1 + round * 7 % 200_000).unwrap();
        pair.one.abandon(&mut space);
        assert!(space.is_empty());
        pair.one.abandon(&mut space);
    }
    assert!(pair.one.payload_memory().own <= 512 * 1024);
    assert!(pair.one.published() <= 3, "at most three segments were announced");
}

#[test]
fn segments_are_added_by_need_and_dropped_at_the_cap() {
    let mut pair = Pair::new(Terms { cap: 4 << 20, ..Terms::default() });
    lend(&mut pair.one, 0, 200_000).unwrap();
    lend(&mut pair.one, 1, 200_000).unwrap();
    let grown = pair.one.payload_memory().own;
    assert!(grown > 64 * 1024 && grown <= 4 << 20);
    // As large as the cap: only if all that is there goes first.
    assert!(matches!(pair.one.reserve(4 << 20), Err(SendError::NoMemory { .. })));
    assert_eq!(receive_all(&mut pair.other), 2);
    lend(&mut pair.one, 2, 4 << 20).unwrap();
    assert_eq!(pair.one.payload_memory().own, 4 << 20);
    // The receiver drops them as well, else the sum would pass the cap.
    assert!(take(&mut pair.other).unwrap());
    assert!(pair.other.body().to_vec() == content(2, 4 << 20));
    pair.other.finish().unwrap();
    pair.other.flush().unwrap();
    for round in 0..50 {
        let len = [4 << 20, 1_000, 2_100_000][round % 3];
        lend(&mut pair.one, round as u32, len).unwrap();
        assert!(pair.one.payload_memory().own <= 4 << 20);
        assert_eq!(receive_all(&mut pair.other), 1);
    }
}

#[test]
fn a_segment_from_which_something_is_lent_is_never_dropped() {
    let mut pair = Pair::new(Terms { cap: 1 << 20, ..Terms::default() });
    lend(&mut pair.one, 0, 1_000).unwrap();
    assert!(take(&mut pair.other).unwrap());
    for _ in 0..100 {
        assert!(matches!(pair.one.reserve(1 << 20), Err(SendError::NoMemory { .. })));
        assert!(pair.other.body().to_vec() == content(0, 1_000));
    }
    assert_eq!(pair.one.payload_memory().own, 64 * 1024);
}

#[test]
fn a_full_ring_gives_the_space_back_to_the_caller() {
    let mut pair = Pair::new(Terms { ring_capacity: 8, ..Terms::default() });
    let mut space = pair.one.reserve(1_000).unwrap();
    pair.one.fill(&mut space).into_bytes().copy_from_slice(content(7, 1_000));
    while pair.one.send(head(1), Body::Bytes(b"x")).is_ok() {}
    assert!(matches!(pair.one.send(head(7), Body::Space(&mut space)), Err(SendError::Full { .. })));
    assert_eq!(space.len(), 1_000);
    // The segment's entry, and seven messages.
    assert_eq!(receive_all(&mut pair.other), 7);
    pair.one.send(head(7), Body::Space(&mut space)).unwrap();
    assert!(take(&mut pair.other).unwrap());
    assert!(pair.other.body().to_vec() == content(7, 1_000));
}

#[test]
#[should_panic(expected = "reserved by another endpoint")]
fn space_of_another_endpoint_is_not_filled() {
    let mut pair = Pair::new(Terms::default());
    let mut space = pair.one.reserve(1_000).unwrap();
    // The other endpoint's memory at the same place may be lent.
    lend(&mut pair.other, 0, 1_000).unwrap();
    pair.other.fill(&mut space).into_bytes().fill(1);
}

#[test]
#[should_panic(expected = "reserved by another endpoint")]
fn space_of_another_endpoint_is_not_sent() {
    let mut pair = Pair::new(Terms::default());
    let mut space = pair.one.reserve(1_000).unwrap();
    let _ = pair.other.send(head(0), Body::Space(&mut space));
}

#[test]
#[should_panic(expected = "reserved by another endpoint")]
fn space_of_another_endpoint_is_not_given_back() {
    let mut pair = Pair::new(Terms::default());
    let mut space = pair.one.reserve(1_000).unwrap();
    pair.other.abandon(&mut space);
}

#[test]
fn growing_waits_for_a_ring_slot_and_takes_nothing_meanwhile() {
    let mut pair = Pair::new(Terms { ring_capacity: 8, ..Terms::default() });
    while pair.one.send(head(1), Body::Bytes(b"x")).is_ok() {}
    for _ in 0..10 {
        assert!(matches!(pair.one.reserve(1_000), Err(SendError::NoMemory { .. })));
    }
    assert_eq!(pair.one.payload_memory().own, 0);
    assert_eq!(receive_all(&mut pair.other), 8);
    assert!(pair.one.reserve(1_000).is_ok());
}

#[test]
fn committed_messages_are_taken_after_the_end() {
    let mut pair = Pair::new(Terms::default());
    lend(&mut pair.one, 0, 5_000).unwrap();
    pair.one.send(head(1), Body::Bytes(b"last")).unwrap();
    drop(pair.one);
    pair.other.drain().unwrap();
    assert!(pair.other.is_closed());
    assert!(take(&mut pair.other).unwrap());
    assert!(pair.other.body().to_vec() == content(0, 5_000));
    pair.other.finish().unwrap();
    assert!(take(&mut pair.other).unwrap());
    assert_eq!(pair.other.body().to_vec(), b"last");
    pair.other.finish().unwrap();
    assert!(!take(&mut pair.other).unwrap());
}

#[test]
fn event_in_a_shortage_is_read_again_without_another_event() {
    let mut pair = Pair::new(Terms::default());
    lend(&mut pair.one, 0, 5_000).unwrap();
    let mut is_short = |_: &Stopped| Some(Errno::NOBUFS);
    let outcome = with_faults(&[(libc::SYS_recvmsg, Which::All)], &mut is_short, || {
        pair.other.note_bytes();
        pair.other.read_unread().unwrap();
        pair.other.is_unread()
    });
    match outcome {
        Ok(is_unread) => assert!(is_unread, "no event reports the segment again"),
        Err(error) => return println!("SKIPPED: no system calls can be intercepted: {error}"),
    }
    drop(pair.one);
    pair.other.read_unread().unwrap();
    assert!(!pair.other.is_unread());
    assert!(pair.other.is_closed(), "whatever is behind it is read as well");
}

#[test]
fn endpoint_that_saw_the_end_does_not_sleep() {
    for want in [Want::Data, Want::Consumed(0)] {
        let mut pair = Pair::new(Terms::default());
        drop(pair.one);
        pair.other.drain().unwrap();
        assert!(pair.other.is_closed());
        assert!(!pair.other.prepare_sleep(want, None).unwrap(), "{want:?}");
    }
}

#[test]
fn an_announced_sleep_is_rung_and_no_other() {
    let mut pair = Pair::new(Terms::default());
    pair.one.send(head(0), Body::Bytes(b"x")).unwrap();
    pair.one.flush().unwrap();
    assert_eq!(pair.one.meter().totals().doorbells, 0);
    assert_eq!(receive_all(&mut pair.other), 1);
    assert!(pair.other.prepare_sleep(Want::Data, None).unwrap());
    for _ in 0..5 {
        pair.one.send(head(0), Body::Bytes(b"x")).unwrap();
        pair.one.flush().unwrap();
    }
    assert_eq!(pair.one.meter().totals().doorbells, 1, "once per intent");
    assert!(!pair.other.prepare_sleep(Want::Data, None).unwrap(), "something is there");
}

#[test]
fn an_entry_that_broke_a_rule_is_never_handed_out() {
    let mut pair = Pair::new(Terms::default());
    pair.one.send(Head::of_session(SEGMENT_RETIRE, 9), Body::Bytes(&[])).unwrap();
    let refused = pair.other.take();
    assert!(
        matches!(refused, Err(SocketError::Violation(Violation::UnknownSegment(9)))),
        "{refused:?}"
    );
    assert!(!matches!(pair.other.take(), Ok(true)), "handed out after all");
}
