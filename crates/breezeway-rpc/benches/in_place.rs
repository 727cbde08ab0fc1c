//! Compares serving a list of structs by owned values with serving it in place: two processes, one
//! CPU each, both waiting busily, in turns. The client sends bytes and copies the returned ones, so
//! that the difference is the server's.
//!
//! `cargo bench -p breezeway-rpc --bench in_place`

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use breezeway::{
    Call, ExclusiveSession, Handled, ServerOptions, SessionOptions, TrustedPeer, WaitPolicy,
};
use breezeway_os::cpu;
use breezeway_rpc::thrift::{Encode, to_vec};
use breezeway_rpc::{Context, Method, Server, Written};

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/shelf.rs"));
use shelf::*;

const ROUNDS: usize = 31;
const CALLS: u32 = 4_000;
const KINDS: [&str; 4] = ["raw", "owned", "in-place", "trusting"];

type Failure = breezeway_rpc::Error;

struct Books;

impl Shelf for Books {
    fn count(&self, _: &Context) -> Result<i64, Failure> {
        Ok(0)
    }

    fn clear(&self, _: &Context) -> Result<(), Failure> {
        Ok(())
    }

    fn remove(&self, _: &Context, _: String) -> Result<(), ShelfRemoveError> {
        Ok(())
    }

    fn seen(&self, _: &Context, _: String) {}
}

impl Library for Books {
    fn find(&self, _: &Context, title: String) -> Result<Book, LibraryFindError> {
        Err(NoSuchBook { title }.into())
    }

    fn echo(&self, _: &Context, books: Vec<Book>) -> Result<Vec<Book>, Failure> {
        Ok(books)
    }

    fn total(&self, _: &Context, books: Vec<Book>) -> Result<i64, Failure> {
        Ok(books.iter().flat_map(|book| &book.loans).sum())
    }

    fn shout(&self, _: &Context, words: String, _: i32) -> Result<String, Failure> {
        Ok(words)
    }

    fn numbers(&self, _: &Context, _: Vec<Book>) -> Result<BTreeMap<String, i64>, Failure> {
        Ok(BTreeMap::new())
    }
}

impl InPlaceShelf for Books {
    fn count(&self, _: &Context, reply: ShelfCountReplySpace<'_>) -> Result<Written, Failure> {
        reply.write(|to| to.success(0))
    }

    fn clear(&self, _: &Context) -> Result<(), Failure> {
        Ok(())
    }

    fn remove(&self, _: &Context, _: ShelfRemoveArgsView<'_>) -> Result<(), ShelfRemoveError> {
        Ok(())
    }

    fn seen(&self, _: &Context, _: ShelfSeenArgsView<'_>) {}
}

impl InPlaceLibrary for Books {
    fn find(
        &self,
        _: &Context,
        asked: LibraryFindArgsView<'_>,
        reply: LibraryFindReplySpace<'_>,
    ) -> Result<Written, LibraryFindError> {
        reply.write(|to| to.missing(|missing| missing.title(asked.title)))
    }

    fn echo(
        &self,
        _: &Context,
        asked: LibraryEchoArgsView<'_>,
        reply: LibraryEchoReplySpace<'_>,
    ) -> Result<Written, Failure> {
        reply.write(|to| {
            to.success(asked.books, |to, book| {
                let to = to.title(book.title).number(book.number).price(book.price);
                to.lent(book.lent).loans(book.loans)
            })
        })
    }

    fn total(
        &self,
        _: &Context,
        asked: LibraryTotalArgsView<'_>,
        reply: LibraryTotalReplySpace<'_>,
    ) -> Result<Written, Failure> {
        let total = asked.books.iter().map(|book| book.loans.sum()).sum();
        reply.write(|to| to.success(total))
    }

    fn shout(
        &self,
        _: &Context,
        asked: LibraryShoutArgsView<'_>,
        reply: LibraryShoutReplySpace<'_>,
    ) -> Result<Written, Failure> {
        reply.write(|to| to.success(asked.words))
    }

    fn numbers(
        &self,
        _: &Context,
        _: LibraryNumbersArgsView<'_>,
        reply: LibraryNumbersReplySpace<'_>,
    ) -> Result<Written, Failure> {
        reply.write(|to| to.success(const { &BTreeMap::new() }))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "serve", kind, address] => serve(kind, address),
        // `cargo test` runs the program without that argument, and it is not a test.
        _ if !arguments.iter().any(|argument| argument == "--bench") => Ok(()),
        _ => compare(),
    }
}

fn busy() -> SessionOptions {
    SessionOptions::new().wait(WaitPolicy::Busy)
}

#[allow(unsafe_code, reason = "a proof of trust cannot be had without")]
fn serve(kind: &str, address: &str) -> Result<(), Box<dyn Error>> {
    cpu::pin_current_thread(0)?;
    let mut session = busy();
    if kind == "trusting" {
        // SAFETY: the client is this program's other process, which uses the safe API alone.
        session = session.trust(|_| Some(unsafe { TrustedPeer::assume() }));
    }
    let options = ServerOptions::new().session(session);
    if kind == "raw" {
        let server = breezeway::Server::bind_with(address, options)?;
        println!("ready");
        return Ok(server.serve(|call: Call<'_>| -> Handled { call.echo() })?);
    }
    let server = Server::bind_with(address, options)?;
    let server = match kind {
        "owned" => server.add_service(LibraryServer(Books))?,
        _ => server.add_service(InPlaceLibraryServer(Books))?,
    };
    println!("ready");
    Ok(server.serve()?)
}

/// A server in another process, which ends when this is dropped.
struct Served(Child);

impl Served {
    fn start(kind: &str, address: &str) -> Result<Self, Box<dyn Error>> {
        let mut server = Command::new(std::env::current_exe()?);
        let mut child = server.args(["serve", kind, address]).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        Ok(Self(child))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Both fail only if the process is gone.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn compare() -> Result<(), Box<dyn Error>> {
    cpu::pin_current_thread(1)?;
    let book = |number: i64| Book {
        title: format!("the book {number}"),
        number,
        price: 0.5,
        lent: number % 2 == 0,
        loans: (0..number % 8).collect(),
        cover: None,
    };
    let books: Vec<_> = (0..161).map(book).collect();
    measure("echo", &LibraryEchoArgs { books: books.clone() })?;
    measure("total", &LibraryTotalArgs { books })
}

/// Times a method on each server, in turns.
fn measure(method: &str, arguments: &impl Encode) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (number, bytes) = (Method::number("Library", method), to_vec(arguments)?);
    let mut times: [Vec<f64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        for (kind, times) in KINDS.into_iter().zip(&mut times) {
            // One server at a time, because each takes all of its CPU.
            let address = format!("shm:{}/{kind}.sock", folder.path().display());
            let served = Served::start(kind, &address)?;
            let mut session = ExclusiveSession::connect_with(&address, &busy())?;
            let mut reply = vec![0; bytes.len()];
            times.push(time(|| {
                if let Ok(replied) = session.call(number, black_box(&bytes)) {
                    let replied = replied.bytes();
                    replied.copy_to(&mut reply[..replied.len()]);
                }
                black_box(&reply);
            }));
            drop((session, served));
        }
    }
    println!("{method}: {} bytes, {ROUNDS} rounds of {CALLS} calls each", bytes.len());
    for (kind, of_kind) in KINDS.into_iter().zip(&times) {
        let mut ratios: Vec<_> =
            times[1].iter().zip(of_kind).map(|(one, other)| one / other).collect();
        let (time, ratio) = (median(&mut of_kind.clone()), median(&mut ratios));
        println!("{kind:<10}{time:>9.0} ns; owned takes {ratio:.2} × (median of pairs)");
    }
    Ok(())
}

/// Returns the nanoseconds per call, after as many calls to warm up.
fn time(mut call: impl FnMut()) -> f64 {
    for _ in 0..CALLS {
        call();
    }
    let begun = Instant::now();
    for _ in 0..CALLS {
        call();
    }
    begun.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
