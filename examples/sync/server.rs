//! Greets each caller, over any carrier. The programs of this folder take an address, or several
//! (`shm:/tmp/hello.sock,unix:/tmp/hello-unix.sock,tcp:localhost:7000`).
#![forbid(unsafe_code)]

use breezeway::{Call, Server};

fn main() -> Result<(), breezeway::Report> {
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/hello.sock".to_owned());
    let server = Server::bind(address)?;
    println!("listening on {}", server.address());
    Ok(server.serve(|call: Call<'_>| {
        let name = String::from_utf8(call.request().to_vec())?;
        let greeting = format!("hello {name}, by {}", call.carrier());
        call.reply(greeting)
    })?)
}
