//! Greets whoever calls: `cargo run --example hello_server`, then `cargo run --example hello_client`.

use breezeway::{Call, Server};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::bind(&"shm:/tmp/hello.sock".parse()?)?;
    server.serve(|call: Call<'_>| {
        let name = String::from_utf8(call.request().to_vec())?;
        Ok(call.reply(format!("hello {name}").as_bytes())?)
    })?;
    Ok(())
}
