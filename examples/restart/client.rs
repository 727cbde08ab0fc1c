//! Calls without a pause while the server is restarted, and ends after the first reply of a second
//! process. No call fails.
#![forbid(unsafe_code)]

use std::time::Duration;

use breezeway::{Client, ClientOptions};

const GREET: u32 = 0;

fn main() -> Result<(), breezeway::Report> {
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/hello.sock".to_owned());
    let options = ClientOptions::new().wait_for_server(Duration::from_secs(5));
    let client = Client::connect_with(address, options)?;
    let first = client.call(GREET, b"world")?.to_vec();
    println!("{}", String::from_utf8_lossy(&first));
    for calls in 2.. {
        let reply = client.call(GREET, b"world")?.to_vec();
        if reply != first {
            println!("{}, in call {calls}", String::from_utf8(reply)?);
            break;
        }
    }
    Ok(())
}
