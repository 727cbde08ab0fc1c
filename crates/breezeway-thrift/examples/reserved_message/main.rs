//! Encodes a message straight into the memory that the peer reads, and reads it there.

// In a program of yours: include!(concat!(env!("OUT_DIR"), "/thrift.rs")), see
// breezeway_idl::Builder.
mod idl {
    include!("reading.rs");
}

use breezeway::{Call, ExclusiveServerSession, ExclusiveSession, SessionOptions};
use breezeway_thrift::{Encode, decode_once, encode_slice, view_slice};
use idl::reading::{Reading, ReadingView};

const READING: u32 = 0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut client, server): (ExclusiveSession, ExclusiveServerSession) =
        ExclusiveSession::pair(&SessionOptions::new())?;
    let server = std::thread::spawn(move || {
        server.serve(&|call: Call<'_>| {
            let request = call.request();
            // The client could still change these bytes. Decoded, each is read once.
            let owned: Reading = decode_once((request.reader(), request.len()))?;
            println!("{} with {} values", owned.name, owned.values.len());
            // Or copied, and then viewed in place.
            let copy = request.to_vec();
            let reading: ReadingView<'_> = view_slice(&copy)?;
            println!("{} with the sum {}", reading.name, reading.values.iter().sum::<f64>());
            call.done()
        })
    });
    let values = (1..=100_000).map(f64::from).collect();
    let reading = Reading { name: "a reading".to_owned(), time: 7, values };
    let mut message = client.reserve(reading.size())?;
    encode_slice(&reading, message.bytes_mut())?;
    message.post(READING)?;
    drop(client);
    server.join().map_err(|_| "the server panicked")??;
    Ok(())
}
