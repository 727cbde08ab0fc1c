//! The measuring side of the plain echo.

use std::time::Duration;

use breezeway_measure::pattern;
use breezeway_os::{clock, cpu};
use serde_json::{Value, json};

use super::socket::{Address, Stream};
use crate::Failure;
use crate::bench::latency::Recorder;

/// Measure round trips and print one line of JSON
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the server listens: unix:/path or tcp:host:port
    #[arg(long)]
    addr: Address,
    /// Bytes of each message
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    size: u32,
    /// End after this time
    #[arg(long, value_name = "S", value_parser = crate::bench::positive)]
    seconds: f64,
    /// Run on this CPU only
    #[arg(long, value_name = "N")]
    cpu: usize,
}

pub(super) fn run(args: Args) -> Result<(), Failure> {
    cpu::pin_current_thread(args.cpu)?;
    clock::calibrate();
    let mut stream = args.addr.connect()?;
    stream.write_all(&args.size.to_le_bytes())?;
    let budget = clock::ticks_in(Duration::from_secs_f64(args.seconds));
    println!("{}", measure(&mut *stream, args.size as usize, budget)?);
    Ok(())
}

/// Round trips, every byte written before and compared after each, for `budget` ticks; the fields are those of `breezeway bench`.
fn measure(stream: &mut dyn Stream, size: usize, budget: u64) -> Result<Value, Failure> {
    let mut message = vec![0; size];
    let mut recorder = Recorder::new();
    let start = clock::ticks();
    let (mut now, mut count) = (start, 0u64);
    while now.wrapping_sub(start) < budget {
        round_trip(stream, &mut message, pattern::seed(count))?;
        let before = std::mem::replace(&mut now, clock::ticks());
        recorder.record(now.wrapping_sub(before));
        count += 1;
    }
    let per_second = count as f64 / (clock::nanoseconds(now.wrapping_sub(start)) as f64 / 1e9);
    Ok(json!({
        "size": size,
        "count": count,
        "messages_per_second": per_second,
        "bytes_per_second": per_second * size as f64,
        "latency_ns": recorder.summary(),
    }))
}

fn round_trip(stream: &mut dyn Stream, message: &mut [u8], seed: u64) -> Result<(), Failure> {
    pattern::fill(message, seed);
    stream.write_all(message)?;
    stream.read_exact(message)?;
    let same = pattern::matches(message, seed);
    if same { Ok(()) } else { Err("a message changed on its way".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn changed_content_is_found_out() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || {
            let mut message = [0; 64];
            theirs.read_exact(&mut message).unwrap();
            message[63] ^= 1;
            theirs.write_all(&message).unwrap();
        });
        let error = measure(&mut ours, 64, u64::MAX).unwrap_err();
        assert!(error.to_string().contains("changed"), "{error}");
        server.join().unwrap();
    }
}
