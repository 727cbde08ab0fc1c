//! Answers a stream of numbers by a stream of their sums so far, each on a thread of its own, while
//! calls ask how many numbers came in all.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use breezeway::{Call, Server};

fn main() -> Result<(), breezeway::Report> {
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/sums.sock".to_owned());
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let server = Server::bind(address)?.on_stream(move |_method, mut stream| {
        let mut sum = 0u64;
        // If the client is gone, this ends with an error, and the stream with it.
        while let Some(number) = stream.receive()? {
            let number = number.bytes().u64_le_at(0).ok_or("a number has eight bytes")?;
            sum = sum.checked_add(number).ok_or("the sum has more than eight bytes")?;
            counted.fetch_add(1, Ordering::Relaxed);
            stream.send(&sum.to_le_bytes())?;
        }
        Ok(stream.finish()?)
    });
    println!("listening on {}", server.address());
    let count = move |call: Call<'_>| call.reply(count.load(Ordering::Relaxed).to_le_bytes());
    Ok(server.serve(count)?)
}
