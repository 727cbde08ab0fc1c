//! loom models of the ring and of sleeping and waking, and of mutants of them that must fail.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p breezeway-shm --profile model --lib --target-dir target/loom model`
//!
//! The ring and the order of publications, intents and fences ([`Duplex`]) are the shipped code. [`End`] stands for `Endpoint`, which needs sockets and mappings, and takes
//! its steps in the same order. The session socket is a [`Socket`]: bytes stay until they are read, and one that is full takes no more.
//!
//! Limits of the checker. Loads return old values as C11 allows, but a load never sees a store that the schedule has not yet made: reordering of a load with a
//! *later* store (load buffering) is out of its reach. A copy of an entry that a later lap overwrites is such a case, so entries alone do not show that
//! `consumed` must be released and acquired; a plain cell does, since there loom demands happens-before itself. And a full fence synchronises with every full fence
//! before it, which is more than C11 promises for plain cells; the models of publishing and of payload therefore run without one.
//!
//! Every schedule is run, except where a test names a bound, for those models would take minutes. A bound counts preemptions, not the switches of a thread that waits; each mutant
//! of a bounded model is found with two.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Once};

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::{Condvar, Mutex};
use loom::thread;

use super::entry::{Entry, Flags, Head, Kind};
use super::layout::{ENTRY_SIZE, INLINE_FIRST_LINE, NO_WAKE};
use super::mutants::{self, DATA_WAKE_AT, Mutant, RING_AT, SPACE_WAKE_AT};
use super::sync::{AtomicU64, FenceSite};
use super::words::{ForeignWords, OwnWords};
use super::{Consumer, Producer, PublishFailure};
use super::{Duplex, Want};

// ---- checking ----

/// Runs every schedule of `model` with at most so many preemptions; `None`: every schedule.
fn holds(preemptions: Option<usize>, model: fn()) {
    let schedules = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let count = Arc::clone(&schedules);
    let mut checker = Builder::new();
    checker.preemption_bound = preemptions;
    checker.check(move || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        model();
    });
    println!("{} schedules", schedules.load(std::sync::atomic::Ordering::Relaxed));
}

thread_local! {
    static PANIC_EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Whether some schedule of the mutant without `what` fails, and says `how`.
fn fails(what: Mutant, how: &str, preemptions: Option<usize>, model: fn()) {
    let found = outcome_without(what, preemptions, model)
        .err()
        .unwrap_or_else(|| panic!("the model does not notice that {what:?} is missing"));
    let said = found
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| found.downcast_ref::<&str>().copied())
        .unwrap_or_default();
    println!("without {what:?}: {said}");
    assert!(said.contains(how), "without {what:?} expected `{how}`, but: {said}");
}

fn outcome_without(
    what: Mutant,
    preemptions: Option<usize>,
    model: fn(),
) -> Result<(), Box<dyn Any + Send>> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !PANIC_EXPECTED.get() {
                report(info);
            }
        }));
    });
    PANIC_EXPECTED.set(true);
    let outcome = mutants::without(what, || {
        panic::catch_unwind(AssertUnwindSafe(|| holds(preemptions, model)))
    });
    PANIC_EXPECTED.set(false);
    outcome
}

/// What loom says when every thread waits: somebody sleeps who should have been woken.
const LOST_WAKE_UP: &str = "deadlock";
/// What loom says of a plain cell that is read and written without order.
const DATA_RACE: &str = "Causality violation";
/// What [`check`] says of an entry that is not what was sent.
const TORN_ENTRY: &str = "torn entry";

// ---- the parts ----

/// A direction of the session socket.
struct Socket {
    /// Bytes that fit; ringing a full socket does nothing (`EAGAIN`).
    room: u32,
    received: Mutex<Received>,
    arrival: Condvar,
}

#[derive(Default)]
struct Received {
    bytes: u32,
    /// Whether something arrived since an edge-triggered epoll last said so.
    edge: bool,
}

impl Socket {
    /// A socket with so many unread bytes.
    fn with_bytes(bytes: u32, room: u32) -> Arc<Self> {
        let received = Mutex::new(Received { bytes, edge: bytes > 0 });
        Arc::new(Self { room, received, arrival: Condvar::new() })
    }

    fn ring(&self) {
        let mut received = self.received.lock().unwrap();
        if received.bytes < self.room {
            received.bytes += 1;
            received.edge = true;
            self.arrival.notify_one();
        }
    }

    /// `recvmsg(MSG_DONTWAIT)` until there is nothing.
    fn drain(&self) {
        self.received.lock().unwrap().bytes = 0;
    }

    /// `recvmsg`: waits for a byte and reads what is there.
    fn sleep(&self) {
        let mut received = self.received.lock().unwrap();
        while received.bytes == 0 {
            received = self.arrival.wait(received).unwrap();
        }
        received.bytes = 0;
    }

    /// `epoll_wait` with `EPOLLET`: waits for an arrival after the last one it told of, and reads nothing.
    fn sleep_until_edge(&self) {
        let mut received = self.received.lock().unwrap();
        while !received.edge || received.bytes == 0 {
            received = self.arrival.wait(received).unwrap();
        }
        received.edge = false;
    }
}

/// One end of a session: the shipped [`Duplex`], and around it the steps of `Endpoint` in its order.
struct End {
    duplex: Duplex,
    hears: Arc<Socket>,
    rings: Arc<Socket>,
    /// Intents between two readings of the socket.
    intents_per_drain: u32,
    intents_since_drain: u32,
    entry: Entry,
}

impl End {
    fn publish(&mut self, number: u32, body: &[u8]) -> bool {
        match self.duplex.producer.publish(head(number), 0, body) {
            Ok(()) => true,
            Err(PublishFailure::Full) => false,
            Err(PublishFailure::Violation(violation)) => panic!("{violation}"),
        }
    }

    fn flush(&mut self) {
        if self.duplex.flush() {
            self.rings.ring();
        }
    }

    fn take(&mut self) -> bool {
        self.duplex.consumer.peek(&mut self.entry).unwrap_or_else(|violation| panic!("{violation}"))
    }

    fn finish(&mut self) {
        if self.duplex.consumer.advance() {
            self.flush();
        }
    }

    fn has(&mut self, want: Want) -> bool {
        self.duplex.has(want).unwrap_or_else(|violation| panic!("{violation}"))
    }

    fn prepare_sleep(&mut self, want: Want) -> bool {
        self.prepare_sleep_while(want, || ())
    }

    /// Prepares to sleep while, after the announcement, the peer does `meanwhile`.
    fn prepare_sleep_while(&mut self, want: Want, meanwhile: impl FnOnce()) -> bool {
        if mutants::lacks(Mutant::SharedFence) {
            self.duplex.consumer.publish_progress();
            if self.duplex.consumer.doorbell_due() {
                self.rings.ring();
            }
        }
        if self.duplex.announce(want) {
            self.rings.ring();
        }
        meanwhile();
        if !mutants::lacks(Mutant::CountOfIntents) {
            self.intents_since_drain += 1;
        }
        if !mutants::lacks(Mutant::Recheck) && self.has(want) {
            return false;
        }
        if mutants::lacks(Mutant::CountOfIntents) {
            self.intents_since_drain += 1;
        }
        if self.intents_since_drain >= self.intents_per_drain {
            self.intents_since_drain = 0;
            self.hears.drain();
            if !mutants::lacks(Mutant::RecheckAfterDrain) && self.has(want) {
                return false;
            }
        }
        true
    }

    /// What a receiver owes the peer that sleeps for space before it spins on a drained ring, for it may spin for ever.
    fn prepare_spin(&mut self) {
        if !mutants::removed(FenceSite::ProgressBeforeWaiting) {
            self.flush();
        }
    }

    /// `Waiter::sleep`.
    fn wait(&mut self, want: Want) {
        while !self.has(want) {
            if self.prepare_sleep(want) {
                self.hears.sleep();
                self.intents_since_drain = 0;
            }
        }
    }

    /// Waits in a `Sleeper`, which leaves the bytes unread.
    fn wait_for_edge(&mut self, want: Want) {
        while !self.has(want) {
            if self.prepare_sleep(want) {
                self.hears.sleep_until_edge();
            }
        }
    }

    /// Waits until one of both has come. Announcing the second may read the byte that the first has caused, so the first is looked at again.
    fn wait_for_either(&mut self, first: Want, second: Want) {
        while !self.has(first) && !self.has(second) {
            let nothing_came = self.prepare_sleep(first)
                && self.prepare_sleep(second)
                && (mutants::lacks(Mutant::RecheckAfterDrain) || !self.has(first));
            if nothing_came {
                self.hears.sleep();
                self.intents_since_drain = 0;
            }
        }
    }

    /// Publishes message `number` and wakes the peer, after waiting for space if need be.
    fn send(&mut self, number: u32) {
        while !self.publish(number, &body(number)) {
            self.wait(Want::Consumed(self.duplex.producer.known_consumed()));
        }
        self.flush();
    }

    /// Takes message `number`, after waiting for it if need be, and consumes it.
    fn receive(&mut self, number: u32) {
        self.wait(Want::Data);
        assert!(self.take());
        check(&self.entry, number);
        self.finish();
    }
}

/// What is particular about a session.
#[derive(Clone, Copy)]
struct Setting {
    /// Entries in either ring.
    capacity: u32,
    /// Slots that the test fills, in the ring of the first end and in that of the second; the others are left out of the model's memory.
    slots: [usize; 2],
    /// Bytes that lie unread on both sockets.
    stale_bytes: u32,
    /// Bytes that a socket holds.
    room: u32,
    intents_per_drain: u32,
}

/// One direction with so many slots, all used; the other way nothing is sent.
const fn one_way(capacity: u32, slots: usize) -> Setting {
    Setting { capacity, slots: [slots, 1], stale_bytes: 0, room: 4, intents_per_drain: 64 }
}

fn control_segment(slots: usize) -> Arc<Vec<AtomicU64>> {
    let intents = [DATA_WAKE_AT / 8, SPACE_WAKE_AT / 8];
    let words = (RING_AT + slots * ENTRY_SIZE) / 8;
    let start = |word| if intents.contains(&word) { NO_WAKE } else { 0 };
    Arc::new((0..words).map(|word| AtomicU64::new(start(word))).collect())
}

/// Both ends of a session.
fn session(setting: Setting) -> (End, End) {
    let segments = setting.slots.map(control_segment);
    let sockets = [(); 2].map(|()| Socket::with_bytes(setting.stale_bytes, setting.room));
    let end = |here: usize, there: usize| {
        let own = || OwnWords::new(Arc::clone(&segments[here]));
        let peer = || ForeignWords::new(Arc::clone(&segments[there]));
        End {
            duplex: Duplex {
                producer: Producer::new(own(), peer(), setting.capacity),
                consumer: Consumer::new(peer(), own(), setting.capacity),
            },
            hears: Arc::clone(&sockets[here]),
            rings: Arc::clone(&sockets[there]),
            intents_per_drain: setting.intents_per_drain,
            intents_since_drain: 0,
            entry: Entry::default(),
        }
    };
    (end(0, 1), end(1, 0))
}

fn head(number: u32) -> Head {
    Head { kind: Kind::Message, flags: Flags::NONE, stream: number + 1, tag: number + 100 }
}

/// Eight bytes, which leave the second line alone.
fn body(number: u32) -> [u8; 8] {
    [number as u8 + 1; 8]
}

/// A body that reaches into the second line.
fn long_body(number: u32) -> [u8; INLINE_FIRST_LINE + 8] {
    [number as u8 + 1; INLINE_FIRST_LINE + 8]
}

fn check(entry: &Entry, number: u32) {
    let expected = head(number);
    let whole = entry.kind_number() == expected.kind as u8
        && (entry.stream(), entry.tag()) == (expected.stream, expected.tag)
        && (entry.inline() == body(number) || entry.inline() == long_body(number));
    assert!(whole, "{TORN_ENTRY}: expected number {number}, found {entry:x?}");
}

// ---- publishing and consuming ----

/// Busy ends: neither makes a full fence.
fn busy_stream<const MESSAGES: u32>() {
    stream_between_busy_ends::<MESSAGES>(false);
}

/// The same with a sender that claims lines ahead.
fn busy_batch<const MESSAGES: u32>() {
    stream_between_busy_ends::<MESSAGES>(true);
}

fn stream_between_busy_ends<const MESSAGES: u32>(batching: bool) {
    let (mut sender, mut receiver) = session(one_way(2, 2));
    sender.duplex.producer.set_batching(batching);
    let sending = thread::spawn(move || {
        for number in 0..MESSAGES {
            // A slot holds a long and then a short body.
            let (long, short) = (long_body(number), body(number));
            let body = if number < 2 { &long[..] } else { &short };
            while !sender.publish(number, body) {
                thread::yield_now();
            }
        }
    });
    for number in 0..MESSAGES {
        while !receiver.take() {
            thread::yield_now();
        }
        check(&receiver.entry, number);
        let tell = receiver.duplex.consumer.advance();
        assert!(tell, "a ring of two is told of every entry");
        receiver.duplex.consumer.publish_progress();
    }
    sending.join().unwrap();
}

#[test]
fn entries_arrive_once_in_order_and_whole_and_slots_are_reused_only_after_consumption() {
    holds(None, busy_stream::<3>);
}

#[test]
fn a_batch_that_claims_lines_ahead_arrives_whole() {
    holds(None, busy_batch::<3>);
}

#[test]
fn a_batch_that_claims_slots_before_they_are_free_tears_an_entry() {
    fails(Mutant::Without(FenceSite::ClaimOfFreeSlots), TORN_ENTRY, None, busy_batch::<3>);
}

#[test]
fn without_the_release_of_the_sequence_an_entry_is_torn() {
    fails(Mutant::Without(FenceSite::SequenceStore), TORN_ENTRY, None, busy_stream::<1>);
}

#[test]
fn without_the_acquire_after_the_sequence_an_entry_is_torn() {
    fails(Mutant::Without(FenceSite::SequenceSeen), TORN_ENTRY, None, busy_stream::<1>);
}

/// They survive here, for the reason that the head of this file gives; the payload model finds both.
#[test]
fn entries_alone_do_not_show_that_consumed_is_ordered() {
    for site in [FenceSite::ConsumedStore, FenceSite::ConsumedSeen] {
        assert!(outcome_without(Mutant::Without(site), None, busy_stream::<3>).is_ok());
    }
}

// ---- sleeping for data ----

/// The receiver sleeps for each of two messages, which are flushed one by one.
fn sleeping_receiver() {
    stream_to_sleeping_receiver::<2>(one_way(2, 2));
}

/// The same with a byte on the socket that nobody waits for any more.
fn sleeping_receiver_with_a_stale_byte() {
    stream_to_sleeping_receiver::<2>(Setting { stale_bytes: 1, ..one_way(2, 2) });
}

/// The same with a receiver that reads the socket empty after every intent.
fn sleeping_receiver_that_drains() {
    stream_to_sleeping_receiver::<2>(Setting { intents_per_drain: 1, ..one_way(2, 2) });
}

fn stream_to_sleeping_receiver<const MESSAGES: u32>(setting: Setting) {
    let (mut sender, mut receiver) = session(setting);
    let sending = thread::spawn(move || {
        for number in 0..MESSAGES {
            assert!(sender.publish(number, &body(number)));
            sender.flush();
        }
    });
    for number in 0..MESSAGES {
        receiver.receive(number);
    }
    sending.join().unwrap();
}

/// The receiver sleeps while two messages are published in one batch.
fn sleeping_receiver_of_a_batch() {
    let (mut sender, mut receiver) = session(one_way(2, 2));
    let sending = thread::spawn(move || {
        assert!(sender.publish(0, &body(0)));
        assert!(sender.publish(1, &body(1)));
        sender.flush();
    });
    receiver.receive(0);
    receiver.receive(1);
    sending.join().unwrap();
}

#[test]
fn a_receiver_that_sleeps_is_woken_by_every_message() {
    holds(None, sleeping_receiver);
}

#[test]
fn a_receiver_that_sleeps_is_woken_by_a_batch() {
    holds(None, sleeping_receiver_of_a_batch);
}

#[test]
fn a_doorbell_that_comes_late_wakes_nobody_for_good() {
    holds(Some(5), sleeping_receiver_with_a_stale_byte);
}

#[test]
fn a_receiver_may_read_the_socket_empty_after_its_announcement() {
    holds(None, sleeping_receiver_that_drains);
}

#[test]
fn without_the_fence_after_a_publication_a_receiver_sleeps_on() {
    fails(Mutant::Without(FenceSite::AfterPublish), LOST_WAKE_UP, None, sleeping_receiver);
    fails(
        Mutant::Without(FenceSite::AfterPublish),
        LOST_WAKE_UP,
        None,
        sleeping_receiver_of_a_batch,
    );
}

#[test]
fn without_the_fence_after_its_intent_a_receiver_sleeps_on() {
    fails(Mutant::Without(FenceSite::AfterIntent), LOST_WAKE_UP, None, sleeping_receiver);
    fails(
        Mutant::Without(FenceSite::AfterIntent),
        LOST_WAKE_UP,
        None,
        sleeping_receiver_of_a_batch,
    );
}

#[test]
fn without_another_look_after_its_intent_a_receiver_sleeps_on() {
    fails(Mutant::Recheck, LOST_WAKE_UP, None, sleeping_receiver);
}

#[test]
fn without_another_look_after_draining_a_receiver_sleeps_on() {
    fails(Mutant::RecheckAfterDrain, LOST_WAKE_UP, None, sleeping_receiver_that_drains);
}

/// The receiver waits in an edge-triggered epoll, which does not read the bytes. Each intent can leave one, and the last two before the socket is read
/// empty can leave theirs afterwards: so it has room for one more than there are intents between two readings.
fn receiver_in_a_sleeper() {
    const BEFORE: u32 = 3;
    let setting = Setting { intents_per_drain: 2, room: 3, ..one_way(1, 1) };
    let (mut sender, mut receiver) = session(setting);
    for number in 0..BEFORE {
        // Each time the entry comes just after the intent, so that it leaves a byte and leads to no sleep.
        let sleepy = receiver.prepare_sleep_while(Want::Data, || sender.send(number));
        assert!(!sleepy && receiver.take());
        receiver.finish();
        // The thread sleeps for other sessions' sake and so is told of this byte.
        receiver.hears.sleep_until_edge();
    }
    let sending = thread::spawn(move || {
        sender.send(BEFORE);
        sender
    });
    receiver.wait_for_edge(Want::Data);
    assert!(receiver.take());
    check(&receiver.entry, BEFORE);
    drop(sending.join().unwrap());
}

#[test]
fn an_edge_triggered_sleeper_is_woken_although_bytes_lie_unread() {
    holds(None, receiver_in_a_sleeper);
}

#[test]
fn without_counting_intents_that_led_to_no_sleep_a_full_socket_swallows_the_edge() {
    fails(Mutant::CountOfIntents, LOST_WAKE_UP, None, receiver_in_a_sleeper);
}

// ---- sleeping for space ----

/// Both sleep: the sender for space in a ring of one, whose consumer tells of each entry at once, the receiver for data.
fn sleeping_sender_with_a_full_ring<const MESSAGES: u32>() {
    let (mut sender, mut receiver) = session(one_way(1, 1));
    let sending = thread::spawn(move || {
        for number in 0..MESSAGES {
            sender.send(number);
        }
    });
    for number in 0..MESSAGES {
        receiver.receive(number);
    }
    sending.join().unwrap();
}

/// The sender sleeps until an entry of three is consumed. The receiver consumes two, a quarter of the ring, and is then busy elsewhere.
fn sleeping_sender_and_a_quarter() {
    let (mut sender, mut receiver) = session(one_way(8, 3));
    for number in 0..3 {
        assert!(sender.publish(number, &body(number)));
    }
    let sending = thread::spawn(move || sender.wait(Want::Consumed(0)));
    for number in 0..2 {
        assert!(receiver.take());
        check(&receiver.entry, number);
        receiver.finish();
    }
    sending.join().unwrap();
}

/// The sender has announced that it sleeps until an entry is consumed. The receiver consumes one of two, less than a quarter, and is then busy elsewhere.
fn sleeping_sender_seen_at_once() {
    let (mut sender, mut receiver) = session(one_way(8, 2));
    assert!(sender.publish(0, &body(0)) && sender.publish(1, &body(1)));
    assert!(sender.prepare_sleep(Want::Consumed(0)));
    let receiving = thread::spawn(move || {
        assert!(receiver.take());
        receiver.finish();
    });
    sender.hears.sleep();
    assert!(sender.has(Want::Consumed(0)));
    receiving.join().unwrap();
}

/// Each message is less than a quarter of the ring, so the sender that sleeps until the first is consumed is told at once when the receiver sees its intent,
/// else by the receiver that finds the ring drained and goes to sleep itself.
fn sleeping_sender_and_a_drained_ring() {
    let (mut sender, mut receiver) = session(one_way(8, 2));
    let sending = thread::spawn(move || {
        sender.send(0);
        sender.wait(Want::Consumed(0));
        sender.send(1);
    });
    receiver.receive(0);
    receiver.receive(1);
    sending.join().unwrap();
}

/// The receiver consumes less than a quarter of the ring, finds it drained and spins from then on.
fn sleeping_sender_and_a_busy_receiver() {
    let (mut sender, mut receiver) = session(one_way(8, 1));
    let receiving = thread::spawn(move || {
        while !receiver.take() {
            thread::yield_now();
        }
        receiver.finish();
        receiver.prepare_spin();
    });
    sender.send(0);
    sender.wait(Want::Consumed(0));
    receiving.join().unwrap();
}

#[test]
fn a_sender_that_sleeps_for_space_is_woken_by_each_consumption() {
    holds(Some(4), sleeping_sender_with_a_full_ring::<2>);
    holds(Some(3), sleeping_sender_with_a_full_ring::<3>);
}

#[test]
fn a_sender_that_sleeps_for_space_is_woken_by_a_quarter() {
    holds(None, sleeping_sender_and_a_quarter);
}

#[test]
fn a_sender_whose_intent_is_seen_is_woken_at_once() {
    holds(None, sleeping_sender_seen_at_once);
}

#[test]
fn a_sender_that_sleeps_for_space_is_woken_by_a_receiver_that_goes_to_sleep() {
    holds(Some(4), sleeping_sender_and_a_drained_ring);
}

#[test]
fn a_sender_that_sleeps_for_space_is_woken_by_a_receiver_that_goes_to_spin() {
    holds(None, sleeping_sender_and_a_busy_receiver);
}

#[test]
fn without_the_fence_after_progress_a_sender_sleeps_on() {
    let what = Mutant::Without(FenceSite::AfterPublish);
    fails(what, LOST_WAKE_UP, None, sleeping_sender_with_a_full_ring::<2>);
    fails(what, LOST_WAKE_UP, None, sleeping_sender_and_a_quarter);
}

#[test]
fn without_the_fence_after_its_intent_a_sender_sleeps_on() {
    let what = Mutant::Without(FenceSite::AfterIntent);
    fails(what, LOST_WAKE_UP, None, sleeping_sender_with_a_full_ring::<2>);
    fails(what, LOST_WAKE_UP, None, sleeping_sender_and_a_quarter);
    fails(what, LOST_WAKE_UP, None, sleeping_sender_and_a_drained_ring);
}

#[test]
fn without_another_look_after_its_intent_a_sender_sleeps_on() {
    fails(Mutant::Recheck, LOST_WAKE_UP, None, sleeping_sender_and_a_quarter);
}

#[test]
fn without_a_fence_before_the_look_at_the_peers_intent_both_sleep() {
    fails(Mutant::SharedFence, LOST_WAKE_UP, None, sleeping_sender_and_a_drained_ring);
}

#[test]
fn without_telling_before_it_waits_a_receiver_leaves_the_sender_asleep() {
    fails(
        Mutant::Without(FenceSite::ProgressBeforeWaiting),
        LOST_WAKE_UP,
        None,
        sleeping_sender_and_a_drained_ring,
    );
    fails(
        Mutant::Without(FenceSite::ProgressBeforeWaiting),
        LOST_WAKE_UP,
        None,
        sleeping_sender_and_a_busy_receiver,
    );
}

// ---- both ways ----

const fn both_ways(capacity: u32, slots: usize) -> Setting {
    Setting { slots: [slots; 2], ..one_way(capacity, slots) }
}

/// Two calls: each side sleeps until the other's message comes, and progress travels with the next publication.
fn calls() {
    let (mut client, mut server) = session(both_ways(8, 2));
    let serving = thread::spawn(move || {
        for number in 0..2 {
            server.receive(number);
            server.send(number);
        }
    });
    for number in 0..2 {
        client.send(number);
        client.receive(number);
    }
    serving.join().unwrap();
}

/// Both sides send through rings of one and take the other's messages whenever there is one; with nothing to do they sleep for both, and read the
/// socket empty after each intent.
fn crossing_streams<const THERE: u32, const BACK: u32>() {
    let setting = Setting { intents_per_drain: 1, ..both_ways(1, 1) };
    let (mut one, mut other) = session(setting);
    let running = thread::spawn(move || exchange(&mut other, BACK, THERE));
    exchange(&mut one, THERE, BACK);
    running.join().unwrap();
}

fn exchange(end: &mut End, to_send: u32, to_receive: u32) {
    let (mut sent, mut received) = (0, 0);
    while sent < to_send || received < to_receive {
        if sent < to_send && end.publish(sent, &body(sent)) {
            sent += 1;
            end.flush();
        } else if received < to_receive && end.take() {
            check(&end.entry, received);
            received += 1;
            end.finish();
        } else if sent == to_send {
            end.wait(Want::Data);
        } else {
            let consumed = end.duplex.producer.known_consumed();
            end.wait_for_either(Want::Consumed(consumed), Want::Data);
        }
    }
}

#[test]
fn calls_between_sleeping_sides_are_answered() {
    holds(Some(3), calls);
}

#[test]
fn two_sides_with_full_rings_wake_each_other() {
    holds(Some(2), crossing_streams::<2, 2>);
    holds(Some(3), crossing_streams::<2, 1>);
}

#[test]
fn without_the_fence_after_a_publication_a_call_hangs() {
    fails(Mutant::Without(FenceSite::AfterPublish), LOST_WAKE_UP, None, calls);
}

#[test]
fn without_the_fence_after_an_intent_a_call_hangs() {
    fails(Mutant::Without(FenceSite::AfterIntent), LOST_WAKE_UP, None, calls);
}

#[test]
fn without_another_look_at_the_first_want_the_second_announcement_swallows_its_byte() {
    fails(Mutant::RecheckAfterDrain, LOST_WAKE_UP, Some(2), crossing_streams::<2, 2>);
}

// ---- payload ----

/// Payload memory: plain cells, one per slot, that only the sender writes.
struct Payload(Vec<UnsafeCell<u32>>);

// SAFETY: not sound by itself; that no access races is what the model has to show, and loom checks it at each access.
unsafe impl Sync for Payload {}
// SAFETY: the cells hold plain numbers.
unsafe impl Send for Payload {}

impl Payload {
    fn write(&self, slot: usize, value: u32) {
        // SAFETY: loom fails the model unless every other access happens before or after this one.
        self.0[slot].with_mut(|cell| unsafe { *cell = value });
    }

    fn read(&self, slot: usize) -> u32 {
        // SAFETY: as above, for every write.
        self.0[slot].with(|cell| unsafe { *cell })
    }
}

/// Busy ends without a full fence. A payload is written before its entry is published, read until its entry is consumed, and written again after that.
fn payload() {
    let (mut sender, mut receiver) = session(one_way(1, 1));
    let lent = Arc::new(Payload(vec![UnsafeCell::new(0)]));
    let borrowed = Arc::clone(&lent);
    let sending = thread::spawn(move || {
        for number in 0..3 {
            while !sender.has(Want::Consumed(u64::from(number).wrapping_sub(1))) && number > 0 {
                thread::yield_now();
            }
            lent.write(0, number + 7);
            assert!(sender.publish(number, &body(number)));
        }
    });
    for number in 0..3 {
        while !receiver.take() {
            thread::yield_now();
        }
        assert_eq!(borrowed.read(0), number + 7);
        assert!(receiver.duplex.consumer.advance());
        receiver.duplex.consumer.publish_progress();
    }
    sending.join().unwrap();
}

#[test]
fn payload_is_whole_when_it_is_taken_and_undisturbed_until_it_is_consumed() {
    holds(None, payload);
}

#[test]
fn without_the_release_of_the_sequence_payload_is_read_while_it_is_written() {
    fails(Mutant::Without(FenceSite::SequenceStore), DATA_RACE, None, payload);
}

#[test]
fn without_the_acquire_after_the_sequence_payload_is_read_while_it_is_written() {
    fails(Mutant::Without(FenceSite::SequenceSeen), DATA_RACE, None, payload);
}

#[test]
fn without_the_release_of_consumed_payload_is_written_while_it_is_read() {
    fails(Mutant::Without(FenceSite::ConsumedStore), DATA_RACE, None, payload);
}

#[test]
fn without_the_acquire_after_consumed_payload_is_written_while_it_is_read() {
    fails(Mutant::Without(FenceSite::ConsumedSeen), DATA_RACE, None, payload);
}
