//! A counter that many clients share, with calls and a stream of its values, in one process.

use std::sync::Arc;

use breezeway_tokio::{Channel, ErrorCode, IncomingCall, Server, Stream};
use tokio::sync::watch;

const ADD: u32 = 1;
const WATCH: u32 = 2;

async fn call(counter: Arc<watch::Sender<u64>>, call: IncomingCall) {
    match (call.method(), call.request().u64_le_at(0)) {
        (ADD, Some(amount)) => {
            counter.send_modify(|value| *value += amount);
            call.reply(&counter.borrow().to_le_bytes());
        }
        _ => call.fail(ErrorCode::NoSuchMethod, "there is ADD, with 8 bytes"),
    }
}

async fn stream(mut values: watch::Receiver<u64>, mut stream: Stream) {
    loop {
        let value = values.borrow_and_update().to_le_bytes();
        if stream.send(&value).await.is_err() {
            return;
        }
        tokio::select! {
            changed = values.changed() => changed.expect("the counter is there"),
            // A client that has enough drops its stream.
            _ = stream.receive() => return,
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let server = Server::bind(&format!("shm:{}/counter.sock", folder.path().display()).parse()?)?;
    let (address, stopper) = (server.address(), server.stopper());
    let (counter, values) = watch::channel(0);
    let counter = Arc::new(counter);
    let serving = tokio::spawn(server.serve_streams(
        move |incoming| call(Arc::clone(&counter), incoming),
        move |_, opened| stream(values.clone(), opened),
    ));

    let channel = Channel::connect(&address).await?;
    let mut watched = channel.open(WATCH, None).await?;
    for amount in 1..=4u64 {
        let sum = channel.call(ADD, &amount.to_le_bytes()).await?;
        println!("added {amount}: {:?}", sum.bytes().u64_le_at(0));
    }
    while let Some(message) = watched.receive().await? {
        if message.bytes().u64_le_at(0) == Some(10) {
            break;
        }
    }
    stopper.stop();
    drop((watched, channel));
    Ok(serving.await??)
}
