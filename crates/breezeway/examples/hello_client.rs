//! Calls the server of the `hello_server` example.

use breezeway::Session;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut session = Session::connect(&"shm:/tmp/hello.sock".parse()?)?;
    let reply = session.call(0, b"world")?;
    println!("{}", String::from_utf8(reply.to_vec())?);
    Ok(())
}
