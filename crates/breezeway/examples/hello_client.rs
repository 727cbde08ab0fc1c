//! Calls the server of the `hello_server` example, at the first place of its address that works.

use breezeway::{Address, ExclusiveSession};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/hello.sock".to_owned());
    let mut session = ExclusiveSession::connect(&address.parse::<Address>()?)?;
    let reply = session.call(0, b"world")?;
    println!("{}", String::from_utf8(reply.to_vec())?);
    Ok(())
}
