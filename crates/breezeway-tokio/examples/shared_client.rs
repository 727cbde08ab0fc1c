//! `cargo run -p breezeway-tokio --example shared_client [ADDRESS]`: tasks that call through one
//! client. A call fails after a second; a server that ends is awaited for five.

use std::time::Duration;

use breezeway_tokio::{
    Address, Client, ClientOptions, ErrorCode, OwnedCall, ReplyError, Server, SessionOptions,
};
use tokio::task::JoinSet;

const SQUARE: u32 = 0;

async fn square(call: OwnedCall) -> Result<(), ReplyError> {
    match call.request().u64_le_at(0).and_then(|number| number.checked_mul(number)) {
        Some(square) => call.reply(square.to_le_bytes()),
        None => call.fail(ErrorCode::Application(1), "a number of 8 bytes, with a square"),
    }
}

#[tokio::main]
async fn main() -> Result<(), breezeway_tokio::Report> {
    let address: Address = std::env::args().nth(1).unwrap_or("shm:/tmp/sq.sock".into()).parse()?;
    let server = Server::bind(&address)?;
    let (address, stopper) = (server.address(), server.stopper());
    let serving = tokio::spawn(server.serve(square));

    let options = ClientOptions::new()
        .session(SessionOptions::new().call_timeout(Some(Duration::from_secs(1))))
        .wait_for_server(Duration::from_secs(5));
    let client = Client::connect_with(&address, options).await?;

    let mut calls = JoinSet::new();
    for number in 1..=8u64 {
        let client = client.clone();
        calls.spawn(async move { client.call(SQUARE, &number.to_le_bytes()).await });
    }
    let mut sum = 0;
    while let Some(reply) = calls.join_next().await {
        sum += reply??.bytes().u64_le_at(0).expect("a reply of 8 bytes");
    }
    println!("the sum of 8 squares is {sum}");

    stopper.stop();
    drop(client);
    Ok(serving.await??)
}
