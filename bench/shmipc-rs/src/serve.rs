//! The answering side.

use crate::message::{flush, read_available, send};
use crate::pattern;
use crate::settings::Settings;
use anyhow::Result;
use clap::ValueEnum;
use shmipc::buffer::BufferWriter;
use shmipc::stream::Stream;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::signal::unix::{SignalKind, signal};

/// Number of streams that were accepted.
static STREAMS: AtomicU64 = AtomicU64::new(0);

#[derive(clap::Args, Clone, Copy)]
pub(crate) struct Role {
    /// Role on a stream: return its bytes, report what came, or send bytes and close it
    #[arg(long, value_enum, default_value_t = Kind::Echo)]
    role: Kind,
    /// Bytes that a source sends
    #[arg(long, value_name = "B", default_value_t = 0)]
    amount: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Echo,
    Sink,
    Source,
}

pub(crate) async fn run(settings: &Settings, role: Role) -> Result<()> {
    let mut listener = settings.listen().await?;
    let input_ended = tokio::spawn(obey());
    tokio::pin!(input_ended);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    loop {
        tokio::select! {
            stream = listener.accept() => { tokio::spawn(answer(stream?, role)); }
            _ = &mut input_ended, if settings.tied => break,
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    // Another process may have removed it.
    std::fs::remove_file(&settings.path).ok();
    Ok(())
}

/// Executes the lines of the standard input.
async fn obey() {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if line == "streams" {
            println!("streams {}", STREAMS.load(Ordering::Relaxed));
        }
    }
}

async fn answer(mut stream: Stream, role: Role) {
    STREAMS.fetch_add(1, Ordering::Relaxed);
    let outcome = match role.role {
        Kind::Echo => echo(&mut stream).await,
        Kind::Sink => sink(&mut stream).await,
        Kind::Source => source(&mut stream, role.amount).await,
    };
    if let Err(error) = outcome {
        eprintln!("shmipc-rs: stream {} failed: {error:#}", stream.stream_id());
    }
    // Fails if the session is over.
    let _ = stream.close().await;
}

async fn echo(stream: &mut Stream) -> Result<()> {
    loop {
        let mut written = Ok(0);
        let writer = stream.clone();
        let copy = |bytes: &[u8]| {
            if written.is_ok() {
                written = writer.send_buf().write_bytes(bytes);
            }
        };
        if !read_available(stream, copy).await? {
            return Ok(());
        }
        written?;
        flush(stream).await?;
        stream.release_read_and_reuse();
    }
}

/// Reports the bytes that came over a stream before its end.
async fn sink(stream: &mut Stream) -> Result<()> {
    let mut received = Vec::new();
    while read_available(stream, |bytes| received.extend_from_slice(bytes)).await? {}
    let intact = pattern::matches(&received, pattern::seed(0));
    println!("received {} {}", received.len(), if intact { "intact" } else { "damaged" });
    Ok(())
}

/// Answers the first byte of a stream with `amount` bytes.
async fn source(stream: &mut Stream, amount: usize) -> Result<()> {
    read_available(stream, |_| {}).await?;
    let mut bytes = vec![0; amount];
    pattern::fill(&mut bytes, pattern::seed(0));
    send(stream, &bytes).await
}
