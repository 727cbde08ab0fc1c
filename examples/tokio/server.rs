//! A counter that clients share: calls add to it, and a stream has its values.
#![forbid(unsafe_code)]

use std::sync::Arc;

use breezeway_tokio::{ErrorCode, OwnedCall, ReplyError, Server, Stream};
use tokio::sync::watch;

const ADD: u32 = 1;

async fn call(counter: Arc<watch::Sender<u64>>, call: OwnedCall) -> Result<(), ReplyError> {
    match (call.method(), call.request().u64_le_at(0)) {
        (ADD, Some(amount)) => {
            counter.send_modify(|value| *value = value.wrapping_add(amount));
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
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/counter.sock".to_owned());
    let server = Server::bind(&address)?;
    println!("listening on {}", server.address());
    let (counter, values) = watch::channel(0);
    let counter = Arc::new(counter);
    let serving = server.serve_streams(
        move |incoming| call(Arc::clone(&counter), incoming),
        move |_method, opened| stream(values.clone(), opened),
    );
    Ok(serving.await?)
}
