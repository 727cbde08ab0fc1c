//! Calls the server, at the first place of its address that works.
#![forbid(unsafe_code)]

use breezeway::Client;

const GREET: u32 = 0;

fn main() -> Result<(), breezeway::Report> {
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/hello.sock".to_owned());
    let client = Client::connect(address)?;
    let reply = client.call(GREET, b"world")?;
    println!("{}", String::from_utf8(reply.to_vec())?);
    Ok(())
}
