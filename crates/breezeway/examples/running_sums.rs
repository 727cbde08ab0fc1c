//! A server of calls and streams: a stream of numbers is answered by a stream of their sums so far,
//! each on a thread of its own, while calls ask how many numbers came in all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use breezeway::{Address, Call, Client, Server};

const SUMS: u32 = 0;
const COUNT: u32 = 1;

fn main() -> Result<(), breezeway::Report> {
    let address: Address = std::env::args().nth(1).unwrap_or("shm:/tmp/sum.sock".into()).parse()?;
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let server = Server::bind(&address)?.on_stream(move |_method, mut stream| {
        let mut sum = 0u64;
        // If the client is gone, this ends with an error, and the stream with it.
        while let Some(number) = stream.receive()? {
            sum += number.bytes().u64_le_at(0).expect("a number has eight bytes");
            counted.fetch_add(1, Ordering::Relaxed);
            stream.send(&sum.to_le_bytes())?;
        }
        Ok(stream.finish()?)
    });
    let (address, stopper) = (server.address(), server.stopper());
    let serving = thread::spawn(move || {
        server.serve(move |call: Call<'_>| call.reply(count.load(Ordering::Relaxed).to_le_bytes()))
    });

    let client = Client::connect(&address)?;
    let (mut numbers, mut sums) = client.open(SUMS)?.split();
    let sending = thread::spawn(move || {
        (1..=100u64).try_for_each(|number| numbers.send(&number.to_le_bytes()))?;
        numbers.finish()
    });
    let mut last = 0;
    while let Some(sum) = sums.receive()? {
        last = sum.bytes().u64_le_at(0).expect("a sum has eight bytes");
    }
    sending.join().expect("the sender panicked")?;
    let count = client.request(COUNT).timeout(Duration::from_secs(5)).send(b"")?;
    let count = count.bytes().u64_le_at(0);
    println!("the sum of {} numbers is {last}", count.expect("a count has eight bytes"));
    drop((sums, client));
    stopper.stop();
    serving.join().expect("the server panicked")?;
    Ok(())
}
