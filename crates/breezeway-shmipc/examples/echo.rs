//! An echo server, and a client that measures the round trip.
//!
//! `cargo run --release -p breezeway-shmipc --example echo serve shmipc:/tmp/echo.sock`, and in
//! another terminal `cargo run --release -p breezeway-shmipc --example echo call
//! shmipc:/tmp/echo.sock 64 100000`

use std::error::Error;
use std::io::Read;
use std::time::Instant;

use breezeway_shmipc::{Address, Client, ClientOptions, Server, ServerOptions, Trust};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", address] => serve(&address.parse()?),
        ["call", address, size, count] => call(&address.parse()?, size.parse()?, count.parse()?),
        _ => Err("echo serve ADDRESS | echo call ADDRESS SIZE COUNT".into()),
    }
}

fn serve(address: &Address) -> Result<(), Box<dyn Error>> {
    let server = Server::bind(address, ServerOptions::new(Trust::SameUser))?;
    server.serve(|stream| {
        let (reader, writer) = stream.halves();
        writer.forward(reader)?;
        Ok(())
    });
    Ok(())
}

fn call(address: &Address, size: usize, count: usize) -> Result<(), Box<dyn Error>> {
    let client = Client::connect(address, ClientOptions::new(Trust::SameUser))?;
    let mut stream = client.open()?;
    let (request, mut reply) = (vec![7; size], vec![0; size]);
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        stream.send(&request)?;
        stream.read_exact(&mut reply)?;
        times.push(start.elapsed());
    }
    times.sort();
    let at = |percent: usize| times[(count - 1) * percent / 100];
    println!("{size} bytes: p50 {:?}, p99 {:?}", at(50), at(99));
    Ok(())
}
