//! loom models of the queue, of sleeping and waking, of the free lists, of watched ranges and of
//! leaders and followers, and of mutants of them that must fail.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p breezeway-shmipc --profile model --lib --target-dir
//! target/loom model`
//!
//! Queue, free lists, watched ranges and followers are the shipped code, the first two on a region
//! whose words loom watches; leaders and followers take the steps of `Core::wait`, in its order.
//! The socket is a count of wake-ups. A bound counts preemptions, not the switches of a thread that
//! waits.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::task::{Wake, Waker};

use loom::model::Builder;
use loom::sync::{Condvar, Mutex};
use loom::thread;

use crate::followers::Followers;
use crate::free_list;
use crate::layout::buffer::{BufferLayout, List};
use crate::layout::queue::{NATIVE, RingLayout};
use crate::queue::{Consumer, Element, Producer, PutError};
use crate::region::Region;
use crate::sync::Step;
use crate::watched_range::WatchedRange;

thread_local! {
    // The checker runs all threads of a model as coroutines on the thread that called it, so each
    // test has its own mutant.
    static MISSING: Cell<Option<Step>> = const { Cell::new(None) };
}

/// Returns true if the present mutant lacks this step.
pub(crate) fn removed(step: Step) -> bool {
    MISSING.get() == Some(step)
}

// ---- checking ----

/// Runs every schedule of `model` with at most so many preemptions.
fn holds(preemptions: usize, model: fn()) {
    let mut checker = Builder::new();
    checker.preemption_bound = Some(preemptions);
    checker.check(model);
}

/// Checks that some schedule of the mutant without `step` fails with a message that contains `how`.
fn fails(step: Step, how: &str, preemptions: usize, model: fn()) {
    MISSING.set(Some(step));
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| holds(preemptions, model)));
    MISSING.set(None);
    let found = outcome.expect_err("the model does not notice the mutant");
    let said = text(&*found);
    assert!(said.contains(how), "without {step:?} expected `{how}`, but: {said}");
}

fn text(found: &(dyn Any + Send)) -> String {
    let text = found.downcast_ref::<String>().cloned();
    text.or_else(|| found.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_default()
}

/// Message of loom when all threads wait: a sleeping thread was not woken.
const LOST_WAKE_UP: &str = "deadlock";

// ---- the queue ----

const PLACE: RingLayout = RingLayout { base: 0, capacity: 2 };

fn ring() -> Arc<Region> {
    let header = [NATIVE.head, NATIVE.tail, NATIVE.flag];
    let elements = (24..24 + 2 * 12).step_by(4);
    Arc::new(Region::with_words(48, header.into_iter().chain(elements)))
}

fn element(number: u32) -> Element {
    Element { stream: number, offset: number * 10, status: number * 100 }
}

/// Direction of the session's socket for wake-ups.
#[derive(Default)]
struct Socket {
    wake_ups: Mutex<u32>,
    arrival: Condvar,
}

impl Socket {
    fn ring(&self) {
        *self.wake_ups.lock().unwrap() += 1;
        self.arrival.notify_one();
    }

    fn sleep(&self) {
        let mut wake_ups = self.wake_ups.lock().unwrap();
        while *wake_ups == 0 {
            wake_ups = self.arrival.wait(wake_ups).unwrap();
        }
        *wake_ups -= 1;
    }
}

/// A producer that sends two elements, and a consumer that sleeps whenever it may.
fn two_elements_to_a_sleeper() {
    let (region, socket) = (ring(), Arc::new(Socket::default()));
    let (far_region, far_socket) = (Arc::clone(&region), Arc::clone(&socket));
    let producing = thread::spawn(move || {
        let mut producer = Producer::new(far_region, PLACE);
        for number in 1..=2 {
            assert_eq!(producer.put(element(number)), Ok(()));
            if producer.must_wake() {
                far_socket.ring();
            }
        }
    });
    let mut consumer = Consumer::new(region, PLACE);
    for number in 1..=2 {
        assert_eq!(receive(&mut consumer, &socket), element(number), "torn element");
        consumer.publish();
    }
    producing.join().unwrap();
}

/// Receives as a leader does: polls, rests, sleeps.
fn receive(consumer: &mut Consumer, socket: &Socket) -> Element {
    loop {
        if let Some(element) = consumer.take().expect("no violation") {
            return element;
        }
        if consumer.rest() {
            socket.sleep();
        }
    }
}

/// Sends three elements through a ring of two: a place is reused only after its element was taken.
fn more_elements_than_places() {
    let region = ring();
    let far_region = Arc::clone(&region);
    let producing = thread::spawn(move || {
        let mut producer = Producer::new(far_region, PLACE);
        for number in 1..=3 {
            while producer.put(element(number)) == Err(PutError::Full) {
                thread::yield_now();
            }
        }
    });
    let mut consumer = Consumer::new(region, PLACE);
    for number in 1..=3 {
        let taken = loop {
            match consumer.take().expect("no violation") {
                Some(taken) => break taken,
                None => thread::yield_now(),
            }
        };
        assert_eq!(taken, element(number), "torn element");
        consumer.publish();
    }
    producing.join().unwrap();
}

#[test]
fn model_no_wake_up_is_lost() {
    holds(4, two_elements_to_a_sleeper);
}

#[test]
fn model_without_the_fence_after_putting_a_wake_up_is_lost() {
    fails(Step::FenceAfterPut, LOST_WAKE_UP, 3, two_elements_to_a_sleeper);
}

#[test]
fn model_without_the_fence_after_resting_a_wake_up_is_lost() {
    fails(Step::FenceAfterRest, LOST_WAKE_UP, 3, two_elements_to_a_sleeper);
}

#[test]
fn model_without_the_poll_after_resting_a_wake_up_is_lost() {
    fails(Step::PollAfterRest, LOST_WAKE_UP, 3, two_elements_to_a_sleeper);
}

#[test]
fn model_elements_arrive_whole_and_in_order() {
    holds(4, more_elements_than_places);
}

#[test]
fn model_without_release_of_the_count_elements_are_torn() {
    fails(Step::ReleaseOfElement, "torn element", 3, more_elements_than_places);
}

// ---- the free list ----

const LIST: List = List { header: 8, count: 3, capacity: 4, first_number: 0 };

fn list() -> Arc<Region> {
    let layout = BufferLayout::judge(8 + 36 + 3 * 24, |at| match at {
        0 => 1,
        12 => LIST.count,
        24 => LIST.capacity,
        _ => 0,
    });
    let layout = layout.unwrap();
    let size = 8 + layout.used();
    let region = Region::with_words(size, (0..size).step_by(4));
    free_list::initialise(&region, &layout);
    Arc::new(region)
}

/// Takes a slice, if there is one, marks it as its own, and gives it back.
fn take_and_give(region: &Region, mark: u32) {
    if let Some(slice) = free_list::take(region, &LIST).expect("no violation") {
        // Payload: the holder of the slice writes it, and must find it unchanged.
        let payload = region.word(slice + 20);
        payload.store(mark, loom::sync::atomic::Ordering::Relaxed);
        let found = payload.load(loom::sync::atomic::Ordering::Relaxed);
        assert_eq!(found, mark, "a slice in two hands");
        free_list::give(region, &LIST, slice).expect("no violation");
    }
}

/// Two processes take and give; afterwards every slice is in the list, once.
fn two_processes_share_a_list() {
    let region = list();
    let far = Arc::clone(&region);
    let other = thread::spawn(move || take_and_give(&far, 1));
    take_and_give(&region, 2);
    other.join().unwrap();
    check_whole(&region);
}

/// Follows the list from head to tail, and checks that it is whole.
fn check_whole(region: &Region) {
    use crate::layout::buffer::{FLAGS_AT, FREE_AT, HAS_NEXT, HEAD_AT, NEXT_AT, TAIL_AT};
    use loom::sync::atomic::Ordering::SeqCst;
    assert_eq!(region.word(LIST.header + FREE_AT).load(SeqCst), LIST.count, "lost slice");
    let mut at = region.word(LIST.header + HEAD_AT).load(SeqCst);
    let mut seen = vec![at];
    while region.byte(LIST.area() + at + FLAGS_AT).load(SeqCst) & HAS_NEXT != 0 {
        at = region.word(LIST.area() + at + NEXT_AT).load(SeqCst);
        assert!(!seen.contains(&at), "lost slice: the list is a circle");
        seen.push(at);
    }
    assert_eq!(seen.len(), LIST.count as usize, "lost slice");
    assert_eq!(at, region.word(LIST.header + TAIL_AT).load(SeqCst), "lost slice");
}

#[test]
fn model_a_shared_free_list_stays_whole() {
    holds(3, two_processes_share_a_list);
}

#[test]
fn model_without_the_exchange_of_the_tail_slices_are_lost() {
    fails(Step::TailBeforeLink, "lost slice", 2, two_processes_share_a_list);
}

// ---- watched ranges ----

/// A holder that watches one region after the other, and a handler that reads the range
/// concurrently.
fn range_that_changes() {
    let range = Arc::new(WatchedRange::new());
    let seen = Arc::clone(&range);
    let handler = thread::spawn(move || {
        let found = seen.get();
        let whole = [None, Some((0, 0)), Some((1, 10)), Some((2, 20))];
        assert!(whole.contains(&found), "half a range: {found:?}");
    });
    range.set(1, 10);
    range.set(2, 20);
    handler.join().unwrap();
}

#[test]
fn model_a_handler_sees_whole_ranges() {
    holds(3, range_that_changes);
}

#[test]
fn model_without_any_of_its_orderings_half_a_range_is_seen() {
    use Step::{AcquireOfRange, FenceBehindOdd, FenceBehindRange, ReleaseOfRange};
    for step in [FenceBehindOdd, ReleaseOfRange, AcquireOfRange, FenceBehindRange] {
        fails(step, "half a range", 3, range_that_changes);
    }
}

// ---- leaders and followers ----

/// Events that threads wait for on one session, each on a stream of its own.
struct Waited {
    receiver: Mutex<()>,
    followers: Followers,
    socket: Socket,
    /// Arrivals that were not received yet.
    come: Mutex<Vec<bool>>,
    /// Per stream: true once received, and the waker for it.
    streams: Vec<Mutex<(bool, Option<Waker>)>>,
}

struct Parked(thread::Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Waited {
    fn new(streams: usize) -> Arc<Self> {
        Arc::new(Self {
            receiver: Mutex::new(()),
            followers: Followers::default(),
            socket: Socket::default(),
            come: Mutex::new(vec![false; streams]),
            streams: (0..streams).map(|_| Mutex::new((false, None))).collect(),
        })
    }

    fn poll(&self, stream: usize, waker: Option<&Waker>) -> bool {
        let mut state = self.streams[stream].lock().unwrap();
        if let Some(waker) = waker {
            state.1 = Some(waker.clone());
        }
        state.0
    }

    /// Receives for all, and wakes the waiters of the received streams.
    fn receive(&self) {
        let come = {
            let mut come = self.come.lock().unwrap();
            let nothing = vec![false; come.len()];
            std::mem::replace(&mut *come, nothing)
        };
        for (stream, come) in self.streams.iter().zip(come) {
            if come {
                let waker = {
                    let mut state = stream.lock().unwrap();
                    state.0 = true;
                    state.1.take()
                };
                waker.into_iter().for_each(Waker::wake);
            }
        }
    }

    /// Waits like `Core::wait`.
    fn wait(&self, stream: usize) {
        if self.poll(stream, None) {
            return;
        }
        loop {
            if let Ok(receiver) = self.receiver.try_lock() {
                loop {
                    self.receive();
                    if self.poll(stream, None) {
                        break;
                    }
                    self.socket.sleep();
                }
                drop(receiver);
                break;
            }
            let waker = Waker::from(Arc::new(Parked(thread::current())));
            if self.poll(stream, Some(&waker)) {
                break;
            }
            let is_led = || self.receiver.try_lock().is_err();
            self.followers.follow(&waker, is_led, || {
                thread::park();
                None::<()>
            });
            if self.poll(stream, None) {
                break;
            }
        }
        self.followers.promote();
    }
}

/// Threads wait, and a peer sends one message to each, to the last one first.
fn wait_on_one_session(threads: usize) {
    let session = Waited::new(threads);
    let waiting: Vec<_> = (0..threads)
        .map(|stream| {
            let session = Arc::clone(&session);
            thread::spawn(move || session.wait(stream))
        })
        .collect();
    for stream in (0..threads).rev() {
        session.come.lock().unwrap()[stream] = true;
        session.socket.ring();
    }
    for thread in waiting {
        thread.join().unwrap();
    }
}

#[test]
fn model_every_waiter_leads_or_is_woken() {
    holds(2, || wait_on_one_session(2));
    holds(1, || wait_on_one_session(3));
}

#[test]
fn model_without_any_of_its_steps_a_follower_sleeps_for_ever() {
    for step in [Step::TryAfterJoining, Step::NameTheNext] {
        fails(step, LOST_WAKE_UP, 2, || wait_on_one_session(2));
    }
}
