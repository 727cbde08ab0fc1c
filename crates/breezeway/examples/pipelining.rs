//! Several calls in flight on one session: a client that need not wait for a reply before the next
//! request pays for the way there and back once, not once per call.
//!
//! ```text
//! cargo run --release --example pipelining
//! ```

use std::time::{Duration, Instant};

use breezeway::{Call, CallError, ExclusiveServerSession, ExclusiveSession, SessionOptions};

const ECHO: u32 = 0;
const CALLS: usize = 100_000;
const IN_FLIGHT: usize = 32;

fn main() -> Result<(), breezeway::Report> {
    let (mut client, server): (ExclusiveSession, ExclusiveServerSession) =
        ExclusiveSession::pair(&SessionOptions::new())?;
    let server = std::thread::spawn(move || server.serve(&|call: Call<'_>| call.echo()));
    println!("one at a time: {:?} per call", one_at_a_time(&mut client)? / CALLS as u32);
    println!("{IN_FLIGHT} in flight: {:?} per call", pipelined(&mut client)? / CALLS as u32);
    drop(client);
    server.join().expect("the server panicked")?;
    Ok(())
}

fn one_at_a_time(session: &mut ExclusiveSession) -> Result<Duration, CallError> {
    let start = Instant::now();
    for number in 0..CALLS {
        let reply = session.call(ECHO, &number.to_le_bytes())?;
        assert_eq!(reply.bytes().u64_le_at(0), Some(number as u64));
    }
    Ok(start.elapsed())
}

fn pipelined(session: &mut ExclusiveSession) -> Result<Duration, CallError> {
    let start = Instant::now();
    let (mut sent, mut received) = (0, 0);
    while received < CALLS {
        // A batch is published with one fence and at most one notification.
        let mut batch = session.batch();
        while sent < CALLS && sent - received < IN_FLIGHT {
            batch.send(ECHO, &sent.to_le_bytes())?;
            sent += 1;
        }
        batch.flush()?;
        // Replies come in the order of the requests. Each is lent by the server until it is
        // dropped.
        for _ in 0..(sent - received).min(IN_FLIGHT / 2) {
            let reply = session.receive()?;
            assert_eq!(reply.bytes().u64_le_at(0), Some(received as u64));
            received += 1;
        }
    }
    Ok(start.elapsed())
}
