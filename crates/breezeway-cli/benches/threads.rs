//! Many threads that call one server: on one shared session, against each on a plain unix socket of
//! its own, and each on a session of its own.
//!
//! `cargo bench -p breezeway-cli --bench threads` takes a minute. The ways take turns; a ratio is
//! of two that were measured one right after the other. 64 bytes, written and read; nothing is
//! pinned; every thread calls as fast as it gets replies. The server is another process: one
//! worker, and for plain sockets a thread for each connection.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{Address, Call, ExclusiveSession, Server, Session};
use breezeway_measure::machine::{Cpus, Machine};
use breezeway_measure::statistics::Spread;

type Failure = Box<dyn Error + Send + Sync>;

const THREADS: [usize; 3] = [1, 2, 8];
const ROUNDS: usize = 7;
const TURN: Duration = Duration::from_millis(600);
const WARM_UP: Duration = Duration::from_millis(100);
const SIZE: usize = 64;

/// Function that makes a call.
type Caller = Box<dyn FnMut(&[u8; SIZE]) -> Result<(), Failure> + Send>;

struct Places {
    address: Address,
    plain: std::path::PathBuf,
}

impl Places {
    fn in_folder(folder: &Path) -> Result<Self, Failure> {
        let address = format!("shm:{}", folder.join("shm.sock").display()).parse()?;
        Ok(Self { address, plain: folder.join("plain.sock") })
    }

    /// Callers of one way, one for each thread.
    fn callers(&self, way: &str, threads: usize) -> Result<Vec<Caller>, Failure> {
        let channel = Session::connect(&self.address)?;
        (0..threads)
            .map(|_| -> Result<Caller, Failure> {
                Ok(match way {
                    "shared" => {
                        let channel = channel.clone();
                        Box::new(move |request| check(&channel.call(0, request)?.to_vec(), request))
                    }
                    "own" => {
                        let mut session = ExclusiveSession::connect(&self.address)?;
                        Box::new(move |request| check(&session.call(0, request)?.to_vec(), request))
                    }
                    _ => {
                        let mut socket = UnixStream::connect(&self.plain)?;
                        Box::new(move |request| {
                            let mut reply = [0; SIZE];
                            socket.write_all(request)?;
                            socket.read_exact(&mut reply)?;
                            check(&reply, request)
                        })
                    }
                })
            })
            .collect()
    }

    /// Calls a second of all threads together.
    fn rate(&self, way: &str, threads: usize) -> Result<f64, Failure> {
        let (counts, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        let calls = AtomicU64::new(0);
        let callers = self.callers(way, threads)?;
        thread::scope(|scope| {
            let threads: Vec<_> = (0u8..)
                .zip(callers)
                .map(|(number, mut call)| {
                    let (counts, stop, calls) = (&counts, &stop, &calls);
                    scope.spawn(move || {
                        let mut made = 0;
                        while !stop.load(Ordering::Relaxed) {
                            call(&[number; SIZE])?;
                            made += u64::from(counts.load(Ordering::Relaxed));
                        }
                        calls.fetch_add(made, Ordering::Relaxed);
                        Ok::<(), Failure>(())
                    })
                })
                .collect();
            thread::sleep(WARM_UP);
            let start = Instant::now();
            counts.store(true, Ordering::Relaxed);
            thread::sleep(TURN);
            let seconds = start.elapsed().as_secs_f64();
            stop.store(true, Ordering::Relaxed);
            for thread in threads {
                thread.join().map_err(|_| "a caller panicked")??;
            }
            Ok(calls.load(Ordering::Relaxed) as f64 / seconds)
        })
    }
}

fn check(reply: &[u8], request: &[u8]) -> Result<(), Failure> {
    if reply == request { Ok(()) } else { Err("a reply to another call".into()) }
}

fn serve(folder: &Path) -> Result<(), Failure> {
    let places = Places::in_folder(folder)?;
    let listener = UnixListener::bind(&places.plain)?;
    let server = Server::bind(&places.address)?;
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            thread::spawn(move || echo(socket));
        }
    });
    println!("ready");
    Ok(server.serve(|call: Call<'_>| call.echo())?)
}

fn echo(mut socket: UnixStream) {
    let mut bytes = [0; SIZE];
    while socket.read_exact(&mut bytes).is_ok() && socket.write_all(&bytes).is_ok() {}
}

/// The server's process, ended with the measurement.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        // Fails if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn main() -> Result<(), Failure> {
    if let Ok(folder) = std::env::var("BREEZEWAY_THREADS_FOLDER") {
        return serve(folder.as_ref());
    }
    let folder = tempfile::tempdir()?;
    let mut server = Serving(
        Command::new(std::env::current_exe()?)
            .env("BREEZEWAY_THREADS_FOLDER", folder.path())
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let output = server.0.stdout.take().ok_or("no output")?;
    BufReader::new(output).read_line(&mut String::new())?;
    let facts = Machine::detect(Cpus::first_allowed()?).facts();
    for (name, value) in facts.into_iter().filter(|(name, _)| *name != "pinned") {
        println!("{name}: {value}");
    }
    println!("calls a second of all threads, and the ratio to plain sockets: median (quartiles)");
    let places = Places::in_folder(folder.path())?;
    for threads in THREADS {
        for way in ["shared", "own"] {
            let mut rates = Vec::new();
            let mut ratios = Vec::new();
            for _ in 0..ROUNDS {
                let plain = places.rate("plain", threads)?;
                let rate = places.rate(way, threads)?;
                rates.push(rate);
                ratios.push(rate / plain);
            }
            let rate = Spread::of(rates).ok_or("no figure")?.median;
            let Spread { q1, median, q3, .. } = Spread::of(ratios).ok_or("no figure")?;
            let session = if way == "own" { "a session each" } else { "one shared session" };
            println!(
                "{threads} threads, {session}: {rate:.0}/s, {median:.2} x plain \
                 ({q1:.2}-{q3:.2})"
            );
        }
    }
    Ok(())
}
