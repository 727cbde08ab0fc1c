//! A hundred tasks that call through one client, and a stream of the counter's values. A call fails
//! after a second; a server that ends is awaited for five.
#![forbid(unsafe_code)]

use std::io;
use std::time::Duration;

use breezeway_tokio::{Client, ClientOptions, SessionOptions};
use tokio::task::JoinSet;

const WATCH: u32 = 0;
const ADD: u32 = 1;

#[tokio::main]
async fn main() -> Result<(), breezeway_tokio::Report> {
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/counter.sock".to_owned());
    let options = ClientOptions::new()
        .session(SessionOptions::new().call_timeout(Some(Duration::from_secs(1))))
        .wait_for_server(Duration::from_secs(5));
    let client = Client::connect_with(&address, options).await?;

    let mut values = client.open(WATCH).await?;
    let mut calls = JoinSet::new();
    for number in 1..=100u64 {
        let client = client.clone();
        calls.spawn(async move { client.call(ADD, &number.to_le_bytes()).await });
    }
    let mut highest = 0;
    while let Some(reply) = calls.join_next().await {
        let value = reply??.bytes().u64_le_at(0);
        highest = highest.max(value.ok_or_else(|| io::Error::other("a value has eight bytes"))?);
    }
    println!("100 calls counted to {highest}");

    while let Some(message) = values.receive().await? {
        if message.bytes().u64_le_at(0) >= Some(highest) {
            println!("the stream has come to it");
            break;
        }
    }
    Ok(())
}
