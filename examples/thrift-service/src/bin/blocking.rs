//! A server and a client of the service in `idl/users.thrift`, with calls that block.
//!
//! ```text
//! cargo run -p thrift-service --bin blocking
//! ```
#![forbid(unsafe_code)]

use std::time::Duration;

use breezeway_rpc::{CallOptions, Context, Server, ThriftClient};

// The modules in it are the IDL's namespaces.
#[allow(dead_code, reason = "the other form is in the other program")]
mod thrift {
    include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
}
use thrift::users::{NoSuchUser, Users, UsersAgeError, UsersClient, UsersServer};

struct Table;

impl Users for Table {
    fn age(&self, _: &Context, name: String) -> Result<i64, UsersAgeError> {
        if name == "Ada" { Ok(36) } else { Err(NoSuchUser { name }.into()) }
    }
}

fn main() -> Result<(), breezeway::Report> {
    let folder = tempfile::tempdir()?;
    let address = format!("shm:{}/users.sock", folder.path().display());
    // Clients of Kitex, Volo and Apache's libraries are served at the same address.
    let server = Server::bind(&address)?.with_thrift_clients().add_service(UsersServer(Table))?;
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || server.serve());

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

    drop((users, thrift));
    stopper.stop();
    serving.join().expect("the server panicked")?;
    Ok(())
}
