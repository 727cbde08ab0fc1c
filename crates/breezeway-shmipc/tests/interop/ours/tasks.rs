//! Both sides with tasks instead of threads.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use breezeway_shmipc::StreamError;
use breezeway_shmipc::asynchronous::{Client, Server, Stream};
use tokio::io::AsyncReadExt;
use tokio::sync::Barrier;
use tokio::time::timeout;

use super::super::pattern;
use super::serve::STREAMS;
use super::settings::Settings;
use super::{Outcome, commands, say};

/// Time limit of an answer.
const PATIENCE: Duration = Duration::from_secs(20);

fn block_on<T>(future: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build()?.block_on(future)
}

/// Echoes, until the standard input ends.
pub(super) fn serve(settings: &Settings) -> Outcome<()> {
    block_on(async {
        let server = Server::bind(&settings.address()?, settings.server()?)?;
        say(format_args!("listening on {}", settings.path()?));
        tokio::spawn(async move {
            while let Some(session) = server.accept().await {
                tokio::spawn(async move {
                    while let Ok(stream) = session.accept().await {
                        STREAMS.fetch_add(1, Ordering::Relaxed);
                        tokio::spawn(echo(stream));
                    }
                });
            }
        });
        let obeying = tokio::task::spawn_blocking(|| {
            for line in commands() {
                assert_eq!(line, "streams", "no other command");
                say(format_args!("streams {}", STREAMS.load(Ordering::Relaxed)));
            }
        });
        Ok(obeying.await?)
    })
}

async fn echo(mut stream: Stream) -> Result<(), StreamError> {
    while let Some(peeked) = stream.peek().await? {
        let bytes = peeked.to_vec();
        stream.release(bytes.len());
        stream.send(&bytes).await?;
    }
    Ok(())
}

/// Exchanges messages by the commands in the lines of the input.
pub(super) fn call(settings: &Settings) -> Outcome<()> {
    block_on(async {
        let client = Client::connect(&settings.address()?, settings.client()?).await?;
        let client = Arc::new(client);
        say("connected");
        let lines = tokio::task::spawn_blocking(|| commands().next());
        let mut next = lines.await?;
        while let Some(line) = next {
            match exchange(&client, &line).await {
                Ok(bytes) => say(format_args!("done {bytes}")),
                Err(error) => say(format_args!("failed: {error}")),
            }
            next = tokio::task::spawn_blocking(|| commands().next()).await?;
        }
        Ok(())
    })
}

async fn exchange(client: &Arc<Client>, line: &str) -> Outcome<usize> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["exchange", sizes, streams, count] = words[..] else {
        return Err(format!("no command '{line}'").into());
    };
    let sizes: Arc<[usize]> = sizes.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let (streams, count) = (streams.parse::<usize>()?, count.parse::<u64>()?);
    let everyone_was_answered = Arc::new(Barrier::new(streams));
    let mut tasks = Vec::new();
    for number in 0..streams as u64 {
        let mut stream = client.open().await?;
        let (sizes, barrier) = (Arc::clone(&sizes), Arc::clone(&everyone_was_answered));
        tasks.push(tokio::spawn(async move {
            for round in 0..count {
                for (place, &size) in sizes.iter().enumerate() {
                    let seed = pattern::seed(number << 32 | round << 1 | 1);
                    timeout(PATIENCE, round_trip(&mut stream, size, seed)).await??;
                    if (round, place) == (0, 0) {
                        timeout(PATIENCE, barrier.wait()).await?;
                    }
                }
            }
            Outcome::Ok(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(sizes.iter().sum::<usize>() * count as usize * streams)
}

async fn round_trip(stream: &mut Stream, size: usize, seed: u64) -> Outcome<()> {
    let mut message = vec![0; size];
    pattern::fill(&mut message, seed);
    stream.send(&message).await?;
    message.fill(0);
    stream.read_exact(&mut message).await?;
    if pattern::matches(&message, seed) { Ok(()) } else { Err("the answer differs".into()) }
}
