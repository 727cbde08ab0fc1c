//! The HelloWorld service of shmipc-go's quick start, both sides: each also works with the other
//! side in Go. See docs/from-shmipc.md.
//!
//! ```sh
//! cargo run -p breezeway-shmipc --example hello_world -- serve /tmp/ipc_test.sock
//! cargo run -p breezeway-shmipc --example hello_world -- call /tmp/ipc_test.sock
//! ```

use std::error::Error;
use std::io::Read;

use breezeway_shmipc::{Address, Client, ClientOptions, Server, ServerOptions, Stream, Trust};

const REQUEST: &[u8] = b"client say hello world!!!";
const RESPONSE: &[u8] = b"server hello world!!!";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", path] => serve(&path.parse()?),
        ["call", path] => call(&path.parse()?),
        _ => Err("usage: hello_world serve|call PATH".into()),
    }
}

fn serve(address: &Address) -> Result<(), Box<dyn Error>> {
    // A successor replaces a running server, which then does a hot restart.
    let options = ServerOptions::new(Trust::SameUser).take_over(true);
    let server = Server::bind(address, options)?;
    println!("listening on {}", server.address());
    server.serve(|stream: &mut Stream| {
        // The whole request, or nothing yet: the rest causes another call.
        let Some(request) = stream.try_peek()?.filter(|peeked| peeked.len() >= REQUEST.len())
        else {
            return Ok(());
        };
        println!("server receive request message:{}", String::from_utf8_lossy(&request.to_vec()));
        let len = request.len();
        stream.release(len);
        stream.send(RESPONSE)
    });
    Ok(())
}

fn call(address: &Address) -> Result<(), Box<dyn Error>> {
    let client = Client::connect(address, ClientOptions::new(Trust::SameUser))?;
    let mut stream = client.open()?;
    stream.send(REQUEST)?;
    let mut response = [0; RESPONSE.len()];
    stream.read_exact(&mut response)?;
    println!("client stream receive response {}", String::from_utf8_lossy(&response));
    Ok(())
}
