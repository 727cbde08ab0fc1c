//! The cost of a reader that sleeps for the other streams of its session, and a pipeline of frames
//! of 8 MiB against the same over a unix socket.
//!
//! `cargo bench -p breezeway-cli --bench streams` takes a minute. The server is another process;
//! nothing is pinned. Frames are kept past the thread that receives them: another one reads 8 bytes
//! of each (*untouched*), or all of them after the sender wrote them all (*touched*).
#![forbid(unsafe_code)]
#![allow(missing_docs)]

use std::collections::VecDeque;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{ErrorCode, Incoming, Message, ServerSession, Session, SessionOptions, Stream};
use breezeway_measure::machine::{Cpus, Machine};
use breezeway_measure::statistics::Spread;

type Failure = Box<dyn Error + Send + Sync>;

const FOLDER: &str = "BREEZEWAY_STREAMS_FOLDER";
/// Methods of streams.
const ECHO: u32 = 0;
const ASLEEP: u32 = 1;
/// Methods of one-way messages.
const UNTOUCHED: u32 = 0;
const TOUCHED: u32 = 1;

const SIZE: usize = 64;
const SLEEP: Duration = Duration::from_secs(10);
const FRAME: usize = 8 << 20;
/// The first frames of a session or a connection, which take its memory.
const FIRST: u64 = 40;
const FRAMES: u64 = 100;
/// Frames that the other thread keeps.
const KEPT: usize = 3;
const ROUNDS: usize = 5;
const PIECE: usize = 16 << 10;

fn options() -> SessionOptions {
    SessionOptions::new().cap(256 << 20)
}

// ---- the server ----

fn serve(folder: &Path) -> Result<(), Failure> {
    let shared = UnixListener::bind(folder.join("shared.sock"))?;
    let plain = UnixListener::bind(folder.join("plain.sock"))?;
    println!("ready");
    thread::spawn(move || {
        for socket in plain.incoming().flatten() {
            thread::spawn(move || receive_plain(socket));
        }
    });
    for socket in shared.incoming().flatten() {
        thread::spawn(move || receive_shared(socket));
    }
    Ok(())
}

fn receive_shared(socket: UnixStream) -> Result<(), Failure> {
    let server = ServerSession::from_socket(socket.into(), &options())?;
    let (frames, to_read) = mpsc::channel::<(u32, Message)>();
    let reading = thread::spawn(move || {
        let mut kept = VecDeque::new();
        let mut number = 0;
        let mut piece = vec![0; PIECE];
        for (method, frame) in to_read {
            assert_eq!(frame.bytes().u64_le_at(0), Some(number), "frames are in order");
            if method == TOUCHED {
                let mut sum = 0u64;
                for at in (0..FRAME).step_by(PIECE) {
                    frame.bytes().slice(at..at + PIECE).copy_to(&mut piece);
                    sum = sum.wrapping_add(sum_of(&piece));
                }
                assert_eq!(sum, expected_sum(number));
            }
            number += 1;
            kept.push_back(frame);
            if kept.len() > KEPT {
                kept.pop_front();
            }
        }
        number
    });
    let mut done = None;
    while let Some(incoming) = server.accept()? {
        match incoming {
            Incoming::Call(call) if call.is_one_way() => {
                frames.send((call.method(), call.into_message()))?;
            }
            Incoming::Call(call) => {
                done = Some(call);
                break;
            }
            Incoming::Stream(ECHO, stream) => drop(thread::spawn(move || echo(stream))),
            Incoming::Stream(_, stream) => drop(thread::spawn(move || {
                thread::sleep(SLEEP);
                stream.reset(ErrorCode::Cancelled);
            })),
        }
    }
    drop(frames);
    let read = reading.join().map_err(|_| "the reader panicked")?;
    if let Some(call) = done {
        let _ = call.reply(u64::to_le_bytes(read));
    }
    Ok(())
}

fn echo(mut stream: Stream) {
    while let Ok(Some(message)) = stream.receive() {
        if stream.send(&message.to_vec()).is_err() {
            break;
        }
    }
}

/// Receives the same over a socket: buffers rotate between both threads.
fn receive_plain(mut socket: UnixStream) -> Result<(), Failure> {
    let mut method = [0];
    socket.read_exact(&mut method)?;
    let is_touched = u32::from(method[0]) == TOUCHED;
    let (frames, to_read) = mpsc::channel::<Vec<u8>>();
    let (free, free_again) = mpsc::channel();
    for _ in 0..=KEPT + 1 {
        free.send(vec![0; FRAME])?;
    }
    let reading = thread::spawn(move || {
        let mut kept = VecDeque::new();
        let mut number = 0;
        for frame in to_read {
            assert_eq!(frame[..8], u64::to_le_bytes(number), "frames are in order");
            if is_touched {
                assert_eq!(sum_of(&frame), expected_sum(number));
            }
            number += 1;
            kept.push_back(frame);
            if kept.len() > KEPT {
                // The receiver is gone once all were received.
                let _ = kept.pop_front().map(|frame| free.send(frame));
            }
        }
        number
    });
    for _ in 0..FRAMES {
        let mut frame = free_again.recv()?;
        socket.read_exact(&mut frame)?;
        frames.send(frame)?;
    }
    drop(frames);
    let read = reading.join().map_err(|_| "the reader panicked")?;
    Ok(socket.write_all(&u64::to_le_bytes(read))?)
}

// ---- frames ----

/// Makes a frame: its number, or as much in every word.
fn make(frame: &mut [u8], number: u64, is_touched: bool) {
    let filled = if is_touched { frame.len() } else { 8 };
    for word in frame[..filled].chunks_exact_mut(8) {
        word.copy_from_slice(&number.to_le_bytes());
    }
}

fn sum_of(bytes: &[u8]) -> u64 {
    let words = bytes.as_chunks::<8>().0;
    words.iter().fold(0, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

fn expected_sum(number: u64) -> u64 {
    number.wrapping_mul(FRAME as u64 / 8)
}

/// Frames a second: the first ones, until they are sent, and later ones, until all are read.
type Rates = [f64; 2];

/// Sends all frames, then waits until they are read.
fn rates(
    mut send: impl FnMut(u64) -> Result<(), Failure>,
    wait: impl FnOnce() -> Result<u64, Failure>,
) -> Result<Rates, Failure> {
    let start = Instant::now();
    (0..FIRST).try_for_each(&mut send)?;
    let later = Instant::now();
    (FIRST..FRAMES).try_for_each(&mut send)?;
    assert_eq!(wait()?, FRAMES);
    let rate = |frames, time: Duration| frames as f64 / time.as_secs_f64();
    Ok([rate(FIRST, later - start), rate(FRAMES - FIRST, later.elapsed())])
}

fn shared_frames(folder: &Path, method: u32) -> Result<Rates, Failure> {
    let session = connect(folder)?;
    let send = |number| {
        let mut frame = session.reserve(FRAME)?;
        make(frame.bytes_mut(), number, method == TOUCHED);
        Ok(session.request(method).post_space(frame)?)
    };
    rates(send, || Ok(session.call(0, &[])?.bytes().u64_le_at(0).ok_or("no count")?))
}

fn plain_frames(folder: &Path, method: u32) -> Result<Rates, Failure> {
    let mut socket = UnixStream::connect(folder.join("plain.sock"))?;
    socket.write_all(&[method as u8])?;
    let mut replies = socket.try_clone()?;
    let mut frame = vec![0; FRAME];
    let send = |number| {
        make(&mut frame, number, method == TOUCHED);
        Ok(socket.write_all(&frame)?)
    };
    rates(send, || {
        let mut read = [0; 8];
        replies.read_exact(&mut read)?;
        Ok(u64::from_le_bytes(read))
    })
}

fn measure_frames(folder: &Path) -> Result<(), Failure> {
    for (name, method) in [("untouched", UNTOUCHED), ("touched", TOUCHED)] {
        let rounds = (0..ROUNDS)
            .map(|_| Ok((plain_frames(folder, method)?, shared_frames(folder, method)?)))
            .collect::<Result<Vec<_>, Failure>>()?;
        for (part, when) in ["the first", "later ones"].into_iter().enumerate() {
            let rate = Spread::of(rounds.iter().map(|(_, shared)| shared[part]));
            let rate = rate.ok_or("no figure")?.median;
            let ratios = rounds.iter().map(|(plain, shared)| shared[part] / plain[part]);
            let Spread { q1, median, q3, .. } = Spread::of(ratios).ok_or("no figure")?;
            println!(
                "frames of 8 MiB {name}, {when}: {rate:.0}/s, {median:.1} x a unix socket \
                 ({q1:.1}-{q3:.1})"
            );
        }
    }
    Ok(())
}

// ---- a reader that sleeps ----

fn connect(folder: &Path) -> Result<Session, Failure> {
    let socket = UnixStream::connect(folder.join("shared.sock"))?;
    Ok(Session::from_socket(socket.into(), &options())?)
}

/// Round trips on a stream for some time: their p50 and p99 in microseconds.
fn round_trips(stream: &mut Stream, time: Duration) -> Result<[f64; 2], Failure> {
    let mut times = Vec::new();
    let end = Instant::now() + time;
    let mut before = Instant::now();
    while before < end {
        stream.send(&[7; SIZE])?;
        stream.receive()?.ok_or("the stream ended")?;
        let now = Instant::now();
        times.push((now - before).as_secs_f64() * 1e6);
        before = now;
    }
    times.sort_unstable_by(f64::total_cmp);
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    Ok([at(0.5), at(0.99)])
}

fn measure_sleeping_reader(folder: &Path) -> Result<(), Failure> {
    let session = connect(folder)?;
    let mut stream = session.open(ECHO)?;
    round_trips(&mut stream, Duration::from_millis(500))?;
    let alone = round_trips(&mut stream, SLEEP / 2)?;
    let mut stuck = session.open(ASLEEP)?;
    // Until its window is full.
    let soon = Instant::now() + Duration::from_millis(100);
    while stuck.sender().send_until(&[7; SIZE], soon).is_ok() {}
    let beside = round_trips(&mut stream, SLEEP - Duration::from_secs(1))?;
    stuck.reset(ErrorCode::Cancelled);
    let again = round_trips(&mut stream, SLEEP / 2)?;
    for (name, [p50, p99]) in
        [("alone", alone), ("beside a reader that sleeps", beside), ("alone again", again)]
    {
        println!("a stream {name}: p50 {p50:.2} µs, p99 {p99:.2} µs");
    }
    Ok(())
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
    if let Ok(folder) = std::env::var(FOLDER) {
        return serve(folder.as_ref());
    }
    let folder = tempfile::tempdir()?;
    let mut server = Serving(
        Command::new(std::env::current_exe()?)
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let output = server.0.stdout.take().ok_or("no output")?;
    BufReader::new(output).read_line(&mut String::new())?;
    let facts = Machine::detect(Cpus::first_allowed()?).facts();
    for (name, value) in facts.into_iter().filter(|(name, _)| *name != "pinned") {
        println!("{name}: {value}");
    }
    measure_frames(folder.path())?;
    measure_sleeping_reader(folder.path())
}
