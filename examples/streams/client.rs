//! Sends numbers on a stream while it receives their sums, and then makes a call.
#![forbid(unsafe_code)]

use std::thread;
use std::time::Duration;

use breezeway::Client;

const SUMS: u32 = 0;
const COUNT: u32 = 1;

fn main() -> Result<(), breezeway::Report> {
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/sums.sock".to_owned());
    let client = Client::connect(&address)?;

    let (mut numbers, mut sums) = client.open(SUMS)?.split();
    let sending = thread::spawn(move || {
        (1..=100u64).try_for_each(|number| numbers.send(&number.to_le_bytes()))?;
        numbers.finish()
    });
    let mut last = None;
    while let Some(sum) = sums.receive()? {
        last = sum.bytes().u64_le_at(0);
    }
    sending.join().expect("the sender panicked")?;

    let count = client.request(COUNT).timeout(Duration::from_secs(5)).send(b"")?;
    let count = count.bytes().u64_le_at(0).expect("a count has eight bytes");
    println!("the sum of {count} numbers is {}", last.expect("a sum has eight bytes"));
    Ok(())
}
