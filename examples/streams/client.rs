//! Sends numbers on a stream while it receives their sums, and then makes a call.
#![forbid(unsafe_code)]

use std::time::Duration;
use std::{io, thread};

use breezeway::{Client, Message};

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
    let mut last = 0;
    while let Some(sum) = sums.receive()? {
        last = number_in(&sum)?;
    }
    sending.join().expect("the sender panicked")?;

    let count = client.request(COUNT).timeout(Duration::from_secs(5)).send(b"")?;
    println!("the sum of {} numbers is {last}", number_in(&count)?);
    Ok(())
}

fn number_in(message: &Message) -> io::Result<u64> {
    let number = message.bytes().u64_le_at(0);
    number.ok_or_else(|| io::Error::other("a number has eight bytes"))
}
