//! How long a session waits while another one keeps their worker in handlers of 10 ms.
//!
//! `cargo bench -p breezeway-cli --bench fairness` takes some ten seconds. The server is another
//! process; nothing is pinned. One session makes one slow call after the other; each of the others
//! of the same worker makes one quick call at a time that has nothing to do with that, and then
//! more of them.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use breezeway::{Address, Call, ExclusiveSession, Server, ServerOptions};
use breezeway_measure::machine::{Cpus, Machine};
use breezeway_os::clock;

type Failure = Box<dyn Error + Send + Sync>;

/// Methods: a slow handler, which sleeps, and a quick one.
const SLOW: u32 = 0;
const QUICK: u32 = 1;
const HANDLER: Duration = Duration::from_millis(10);
/// Sessions beside the slow one, of all workers.
const SESSIONS: usize = 80;
/// Quick calls of each session after its first.
const MORE: usize = 5;

/// Name, workers, threads that run handlers.
const WAYS: [(&str, usize, usize); 3] =
    [("one worker", 1, 0), ("two workers", 2, 0), ("one worker, handlers on two threads", 1, 2)];

fn address(folder: &Path) -> Result<Address, Failure> {
    Ok(format!("shm:{}", folder.join("fairness.sock").display()).parse()?)
}

fn serve(folder: &Path, way: usize) -> Result<(), Failure> {
    let (_, workers, offload) = WAYS[way];
    let options = ServerOptions::new().workers(workers).offload(offload);
    let server = Server::bind_with(&address(folder)?, options)?;
    println!("ready");
    Ok(server.serve(|call: Call<'_>| {
        let begin = clock::since_boot();
        if call.method() == SLOW {
            thread::sleep(HANDLER);
        }
        let times = [begin, clock::since_boot()].map(u64::to_le_bytes);
        let thread = thread::current();
        call.reply(
            [&times[0][..], &times[1], thread.name().unwrap_or_default().as_bytes()].concat(),
        )
    })?)
}

/// Run of a handler: its times in nanoseconds since boot, and its thread.
struct Ran {
    begin: u64,
    end: u64,
    thread: Vec<u8>,
}

fn call(session: &mut ExclusiveSession, method: u32) -> Result<Ran, Failure> {
    let reply = session.call(method, b"")?.to_vec();
    let (times, thread) = reply.split_at_checked(16).ok_or("a short reply")?;
    let [begin, end] = [0, 8].map(|at| times[at..].first_chunk().copied().map(u64::from_le_bytes));
    let (begin, end) = begin.zip(end).ok_or("a short reply")?;
    Ok(Ran { begin, end, thread: thread.to_vec() })
}

/// One quick call: when it was made, served and over.
struct Quick {
    made: u64,
    served: u64,
    over: u64,
}

/// The server's process, ended with the measurement.
struct Serving(Child);

impl Serving {
    fn start(folder: &Path, way: usize) -> Result<Self, Failure> {
        let mut serving = Self(
            Command::new(std::env::current_exe()?)
                .env("BREEZEWAY_FAIRNESS_FOLDER", folder)
                .env("BREEZEWAY_FAIRNESS_WAY", way.to_string())
                .stdout(Stdio::piped())
                .spawn()?,
        );
        let output = serving.0.stdout.take().ok_or("no output")?;
        BufReader::new(output).read_line(&mut String::new())?;
        Ok(serving)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Fails if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns quick calls, the first of each session and later ones, and the slow ones that were
/// served during them.
fn wait_beside_slow_calls(address: &Address) -> Result<([Vec<Quick>; 2], Vec<Ran>), Failure> {
    let mut sessions = (0..=SESSIONS)
        .map(|_| Ok(ExclusiveSession::connect(address)?))
        .collect::<Result<Vec<_>, Failure>>()?;
    let mut slow = sessions.pop().ok_or("no session")?;
    let worker = call(&mut slow, SLOW)?.thread;
    let mut beside = Vec::new();
    for mut session in sessions {
        // Handlers on threads of their own do not name the worker; there is only one.
        let replied = call(&mut session, QUICK)?.thread;
        if replied == worker || worker.starts_with(b"breezeway-call") {
            beside.push(session);
        }
    }
    // Long enough for all of them to be armed.
    thread::sleep(Duration::from_millis(20));
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let flood = scope.spawn(|| {
            let mut ran = Vec::new();
            while !over.load(Ordering::Relaxed) {
                ran.push(call(&mut slow, SLOW)?);
            }
            Ok::<_, Failure>(ran)
        });
        let mut calls = [Vec::new(), Vec::new()];
        let outcome = (0..=MORE).try_for_each(|number| {
            for (index, session) in beside.iter_mut().enumerate() {
                // At every phase of the slow handler.
                thread::sleep(Duration::from_micros(2_000 + (index as u64 * 1_370) % 9_000));
                let made = clock::since_boot();
                let served = call(session, QUICK)?.begin;
                calls[number.min(1)].push(Quick { made, served, over: clock::since_boot() });
            }
            Ok::<(), Failure>(())
        });
        over.store(true, Ordering::Relaxed);
        let ran = flood.join().map_err(|_| "the slow caller panicked")??;
        outcome.map(|()| (calls, ran))
    })
}

fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

fn describe(calls: &[Quick], slow: &[Ran]) -> String {
    let mut times: Vec<_> = calls.iter().map(|call| call.over - call.made).collect();
    times.sort_unstable();
    let at = |share: f64| milliseconds(times[((times.len() - 1) as f64 * share) as usize]);
    let (median, most, largest) = (at(0.5), at(0.9), at(1.0));
    // Sources of the largest: slow handlers that began while a quick call waited, or the kernel,
    // which lets a handler sleep longer, or a thread wait for a CPU.
    let begun = |call: &Quick| {
        slow.iter().filter(|ran| (call.made..call.served).contains(&ran.begin)).count()
    };
    let before = calls.iter().map(begun).max().unwrap_or(0);
    let back = milliseconds(calls.iter().map(|call| call.over - call.served).max().unwrap_or(0));
    let handler = milliseconds(slow.iter().map(|ran| ran.end - ran.begin).max().unwrap_or(0));
    format!(
        "p50 {median:.2}, p90 {most:.2}, max {largest:.2} ms of {}; slow handlers that began \
         while one waited: at most {before}; the longest of them {handler:.2} ms; from the quick \
         handler back to its caller at most {back:.2} ms",
        times.len()
    )
}

fn main() -> Result<(), Failure> {
    if let Ok(folder) = std::env::var("BREEZEWAY_FAIRNESS_FOLDER") {
        return serve(folder.as_ref(), std::env::var("BREEZEWAY_FAIRNESS_WAY")?.parse()?);
    }
    let facts = Machine::detect(Cpus::first_allowed()?).facts();
    for (name, value) in facts.into_iter().filter(|(name, _)| *name != "pinned") {
        println!("{name}: {value}");
    }
    for (way, (name, ..)) in WAYS.iter().enumerate() {
        let folder = tempfile::tempdir()?;
        let _serving = Serving::start(folder.path(), way)?;
        let ([first, later], slow) = wait_beside_slow_calls(&address(folder.path())?)?;
        println!("{name}, first call of each session: {}", describe(&first, &slow));
        println!("{name}, later calls: {}", describe(&later, &slow));
    }
    Ok(())
}
