//! Calls the server with a deadline, and branches on the kind of an error.
#![forbid(unsafe_code)]

use std::time::Duration;

use breezeway::{Client, ErrorKind};

const GREET: u32 = 0;

fn main() -> Result<(), breezeway::Report> {
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/hello.sock".to_owned());
    let client = Client::connect(address)?;
    match client.request(GREET).timeout(Duration::from_millis(100)).send(b"world") {
        Ok(reply) => println!("{}", String::from_utf8(reply.to_vec())?),
        Err(error) => match error.kind() {
            ErrorKind::Deadline => println!("too late"),
            // A call that never ran may be repeated.
            _ if !error.may_have_run() => println!("not served: {error}"),
            kind => println!("{kind:?}: {error}"),
        },
    }
    Ok(())
}
