//! Calls `users.thrift`, with calls that block.
#![forbid(unsafe_code)]

use std::time::Duration;

use breezeway_rpc::{CallOptions, ThriftClient};
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
    println!("Ada is still {}", thrift.age("Ada".to_owned())?);
    Ok(())
}
