//! A unary call whose request and reply fit into their entries allocates nothing, on either side.
//! An echo of a large request takes no private memory for it.
//!
//! A test program of its own: it has the allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use breezeway::{
    Address, Call, ExclusiveSession, Incoming, OwnedCall, Server, ServerSession, Session,
    SessionOptions,
};

thread_local! {
    /// Allocations of this thread.
    static TAKEN: Cell<usize> = const { Cell::new(0) };
    /// Bytes of the largest of them.
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: the system's allocator does the work.
#[allow(unsafe_code, reason = "an allocator cannot be written without")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TAKEN.set(TAKEN.get() + 1);
        LARGEST.set(LARGEST.get().max(layout.size()));
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

/// The longest request and reply without memory of their own.
const LEN: usize = 104;
/// Calls that are counted together, and how often: some are the first to find something, such as
/// that they have to sleep.
const CALLS: usize = 100;
const TIMES: usize = 20;

/// Allocations of the serving thread up to its last call.
#[derive(Clone, Default)]
struct Serving(Arc<AtomicUsize>);

impl Serving {
    fn note(&self) {
        self.0.store(TAKEN.get(), Ordering::Relaxed);
    }

    /// The least that the calls allocate on the caller's thread, and on the one that serves.
    fn count(&self, mut call: impl FnMut()) -> [usize; 2] {
        let mut least = [usize::MAX; 2];
        for _ in 0..TIMES {
            // From one handler to the next.
            call();
            let before = [TAKEN.get(), self.0.load(Ordering::Relaxed)];
            (0..CALLS).for_each(|_| call());
            let after = [TAKEN.get(), self.0.load(Ordering::Relaxed)];
            for (least, (before, after)) in least.iter_mut().zip(before.into_iter().zip(after)) {
                *least = (*least).min(after - before);
            }
        }
        least
    }
}

#[test]
fn a_small_call_of_a_session_allocates_nothing_on_either_side() {
    let folder = tempfile::tempdir().unwrap();
    let address = Address::shm(folder.path().join("counted.sock"));
    let serving = Serving::default();
    let server = Server::bind(&address).unwrap();
    let (stopper, noted) = (server.stopper(), serving.clone());
    let running = thread::spawn(move || {
        server.serve(move |call: Call<'_>| {
            noted.note();
            call.echo()
        })
    });
    let mut session = ExclusiveSession::connect(&address).unwrap();
    let counted = serving.count(|| {
        let reply = session.call(0, &[7; LEN]).unwrap();
        assert_eq!(reply.bytes().len(), LEN);
    });
    assert_eq!(counted, [0, 0], "at the caller, at the worker");
    drop(session);
    stopper.stop();
    running.join().unwrap().unwrap();
}

#[test]
fn a_small_call_of_a_channel_allocates_nothing_on_either_side() {
    let (shared, server) = Session::pair(&SessionOptions::new()).unwrap();
    let serving = Serving::default();
    let noted = serving.clone();
    let running = thread::spawn(move || {
        server.serve(move |call| {
            noted.note();
            let _ = call.echo();
        })
    });
    let counted = serving.count(|| {
        assert_eq!(shared.call(0, &[7; LEN]).unwrap().len(), LEN);
    });
    assert_eq!(counted, [0, 0], "at the caller, at the thread that serves");
    drop(shared);
    running.join().unwrap().unwrap();
}

mod echo_of_a_large_request {
    use super::*;

    const LARGE: usize = 1 << 20;

    fn accept(server: &ServerSession) -> OwnedCall {
        let Some(Incoming::Call(call)) = server.accept().unwrap() else { panic!("no call") };
        call
    }

    /// The largest allocation of this thread while it echoes.
    fn echo(call: OwnedCall) -> usize {
        LARGEST.set(0);
        let _ = call.echo();
        LARGEST.get()
    }

    #[test]
    fn copies_into_payload_memory_alone() {
        let (shared, server) = Session::pair(&SessionOptions::new()).unwrap();
        let calling = thread::spawn(move || shared.call(0, &[7; LARGE]).unwrap().to_vec());
        let largest = echo(accept(&server));
        assert!(largest < LARGE / 16, "{largest} bytes");
        // Waits for the end, and takes turns during that wait.
        assert!(server.accept().unwrap().is_none());
        assert_eq!(calling.join().unwrap(), [7; LARGE]);
    }

    #[test]
    fn without_payload_memory_waits_uncopied() {
        // For one reply alone.
        let options = SessionOptions::new().cap(3 * LARGE as u64 / 2).max_streams(0);
        let (shared, server) = Session::pair(&options).unwrap();
        let (release, released) = mpsc::channel::<()>();
        let calling = thread::spawn(move || {
            let held = shared.call(0, &[7; LARGE]).unwrap();
            let calling = thread::spawn(move || shared.call(0, &[8; LARGE]).unwrap().to_vec());
            released.recv().unwrap();
            drop(held);
            calling.join().unwrap()
        });
        echo(accept(&server));
        let largest = echo(accept(&server));
        assert!(largest < LARGE / 16, "{largest} bytes");
        release.send(()).unwrap();
        assert!(server.accept().unwrap().is_none());
        assert_eq!(calling.join().unwrap(), [8; LARGE]);
    }
}
