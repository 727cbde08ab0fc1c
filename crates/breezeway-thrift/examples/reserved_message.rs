//! Encodes a message straight into the memory that the other side reads, and reads it there.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "the sample has more than is used")]

#[path = "../tests/codec/sample/mod.rs"]
mod sample;

use breezeway::{Call, ServerSession, Session, SessionOptions};
use breezeway_thrift::{Encode, decode_once, encode, view};
use sample::{Mixed, MixedView};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut client, server): (Session, ServerSession) = Session::pair(&SessionOptions::new())?;
    let server = std::thread::spawn(move || {
        server.serve(&|call: Call<'_>| {
            let request = call.request();
            // The client could still change these bytes. Decoded, each is read once.
            let owned: Mixed = decode_once(request.reader(), request.len())?;
            println!("{} with {} numbers", owned.name, owned.numbers.len());
            // Or copied, and then viewed in place.
            let copy = request.to_vec();
            let mixed: MixedView<'_> = view(&copy)?;
            println!("{} with the sum {}", mixed.name, mixed.numbers.sum());
            call.done()
        })
    });
    let mixed = Mixed {
        name: "a reading".to_owned(),
        numbers: (1..=100_000).collect(),
        ..Mixed::default()
    };
    let mut message = client.reserve(mixed.size())?;
    encode(&mixed, message.bytes_mut())?;
    message.post(0)?;
    drop(client);
    server.join().map_err(|_| "the server panicked")??;
    Ok(())
}
