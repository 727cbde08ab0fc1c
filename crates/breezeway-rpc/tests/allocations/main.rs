//! What a call of a service allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering};

use breezeway::Session;
use breezeway_rpc::{Context, Error, Server};

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/five.rs"));
use five::{Five, Fives, FivesClient, FivesServer};

thread_local! {
    /// Allocations of this thread.
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: the system's allocator does the work.
#[allow(unsafe_code, reason = "an allocator cannot be written without")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TAKEN.set(TAKEN.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What the worker's thread had allocated when its last handler began.
static BY_WORKER: AtomicUsize = AtomicUsize::new(0);

struct Echo;

impl Fives for Echo {
    fn echo(&self, _: &Context, five: Five) -> Result<Five, Error> {
        BY_WORKER.store(TAKEN.get(), Ordering::Relaxed);
        Ok(five)
    }

    fn take(&self, _: &Context, _: Five) {}
}

#[test]
fn a_call_of_plain_values_allocates_nothing_on_either_side() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("shm:{}/five.sock", folder.path().display()).parse().unwrap();
    let server = Server::bind(&address).unwrap().add_service(FivesServer(Echo)).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || server.serve());
    let fives = FivesClient::new(RefCell::new(Session::connect(&address).unwrap()));
    let call = |id| {
        let five = Five { id, count: 2, price: 3.0, open: true, changed: 5 };
        assert_eq!(fives.echo(five.clone()).unwrap(), five);
    };
    // What is taken once, such as a thread's buffers, or when a side falls asleep between two calls
    // is not a call's: that would be taken in every round.
    let round = || {
        let before = (TAKEN.get(), BY_WORKER.load(Ordering::Relaxed));
        (0..100).for_each(call);
        let after = (TAKEN.get(), BY_WORKER.load(Ordering::Relaxed));
        (after.0 - before.0, after.1 - before.1)
    };
    let rounds: Vec<_> = (0..50).map(|_| round()).collect();
    assert_eq!(rounds.iter().map(|round| round.0).min(), Some(0), "{rounds:?}");
    assert_eq!(rounds.iter().map(|round| round.1).min(), Some(0), "{rounds:?}");
    drop(fives);
    stopper.stop();
    serving.join().unwrap().unwrap();
}
