//! The requesting side.

use std::io::Read;
use std::sync::Barrier;
use std::time::Duration;

use breezeway_shmipc::{Client, Stream};

use super::super::pattern;
use super::settings::Settings;
use super::{Outcome, commands, say};

/// Time limit of an answer.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn run(settings: &Settings) -> Outcome<()> {
    let client = settings.connect()?;
    if !settings.has("commands") {
        return Err("this side only does what it is told line by line: add --commands".into());
    }
    say("connected");
    for line in commands() {
        match perform(&client, &line) {
            Ok(bytes) => say(format_args!("done {bytes}")),
            Err(error) => say(format_args!("failed: {error}")),
        }
    }
    Ok(())
}

/// Runs the command in a line, and returns the number of bytes that it moved.
fn perform(client: &Client, line: &str) -> Outcome<usize> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["exchange", sizes, streams, count] => {
            let sizes: Vec<usize> = sizes.split(',').map(str::parse).collect::<Result<_, _>>()?;
            let (streams, count) = (streams.parse()?, count.parse()?);
            exchange(client, &sizes, streams, count)
        }
        ["greet", streams, count] => greet(client, streams.parse()?, count.parse()?),
        ["send", size] => send(client, size.parse()?),
        ["drain", size] => drain(client, size.parse()?),
        _ => Err(format!("no command '{line}'").into()),
    }
}

/// Sends every size in turn on each of `streams` concurrent streams, all of that `count` times, and
/// expects the same bytes back.
fn exchange(client: &Client, sizes: &[usize], streams: usize, count: u64) -> Outcome<usize> {
    let barrier = Barrier::new(streams);
    let open = |_| client.open().map(with_patience);
    let opened = (0..streams).map(open).collect::<Result<Vec<_>, _>>()?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(opened)
            .map(|(number, mut stream)| {
                let barrier = &barrier;
                scope.spawn(move || one_stream(&mut stream, number, sizes, count, barrier))
            })
            .collect();
        let outcomes = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        // Every thread is joined before the first failure counts.
        outcomes.collect::<Vec<_>>().into_iter().collect::<Outcome<()>>()
    })?;
    Ok(sizes.iter().sum::<usize>() * count as usize * streams)
}

fn with_patience(mut stream: Stream) -> Stream {
    stream.set_read_timeout(Some(PATIENCE));
    stream.set_write_timeout(Some(PATIENCE));
    stream
}

fn one_stream(
    stream: &mut Stream,
    number: u64,
    sizes: &[usize],
    count: u64,
    everyone_was_answered: &Barrier,
) -> Outcome<()> {
    let mut outcome = Ok(());
    for round in 0..count {
        for (place, &size) in sizes.iter().enumerate() {
            let seed = pattern::seed(number << 32 | round << 1 | 1);
            let about = |error| format!("stream {number}, round {round}, {size} bytes: {error}");
            outcome = outcome
                .and_then(|()| round_trip(stream, size, seed).map_err(|error| about(error).into()));
            if (round, place) == (0, 0) {
                // Also a stream that failed comes here, so that it keeps no other waiting.
                everyone_was_answered.wait();
            }
        }
    }
    outcome
}

fn round_trip(stream: &mut Stream, size: usize, seed: u64) -> Outcome<()> {
    let mut message = vec![0; size];
    pattern::fill(&mut message, seed);
    stream.send(&message)?;
    message.fill(0);
    stream.read_exact(&mut message)?;
    if !pattern::matches(&message, seed) {
        return Err("the answer differs".into());
    }
    Ok(())
}

/// Opens a stream `count` times in each of `streams` threads, sends the greeting of upstream's
/// example "hot restart", expects it back, and puts the stream back.
fn greet(client: &Client, streams: usize, count: usize) -> Outcome<usize> {
    const GREETING: &[u8] = b"hello world";
    let one_thread = || -> Outcome<()> {
        for _ in 0..count {
            let mut stream = with_patience(client.open()?);
            stream.send(GREETING)?;
            let mut answer = [0; GREETING.len()];
            stream.read_exact(&mut answer)?;
            if answer != GREETING {
                return Err("the answer differs".into());
            }
            client.put_back(stream);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..streams).map(|_| scope.spawn(one_thread)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    Ok(GREETING.len() * streams * count)
}

/// Sends `size` bytes on a stream of their own and closes it at once.
fn send(client: &Client, size: usize) -> Outcome<usize> {
    let mut stream = with_patience(client.open()?);
    let mut message = vec![0; size];
    pattern::fill(&mut message, pattern::seed(0));
    stream.send(&message)?;
    stream.close();
    Ok(size)
}

/// Requests a source's bytes, and expects `size` of them and then the end of the stream.
fn drain(client: &Client, size: usize) -> Outcome<usize> {
    let mut stream = with_patience(client.open()?);
    stream.send(&[1])?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    if answer.len() != size || !pattern::matches(&answer, pattern::seed(0)) {
        return Err(format!("{} other bytes came", answer.len()).into());
    }
    Ok(size)
}
