//! A server that is restarted without a failed call: start it, let `restart-client` call, and start
//! it again beside itself. The second process takes the sockets over, and the first one ends when
//! its clients have moved.
#![forbid(unsafe_code)]

use std::time::Duration;

use breezeway::{Call, Server, ServerOptions};

fn main() -> Result<(), breezeway::Report> {
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/hello.sock".to_owned());
    let options = ServerOptions::new().take_over(true).drain_timeout(Duration::from_secs(30));
    let server = Server::bind_with(address, options)?;
    println!("listening on {}", server.address());
    // Returns once a successor serves and all clients have moved there.
    server.serve(|call: Call<'_>| {
        let name = String::from_utf8(call.request().to_vec())?;
        let greeting = format!("hello {name}, by process {}", std::process::id());
        call.reply(greeting)
    })?;
    Ok(())
}
