//! What a call of a service allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use breezeway::{ExclusiveSession, ServerOptions, SessionOptions, Stopper, TrustedPeer};
use breezeway_rpc::{Context, Error, Server, Service, Written};

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/five.rs"));
include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/users.rs"));
include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/shelf.rs"));
use five::{Five, Fives, FivesClient, FivesServer};
use shelf::*;
use users::{NoSuchUser, Users, UsersAgeError, UsersClient, UsersServer};

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

/// Allocations of a worker's thread at the start of its last handler.
#[derive(Clone, Default)]
struct ByWorker(Arc<AtomicUsize>);

impl ByWorker {
    fn note(&self) {
        self.0.store(TAKEN.get(), Ordering::Relaxed);
    }
}

impl Fives for ByWorker {
    fn echo(&self, _: &Context, five: Five) -> Result<Five, Error> {
        self.note();
        Ok(five)
    }

    fn take(&self, _: &Context, _: Five) {}
}

impl Users for ByWorker {
    fn age(&self, _: &Context, name: String) -> Result<i64, UsersAgeError> {
        self.note();
        if name == "Bob" { Err(NoSuchUser { name }.into()) } else { Ok(36) }
    }

    fn seen(&self, _: &Context, _: String) {}
}

impl InPlaceShelf for ByWorker {
    fn count(&self, _: &Context, reply: ShelfCountReplySpace<'_>) -> Result<Written, Error> {
        self.note();
        reply.write(|to| to.success(0))
    }

    fn clear(&self, _: &Context) -> Result<(), Error> {
        Ok(())
    }

    fn remove(&self, _: &Context, _: ShelfRemoveArgsView<'_>) -> Result<(), ShelfRemoveError> {
        Ok(())
    }

    fn seen(&self, _: &Context, _: ShelfSeenArgsView<'_>) {}
}

impl InPlaceLibrary for ByWorker {
    fn find(
        &self,
        _: &Context,
        LibraryFindArgsView { title }: LibraryFindArgsView<'_>,
        reply: LibraryFindReplySpace<'_>,
    ) -> Result<Written, LibraryFindError> {
        self.note();
        reply.write(|to| to.missing(|missing| missing.title(title)))
    }

    fn echo(
        &self,
        _: &Context,
        asked: LibraryEchoArgsView<'_>,
        reply: LibraryEchoReplySpace<'_>,
    ) -> Result<Written, Error> {
        self.note();
        reply.write(|to| {
            to.success(asked.books, |to, book| {
                to.title(book.title).number(book.number).loans(book.loans)
            })
        })
    }

    fn total(
        &self,
        _: &Context,
        asked: LibraryTotalArgsView<'_>,
        reply: LibraryTotalReplySpace<'_>,
    ) -> Result<Written, Error> {
        self.note();
        let total = asked.books.iter().map(|book| book.loans.sum()).sum();
        reply.write(|to| to.success(total))
    }

    fn shout(
        &self,
        _: &Context,
        asked: LibraryShoutArgsView<'_>,
        reply: LibraryShoutReplySpace<'_>,
    ) -> Result<Written, Error> {
        self.note();
        reply.write(|to| to.success(asked.words))
    }

    fn numbers(
        &self,
        _: &Context,
        _: LibraryNumbersArgsView<'_>,
        _: LibraryNumbersReplySpace<'_>,
    ) -> Result<Written, Error> {
        Err(Error::MissingResult)
    }
}

/// A server in this process, which ends with this.
struct Running {
    session: Option<RefCell<ExclusiveSession>>,
    by_worker: ByWorker,
    stopper: Stopper,
    serving: Option<JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

impl Running {
    fn new<S: Service>(service: impl FnOnce(ByWorker) -> S) -> Self {
        Self::with(service, ServerOptions::new())
    }

    fn with<S: Service>(service: impl FnOnce(ByWorker) -> S, options: ServerOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("shm:{}/service.sock", folder.path().display());
        let by_worker = ByWorker::default();
        let server = Server::bind_with(&address, options).unwrap();
        let server = server.add_service(service(by_worker.clone())).unwrap();
        let stopper = server.stopper();
        let serving = Some(std::thread::spawn(move || server.serve().unwrap()));
        let session = Some(RefCell::new(ExclusiveSession::connect(&address).unwrap()));
        Self { session, by_worker, stopper, serving, _folder: folder }
    }

    fn session(&self) -> &RefCell<ExclusiveSession> {
        self.session.as_ref().unwrap()
    }

    /// Returns the minimum that a hundred calls allocate on the client's thread, and on the
    /// worker's. One-time allocations, such as a thread's buffers, and those of a side that falls
    /// asleep between two calls do not belong to a call: those would occur in every round.
    fn least(&self, call: impl Fn(i64)) -> [usize; 2] {
        let now = || [TAKEN.get(), self.by_worker.0.load(Ordering::Relaxed)];
        let round = |_| {
            let before = now();
            (0..100).for_each(&call);
            [0, 1].map(|side| now()[side] - before[side])
        };
        let rounds: Vec<_> = (0..50).map(round).collect();
        [0, 1].map(|side| rounds.iter().map(|round| round[side]).min().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.session = None;
        self.stopper.stop();
        assert!(self.serving.take().unwrap().join().is_ok() || std::thread::panicking());
    }
}

#[test]
fn a_call_of_plain_values_allocates_nothing_on_either_side() {
    let running = Running::new(FivesServer);
    let fives = FivesClient::new(running.session());
    let least = running.least(|id| {
        let five = Five { id, count: 2, price: 3.0, open: true, changed: 5 };
        assert_eq!(fives.echo(five.clone()).unwrap(), five);
    });
    assert_eq!(least, [0, 0]);
}

#[test]
fn string_call_allocates_only_owned_values() {
    let running = Running::new(UsersServer);
    let users = UsersClient::new(running.session());
    // The caller's string; the handler's.
    let least = running.least(|_| assert_eq!(users.age("Ada".to_owned()).unwrap(), 36));
    assert_eq!(least, [100, 100]);
    // With the string of the exception, which each side owns: the handler gives its own back.
    let least = running.least(|_| {
        let missing = users.age("Bob".to_owned());
        assert!(matches!(missing, Err(UsersAgeError::Missing(missing)) if missing.name == "Bob"));
    });
    assert_eq!(least, [200, 100]);
}

#[test]
fn in_place_worker_allocates_nothing_per_call() {
    #[allow(unsafe_code, reason = "a proof of trust cannot be had without")]
    // SAFETY: the client is this test, which uses the safe API alone.
    let session = SessionOptions::new().trust(|_| Some(unsafe { TrustedPeer::assume() }));
    let trusting = ServerOptions::new().session(session);
    for options in [ServerOptions::new(), trusting] {
        let running = Running::with(InPlaceLibraryServer, options);
        let library = LibraryClient::new(running.session());
        let title = || "a title that is no short text".to_owned();
        let book = |number| Book { number, title: title(), loans: vec![1; 5], ..Book::default() };
        let books: Vec<_> = (0..20).map(book).collect();
        let of_worker = |call: &dyn Fn(i64)| running.least(call)[1];
        let words = "w".repeat(5_000);
        let calls: [(&str, &dyn Fn(i64)); 4] = [
            ("find", &|_| assert!(library.find(title()).is_err())),
            ("echo", &|_| assert_eq!(library.echo(books.clone()).unwrap().len(), 20)),
            ("total", &|_| assert_eq!(library.total(books.clone()).unwrap(), 100)),
            ("shout", &|_| assert_eq!(library.shout(words.clone(), 1).unwrap().len(), 5_000)),
        ];
        for (name, call) in calls {
            assert_eq!(of_worker(call), 0, "{name}");
        }
    }
}
