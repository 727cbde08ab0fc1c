//! A counter that many clients share, with calls and a stream of its values, in one process.

use std::sync::Arc;

use breezeway_tokio::{Address, ErrorCode, OwnedCall, ReplyError, Server, Session, Stream};
use tokio::sync::watch;

const WATCH: u32 = 0;
const ADD: u32 = 1;

async fn call(counter: Arc<watch::Sender<u64>>, call: OwnedCall) -> Result<(), ReplyError> {
    match (call.method(), call.request().u64_le_at(0)) {
        (ADD, Some(amount)) => {
            counter.send_modify(|value| *value += amount);
            let value = *counter.borrow();
            call.reply(value.to_le_bytes())
        }
        _ => call.fail(ErrorCode::NoSuchMethod, "there is ADD, with 8 bytes"),
    }
}

async fn stream(mut values: watch::Receiver<u64>, mut stream: Stream) {
    let mut value = *values.borrow_and_update();
    while stream.send(&value.to_le_bytes()).await.is_ok() {
        tokio::select! {
            changed = values.changed() => changed.expect("the counter is there"),
            // A client that has enough drops its stream.
            _ = stream.receive() => return,
        }
        value = *values.borrow_and_update();
    }
}

#[tokio::main]
async fn main() -> Result<(), breezeway_tokio::Report> {
    let address: Address = std::env::args().nth(1).unwrap_or("shm:/tmp/sum.sock".into()).parse()?;
    let server = Server::bind(&address)?;
    let (address, stopper) = (server.address(), server.stopper());
    let (counter, values) = watch::channel(0);
    let counter = Arc::new(counter);
    let serving = tokio::spawn(server.serve_streams(
        move |incoming| call(Arc::clone(&counter), incoming),
        move |_, opened| stream(values.clone(), opened),
    ));

    let session = Session::connect(&address).await?;
    let mut watched = session.open(WATCH).await?;
    for amount in 1..=4u64 {
        let sum = session.call(ADD, &amount.to_le_bytes()).await?;
        println!("added {amount}: {}", sum.bytes().u64_le_at(0).expect("8 bytes"));
    }
    while let Some(message) = watched.receive().await? {
        if message.bytes().u64_le_at(0) == Some(10) {
            println!("watched it become 10");
            break;
        }
    }
    stopper.stop();
    drop((watched, session));
    Ok(serving.await??)
}
