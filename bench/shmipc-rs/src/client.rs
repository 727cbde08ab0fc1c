//! The asking side.

use crate::message::{read_available, read_exactly, send};
use crate::pattern;
use crate::settings::{Client, Settings};
use anyhow::{Context, Result, bail, ensure};
use futures::future::try_join_all;
use shmipc::stream::Stream;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::Barrier;
use tokio::time::timeout;

#[derive(clap::Args)]
pub(crate) struct Work {
    #[command(flatten)]
    exchange: Exchange,
    /// Execute the lines of the standard input: exchange SIZES STREAMS COUNT, send SIZE, or drain
    /// SIZE
    #[arg(long)]
    commands: bool,
}

/// Messages that are sent and must come back: on each of several streams at once, every size in
/// turn, all of that `count` times.
#[derive(clap::Args, Clone)]
struct Exchange {
    /// Bytes of the messages
    #[arg(long, value_delimiter = ',', default_value = "64")]
    sizes: Vec<usize>,
    /// Streams at the same time
    #[arg(long, default_value_t = 1)]
    streams: usize,
    /// Number of times that each stream sends each size
    #[arg(long, default_value_t = 1)]
    count: u64,
    /// Compare every byte that comes back
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set)]
    verify: bool,
}

pub(crate) async fn run(settings: &Settings, work: Work) -> Result<()> {
    let caller = Caller { client: settings.connect().await?, patience: settings.patience() };
    if work.commands {
        println!("connected");
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        while let Some(line) = lines.next_line().await? {
            match caller.perform(&line).await {
                Ok(bytes) => println!("done {bytes}"),
                Err(error) => println!("failed: {error:#}"),
            }
        }
    } else {
        println!("done {}", caller.exchange(&work.exchange).await?);
    }
    caller.client.close().await;
    Ok(())
}

/// A client with its sessions.
struct Caller {
    client: Client,
    patience: Duration,
}

impl Caller {
    /// Executes a line, and returns the number of bytes that it moved.
    async fn perform(&self, line: &str) -> Result<usize> {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["exchange", sizes, streams, count] => {
                let sizes = sizes.split(',').map(str::parse).collect::<Result<_, _>>()?;
                let (streams, count) = (streams.parse()?, count.parse()?);
                self.exchange(&Exchange { sizes, streams, count, verify: true }).await
            }
            ["send", size] => self.send(size.parse()?).await,
            ["drain", size] => self.drain(size.parse()?).await,
            _ => bail!("no command '{line}'"),
        }
    }

    async fn exchange(&self, work: &Exchange) -> Result<usize> {
        let everyone_was_answered = Arc::new(Barrier::new(work.streams));
        let streams = (0..work.streams as u64).map(|number| {
            let (client, work, patience) = (self.client.clone(), work.clone(), self.patience);
            let barrier = Arc::clone(&everyone_was_answered);
            tokio::spawn(
                async move { one_stream(&client, &work, number, patience, &barrier).await },
            )
        });
        for outcome in try_join_all(streams).await? {
            outcome?;
        }
        Ok(work.sizes.iter().sum::<usize>() * work.count as usize * work.streams)
    }

    /// Sends `size` bytes on a stream of their own and closes it at once.
    async fn send(&self, size: usize) -> Result<usize> {
        let mut stream = self.client.get_stream()?;
        let mut message = vec![0; size];
        pattern::fill(&mut message, pattern::seed(0));
        send(&mut stream, &message).await?;
        stream.close().await?;
        Ok(size)
    }

    /// Asks a source for its bytes, and expects `size` of them and then the end of the stream.
    async fn drain(&self, size: usize) -> Result<usize> {
        let mut stream = self.client.get_stream()?;
        send(&mut stream, &[1]).await?;
        let answer = timeout(self.patience, read_exactly(&mut stream, size)).await??;
        ensure!(pattern::matches(&answer, pattern::seed(0)), "the answer differs");
        let more = timeout(self.patience, more_than_the_end(&mut stream)).await??;
        ensure!(!more, "expected the end of the stream");
        stream.close().await?;
        Ok(size)
    }
}

/// Returns true if bytes come before the end of a stream. A read that begins while the end arrives
/// misses it and waits for ever (see README.md); the next one sees it.
async fn more_than_the_end(stream: &mut Stream) -> Result<bool> {
    loop {
        let read = read_available(stream, |_| {});
        if let Ok(outcome) = timeout(Duration::from_millis(500), read).await {
            return outcome;
        }
    }
}

async fn one_stream(
    client: &Client,
    work: &Exchange,
    number: u64,
    patience: Duration,
    barrier: &Barrier,
) -> Result<()> {
    let mut stream = client.get_stream()?;
    for round in 0..work.count {
        for (place, &size) in work.sizes.iter().enumerate() {
            let seed = pattern::seed(number << 32 | round << 1 | 1);
            let step = round_trip(&mut stream, size, seed, work.verify);
            let outcome = timeout(patience, step).await.context("no answer").flatten();
            let id = stream.stream_id();
            outcome.with_context(|| format!("stream {id}, round {round}, {size} bytes"))?;
            if (round, place) == (0, 0) {
                // A stream that failed never comes here.
                timeout(patience, barrier.wait()).await.context("another stream failed")?;
            }
        }
    }
    client.put_back(stream).await;
    Ok(())
}

async fn round_trip(stream: &mut Stream, size: usize, seed: u64, verify: bool) -> Result<()> {
    let mut message = vec![0; size];
    pattern::fill(&mut message, seed);
    send(stream, &message).await?;
    let answer = read_exactly(stream, size).await?;
    ensure!(!verify || pattern::matches(&answer, seed), "the answer differs");
    stream.release_read_and_reuse();
    Ok(())
}
