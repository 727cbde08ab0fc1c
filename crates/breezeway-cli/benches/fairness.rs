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
use std::time::{Duration, Instant};

use breezeway::{Address, Call, Server, ServerOptions, Session};
use breezeway_measure::machine::{Cpus, Machine};

type Failure = Box<dyn Error + Send + Sync>;

/// What a handler takes, and which thread replies.
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
        if call.method() == SLOW {
            thread::sleep(HANDLER);
        }
        call.reply(thread::current().name().unwrap_or_default().as_bytes())
    })?)
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

/// Times of quick calls, the first of each session and later ones, while slow ones are served.
fn wait_beside_slow_calls(address: &Address) -> Result<[Vec<Duration>; 2], Failure> {
    let mut sessions = (0..=SESSIONS)
        .map(|_| Ok(Session::connect(address)?))
        .collect::<Result<Vec<_>, Failure>>()?;
    let mut slow = sessions.pop().ok_or("no session")?;
    let worker = slow.call(SLOW, b"")?.to_vec();
    let mut beside = Vec::new();
    for mut session in sessions {
        // Handlers on threads of their own do not say which worker it is, of which there is one.
        let replied = session.call(QUICK, b"")?.to_vec();
        if replied == worker || worker.starts_with(b"breezeway-call") {
            beside.push(session);
        }
    }
    // Long enough for all of them to be armed.
    thread::sleep(Duration::from_millis(20));
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let flood = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                slow.call(SLOW, b"")?;
            }
            Ok::<(), Failure>(())
        });
        let mut times = [Vec::new(), Vec::new()];
        let outcome = (0..=MORE).try_for_each(|number| {
            for (index, session) in beside.iter_mut().enumerate() {
                // At every phase of the slow handler.
                thread::sleep(Duration::from_micros(2_000 + (index as u64 * 1_370) % 9_000));
                let start = Instant::now();
                session.call(QUICK, b"")?;
                times[number.min(1)].push(start.elapsed());
            }
            Ok::<(), Failure>(())
        });
        over.store(true, Ordering::Relaxed);
        flood.join().map_err(|_| "the slow caller panicked")??;
        outcome.map(|()| times)
    })
}

fn describe(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let ms = |share: f64| at(share).as_secs_f64() * 1e3;
    let (median, most, largest) = (ms(0.5), ms(0.9), ms(1.0));
    format!("p50 {median:.2}, p90 {most:.2}, max {largest:.2} ms of {}", times.len())
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
        let [first, later] = wait_beside_slow_calls(&address(folder.path())?)?;
        println!("{name}, first call of each session: {}", describe(first));
        println!("{name}, later calls: {}", describe(later));
    }
    Ok(())
}
