//! Calls `users.thrift`, with calls that block.
#![forbid(unsafe_code)]

use std::time::Duration;

use breezeway_rpc::{CallOptions, ReplyMetadata, ThriftClient};
use examples::users::{UsersAgeError, UsersClient};

fn main() -> Result<(), breezeway::Report> {
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/users.sock".to_owned());
    let users = UsersClient::new(breezeway::Client::connect(&address)?);
    println!("Ada is {}", users.age("Ada".to_owned())?);
    let soon = CallOptions::new().timeout(Duration::from_secs(1));
    match users.with(soon).age("Bob".to_owned()) {
        Err(UsersAgeError::Missing(missing)) => println!("no user is called {}", missing.name),
        other => println!("Bob is {}", other?),
    }
    // Calls like a Kitex client: Thrift on a socket.
    let thrift = UsersClient::new(ThriftClient::new(address.parse()?));
    // The server adds the year of its table to a reply.
    let reply = ReplyMetadata::new();
    let age = thrift.with(CallOptions::new().receive_metadata(&reply)).age("Ada".to_owned())?;
    let year = reply.get("as-of").unwrap_or_default();
    println!("Ada is still {age}, as of {}", String::from_utf8_lossy(&year));
    Ok(())
}
