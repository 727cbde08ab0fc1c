//! Services whose handlers see their arguments in place and write their replies there: they give
//! what those do that have owned values, and nothing of a reply that failed.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::Duration;

use breezeway::{
    Address, ExclusiveSession, Pool, ServeError, ServerOptions, SessionOptions, Stopper,
    TrustedPeer, describe,
};
use breezeway_rpc::thrift::{Encode, ExceptionKind, to_vec};
use breezeway_rpc::{
    CallOptions, Channel, Context, Error, Method, Server, Service, ThriftClient, ThriftFraming,
    Written,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tempfile::TempDir;

use crate::shelf::*;

/// A server in this process, which ends with it.
struct Running {
    address: Address,
    stopper: Stopper,
    serving: Option<JoinHandle<Result<(), ServeError>>>,
    _folder: TempDir,
}

impl Running {
    fn new(service: impl Service, carrier: &str, options: ServerOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = match carrier {
            "tcp" => "tcp:127.0.0.1:0".to_owned(),
            file => format!("{file}:{}/shelf.sock", folder.path().display()),
        };
        let server = Server::bind_with(&place, options).unwrap();
        let server = server.with_thrift_clients().add_service(service).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = Some(std::thread::spawn(move || server.serve()));
        Self { address, stopper, serving, _folder: folder }
    }

    fn client(&self) -> LibraryClient<Pool> {
        LibraryClient::new(Pool::connect(&self.address).unwrap())
    }

    fn thrift(&self, framing: ThriftFraming) -> LibraryClient<ThriftClient> {
        LibraryClient::new(ThriftClient::with_framing(self.address.clone(), framing))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        assert!(self.serving.take().unwrap().join().unwrap().is_ok() || std::thread::panicking());
    }
}

#[allow(unsafe_code, reason = "a proof of trust cannot be had without")]
fn trusting() -> ServerOptions {
    // SAFETY: the clients are this test's, which use the safe API alone.
    let session = SessionOptions::new().trust(|_| Some(unsafe { TrustedPeer::assume() }));
    ServerOptions::new().session(session)
}

/// Returns the modes in which handlers run, beside the carriers.
fn options() -> [(&'static str, ServerOptions); 5] {
    [
        ("shm", ServerOptions::new()),
        ("shm", trusting()),
        ("shm", trusting().offload(1)),
        ("unix", ServerOptions::new()),
        ("tcp", ServerOptions::new()),
    ]
}

fn book() -> impl Strategy<Value = Book> {
    let cover = prop::option::of(prop::collection::vec(any::<u8>(), 0..40));
    let loans = prop::collection::vec(any::<i64>(), 0..12);
    (".{0,14}", any::<i64>(), any::<i32>(), any::<bool>(), loans, cover).prop_map(
        |(title, number, price, lent, loans, cover)| Book {
            title,
            number,
            price: f64::from(price) / 8.0,
            lent,
            loans,
            cover,
        },
    )
}

/// A call as it travels: which method, and its arguments' bytes.
type Sent = (u32, Vec<u8>);

fn sent<A: Encode>(method: &str, arguments: &A) -> Sent {
    (Method::number("Library", method), to_vec(arguments).unwrap())
}

fn call() -> impl Strategy<Value = Sent> {
    let title = prop_oneof![".{0,200}", "torn", "odd", "banned"];
    let books = || prop::collection::vec(book(), 0..40);
    prop_oneof![
        title.clone().prop_map(|title| sent("find", &LibraryFindArgs { title })),
        title.prop_map(|title| sent("remove", &ShelfRemoveArgs { title })),
        books().prop_map(|books| sent("echo", &LibraryEchoArgs { books })),
        books().prop_map(|books| sent("total", &LibraryTotalArgs { books })),
        books().prop_map(|books| sent("numbers", &LibraryNumbersArgs { books })),
        (".{0,30}", any::<i8>()).prop_map(|(words, times)| {
            sent("shout", &LibraryShoutArgs { words, times: i32::from(times) })
        }),
        Just(sent("count", &ShelfCountArgs {})),
        Just(sent("clear", &ShelfClearArgs {})),
    ]
}

/// One byte of a call is another, or what follows it is missing.
fn damaged() -> impl Strategy<Value = Sent> {
    (call(), any::<prop::sample::Index>(), any::<u8>(), any::<bool>()).prop_map(
        |((method, mut bytes), at, byte, cut)| {
            let at = at.index(bytes.len());
            match cut {
                true => bytes.truncate(at),
                false => bytes[at] = byte,
            }
            (method, bytes)
        },
    )
}

/// Returns the client's result: the bytes of a reply, or the text of an error.
fn told(session: &mut ExclusiveSession, (method, bytes): &Sent) -> Result<Vec<u8>, String> {
    let reply = session.call(*method, bytes).map_err(|error| describe(&error))?;
    Ok(reply.to_vec())
}

/// Checks that both services, given the same calls, reply and act the same.
fn agree(calls: &impl Strategy<Value = Sent>, cases: u32) {
    for ((carrier, of_owned), (_, of_views)) in options().into_iter().zip(options()) {
        let logs = [Log::default(), Log::default()];
        let owned = LibraryServer(Owned(logs[0].clone()));
        let seen = InPlaceLibraryServer(Seen(logs[1].clone()));
        let (owned, seen) =
            (Running::new(owned, carrier, of_owned), Running::new(seen, carrier, of_views));
        let sessions =
            [&owned, &seen].map(|server| ExclusiveSession::connect(&server.address).unwrap());
        let sessions = RefCell::new(sessions);
        let mut runner = TestRunner::new(Config { cases, ..Config::default() });
        let outcome = runner.run(calls, |call| {
            let [owned, seen] = &mut *sessions.borrow_mut();
            prop_assert_eq!(told(owned, &call), told(seen, &call));
            Ok(())
        });
        outcome.unwrap();
        assert_eq!(logs[0].lines(), logs[1].lines());
    }
}

#[test]
fn replies_are_byte_for_byte_those_of_owned_values() {
    agree(&call(), 400);
}

#[test]
fn malformed_call_is_refused_as_by_owned_values() {
    agree(&damaged(), 600);
}

fn every_kind_of_method<C: Channel>(library: &LibraryClient<C>) {
    let books: Vec<_> = (0..130)
        .map(|number| Book {
            title: format!("book {number}"),
            number,
            price: 0.5,
            lent: number % 2 == 0,
            loans: vec![number; 4],
            cover: (number % 5 == 0).then(|| vec![7; 9]),
        })
        .collect();
    assert_eq!(library.echo(books.clone()).unwrap(), books);
    assert_eq!(library.total(books.clone()).unwrap(), 4 * (0..130).sum::<i64>());
    assert_eq!(library.numbers(books).unwrap()["book 7"], 7);
    assert_eq!(library.shout("ho".to_owned(), 3).unwrap(), "hohoho");
    assert_eq!(library.shout("ho".to_owned(), 90).unwrap().len(), 180);
    assert_eq!(library.find("tale".to_owned()).unwrap().loans, [0, 1, 2, 3]);
    match library.find("Emma's".to_owned()) {
        Err(LibraryFindError::Missing(missing)) => assert_eq!(missing.title, "Emma's"),
        other => panic!("{other:?}"),
    }
    match library.find("odd".to_owned()) {
        Err(LibraryFindError::Rpc(Error::Application(error))) => {
            assert_eq!((error.kind, &*error.message), (ExceptionKind(77), "odd"))
        }
        other => panic!("{other:?}"),
    }
    library.clear().unwrap();
    library.remove("tale".to_owned()).unwrap();
    assert!(matches!(library.remove("art".to_owned()), Err(ShelfRemoveError::Missing(_))));
    let within = CallOptions::new().timeout(Duration::from_secs(60));
    library.with(within).find("tale".to_owned()).unwrap();
    assert_eq!(library.count().unwrap(), 2);
}

#[test]
fn every_kind_of_method_works_natively_and_in_framings() {
    for (carrier, options) in options() {
        let log = Log::default();
        let seen = InPlaceLibraryServer(Seen(log.clone()));
        let running = Running::new(seen, carrier, options);
        every_kind_of_method(&running.client());
        // The deadline came with the call; oneway calls are served before what follows.
        assert_eq!(log.lines(), ["tale", "tale true"]);
        let channel = breezeway::Session::connect(&running.address).unwrap();
        every_kind_of_method(&LibraryClient::new(channel));
        for framing in [ThriftFraming::TtHeader, ThriftFraming::Framed, ThriftFraming::Unframed] {
            every_kind_of_method(&running.thrift(framing));
        }
        let session = RefCell::new(ExclusiveSession::connect(&running.address).unwrap());
        let library = LibraryClient::new(session);
        library.clear().unwrap();
        library.seen("oneway".to_owned()).unwrap();
        assert_eq!(library.count().unwrap(), 1);
        assert_eq!(log.lines(), ["oneway"]);
    }
}

/// Action of a handler after it has written its reply, or instead.
enum Then {
    Throw,
    Fail,
    Panic,
    /// Gives another call's proof that it has written.
    Cheat(Mutex<Option<Written>>),
    /// Writes a list that is shorter than its count.
    Lie,
    /// Writes more than a message may have.
    Overflow,
}

struct Failing(Then);

struct Liar(Range<i64>);

impl Iterator for Liar {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (100, Some(100))
    }
}

impl ExactSizeIterator for Liar {}

impl InPlaceShelf for Failing {
    fn count(&self, _: &Context, reply: ShelfCountReplySpace<'_>) -> Result<Written, Error> {
        reply.view(ShelfCountReplyView::Success(7))
    }

    fn clear(&self, _: &Context) -> Result<(), Error> {
        Ok(())
    }

    fn remove(&self, _: &Context, _: ShelfRemoveArgsView<'_>) -> Result<(), ShelfRemoveError> {
        Ok(())
    }

    fn seen(&self, _: &Context, _: ShelfSeenArgsView<'_>) {}
}

impl InPlaceLibrary for Failing {
    fn find(
        &self,
        _: &Context,
        LibraryFindArgsView { title }: LibraryFindArgsView<'_>,
        reply: LibraryFindReplySpace<'_>,
    ) -> Result<Written, LibraryFindError> {
        let count = if title == "long" { 100 } else { 3 };
        let write = |reply: LibraryFindReplySpace<'_>| {
            let numbers = || (0..count).map(i64::from);
            reply.write(|to| to.success(|book| book.title("secret").loans(numbers())))
        };
        match &self.0 {
            Then::Throw => {
                let _written = write(reply)?;
                Err(NoSuchBook { title: title.to_owned() }.into())
            }
            Then::Fail => {
                let _written = write(reply)?;
                Err(Error::new(ExceptionKind(77), "on purpose").into())
            }
            Then::Panic => {
                let _written = write(reply)?;
                panic!("on purpose")
            }
            Then::Cheat(kept) => {
                let mut kept = kept.lock().unwrap();
                if let Some(written) = kept.take() {
                    return Ok(written);
                }
                *kept = Some(write(reply)?);
                Err(Error::new(ExceptionKind(77), "kept").into())
            }
            Then::Lie => {
                reply.write(|to| to.success(|book| book.title("secret").loans(Liar(0..90))))
            }
            Then::Overflow => {
                let length = 1 << 30;
                reply.write(|to| to.success(|book| book.title_in_place(length, |_| ())))
            }
        }
    }

    fn echo(
        &self,
        _: &Context,
        asked: LibraryEchoArgsView<'_>,
        reply: LibraryEchoReplySpace<'_>,
    ) -> Result<Written, Error> {
        reply.view(LibraryEchoReplyView::Success(asked.books))
    }

    fn total(
        &self,
        _: &Context,
        _: LibraryTotalArgsView<'_>,
        reply: LibraryTotalReplySpace<'_>,
    ) -> Result<Written, Error> {
        // No field is set.
        reply.write(|to| to)
    }

    fn shout(
        &self,
        _: &Context,
        asked: LibraryShoutArgsView<'_>,
        reply: LibraryShoutReplySpace<'_>,
    ) -> Result<Written, Error> {
        reply.view(LibraryShoutReplyView::Success(asked.words))
    }

    fn numbers(
        &self,
        _: &Context,
        _: LibraryNumbersArgsView<'_>,
        _: LibraryNumbersReplySpace<'_>,
    ) -> Result<Written, Error> {
        Err(Error::new(ExceptionKind(77), "nothing written"))
    }
}

/// The words of each failure, of a short and a long reply; the same client is served afterwards.
fn failures<C: Channel>(then: fn() -> Then, client: impl Fn(&Running) -> C, expected: &str) {
    for (carrier, options) in options() {
        let running = Running::new(InPlaceLibraryServer(Failing(then())), carrier, options);
        let library = LibraryClient::new(client(&running));
        for title in ["short", "long", "short"] {
            if let Then::Cheat(_) = then() {
                assert!(library.find("kept".to_owned()).is_err());
            }
            let words = describe(&library.find(title.to_owned()).unwrap_err());
            assert!(words.contains(expected), "{carrier}: {words}");
            assert_eq!(library.count().unwrap(), 7);
        }
    }
}

fn sessions(then: fn() -> Then, expected: &str) {
    let one =
        |running: &Running| RefCell::new(ExclusiveSession::connect(&running.address).unwrap());
    failures(then, one, expected);
    failures(then, |running| breezeway::Session::connect(&running.address).unwrap(), expected);
}

fn everywhere(then: fn() -> Then, expected: &str) {
    sessions(then, expected);
    failures(then, |running| ThriftClient::new(running.address.clone()), expected);
}

#[test]
fn nothing_is_sent_of_a_reply_whose_handler_throws_behind_it() {
    everywhere(|| Then::Throw, "NoSuchBook { title: ");
}

#[test]
fn nothing_is_sent_of_a_reply_whose_handler_fails_behind_it() {
    everywhere(|| Then::Fail, "on purpose");
}

#[test]
fn nothing_is_sent_of_a_reply_whose_handler_panics_behind_it() {
    everywhere(|| Then::Panic, "the handler panicked");
}

#[test]
fn reply_of_another_call_does_not_count() {
    everywhere(|| Then::Cheat(Mutex::default()), "another call's reply");
}

#[test]
fn list_shorter_than_announced_is_not_sent() {
    everywhere(|| Then::Lie, "cannot be written");
}

#[test]
fn a_reply_that_is_too_long_fails_its_call_and_no_other() {
    sessions(|| Then::Overflow, "exceeds");
}

#[test]
fn a_reply_in_which_no_field_is_set_is_none_to_its_client() {
    for (carrier, options) in options() {
        let running = Running::new(InPlaceLibraryServer(Failing(Then::Throw)), carrier, options);
        let missing = running.client().total(Vec::new());
        assert!(matches!(missing, Err(Error::MissingResult)), "{missing:?}");
        assert!(running.client().numbers(Vec::new()).is_err());
    }
}

#[test]
fn a_view_is_a_reply_with_the_bytes_of_its_lists_as_they_came() {
    for (carrier, options) in options() {
        let running = Running::new(InPlaceLibraryServer(Failing(Then::Throw)), carrier, options);
        let books = vec![Book { title: "a title".to_owned(), ..Book::default() }; 40];
        assert_eq!(running.client().echo(books.clone()).unwrap(), books);
        assert_eq!(running.client().shout("as is".to_owned(), 1).unwrap(), "as is");
    }
}

/// Reports the addresses of received text and of its reply.
struct Where;

/// Returns true if the address is in shared memory. The list is read in parts, and may lack entries
/// between two of them while other threads map and unmap: a mapping is in it sooner or later.
fn is_shared(bytes: &[u8]) -> bool {
    let address = bytes.as_ptr() as usize;
    let is_in = |line: &&str| {
        let (begin, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let [begin, end] = [begin, end].map(|text| usize::from_str_radix(text, 16).unwrap());
        (begin..end).contains(&address)
    };
    loop {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        if let Some(line) = maps.lines().find(is_in) {
            return line.contains("memfd:");
        }
    }
}

impl InPlaceShelf for Where {
    fn count(&self, _: &Context, reply: ShelfCountReplySpace<'_>) -> Result<Written, Error> {
        reply.view(ShelfCountReplyView::Success(0))
    }

    fn clear(&self, _: &Context) -> Result<(), Error> {
        Ok(())
    }

    fn remove(&self, _: &Context, _: ShelfRemoveArgsView<'_>) -> Result<(), ShelfRemoveError> {
        Ok(())
    }

    fn seen(&self, _: &Context, _: ShelfSeenArgsView<'_>) {}
}

impl InPlaceLibrary for Where {
    fn find(
        &self,
        _: &Context,
        _: LibraryFindArgsView<'_>,
        _: LibraryFindReplySpace<'_>,
    ) -> Result<Written, LibraryFindError> {
        Err(Error::new(ExceptionKind(77), "not asked for").into())
    }

    fn echo(
        &self,
        _: &Context,
        asked: LibraryEchoArgsView<'_>,
        reply: LibraryEchoReplySpace<'_>,
    ) -> Result<Written, Error> {
        reply.view(LibraryEchoReplyView::Success(asked.books))
    }

    fn total(
        &self,
        _: &Context,
        _: LibraryTotalArgsView<'_>,
        reply: LibraryTotalReplySpace<'_>,
    ) -> Result<Written, Error> {
        reply.write(|to| to.success(0))
    }

    fn shout(
        &self,
        _: &Context,
        LibraryShoutArgsView { words, .. }: LibraryShoutArgsView<'_>,
        reply: LibraryShoutReplySpace<'_>,
    ) -> Result<Written, Error> {
        let seen = is_shared(words.as_bytes());
        reply.write(|to| {
            to.success_in_place(words.len(), |bytes| {
                let text = format!("{seen} {}", is_shared(bytes));
                bytes.fill(b' ');
                bytes[..text.len()].copy_from_slice(text.as_bytes());
            })
        })
    }

    fn numbers(
        &self,
        _: &Context,
        _: LibraryNumbersArgsView<'_>,
        _: LibraryNumbersReplySpace<'_>,
    ) -> Result<Written, Error> {
        Err(Error::new(ExceptionKind(77), "not asked for"))
    }
}

#[test]
fn reply_and_trusted_arguments_stay_in_shared_memory() {
    let told = |options: ServerOptions, is_channel: bool| {
        let running = Running::new(InPlaceLibraryServer(Where), "shm", options);
        let words = "w".repeat(10_000);
        let reply = match is_channel {
            true => {
                let channel = breezeway::Session::connect(&running.address).unwrap();
                LibraryClient::new(channel).shout(words, 1)
            }
            false => running.client().shout(words, 1),
        };
        reply.unwrap().trim().to_owned()
    };
    for is_channel in [false, true] {
        assert_eq!(told(ServerOptions::new(), is_channel), "false true");
        assert_eq!(told(trusting(), is_channel), "true true");
    }
}
