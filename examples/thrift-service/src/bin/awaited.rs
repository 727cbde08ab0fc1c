//! A server and a client of the service in `idl/users.thrift`, with calls that are awaited.
//!
//! ```text
//! cargo run -p thrift-service --bin awaited
//! ```
#![forbid(unsafe_code)]

use std::time::Duration;

use breezeway_rpc::{AsyncServer, CallOptions, Context};

// The modules in it are the IDL's namespaces.
#[allow(dead_code, reason = "the other form is in the other program")]
mod thrift {
    include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
}
use thrift::users::{AsyncUsers, AsyncUsersClient, AsyncUsersServer, NoSuchUser, UsersAgeError};

struct Table;

impl AsyncUsers for Table {
    async fn age(&self, cx: &Context, name: String) -> Result<i64, UsersAgeError> {
        cx.set_reply_metadata("table", "born 1815");
        if name == "Ada" { Ok(36) } else { Err(NoSuchUser { name }.into()) }
    }
}

#[tokio::main]
async fn main() -> Result<(), breezeway::Report> {
    let folder = tempfile::tempdir()?;
    let address = format!("shm:{}/users.sock", folder.path().display());
    let server = AsyncServer::bind(&address)?.add_service(AsyncUsersServer(Table))?;
    let stopper = server.stopper();
    let serving = tokio::spawn(server.serve());

    // One session, over which any number of tasks call at the same time.
    let users = AsyncUsersClient::new(breezeway_tokio::Client::connect(&address).await?);
    let (ada, bob) = tokio::join!(users.age("Ada".to_owned()), users.age("Bob".to_owned()));
    println!("Ada is {}", ada?);
    if let Err(UsersAgeError::Missing(missing)) = bob {
        println!("no user is called {}", missing.name);
    }
    let reply = breezeway_rpc::ReplyMetadata::new();
    let options = CallOptions::new().timeout(Duration::from_secs(1)).receive_metadata(&reply);
    users.with(options).age("Ada".to_owned()).await?;
    let table = reply.get("table").unwrap_or_default();
    println!("{}", String::from_utf8_lossy(&table));

    drop(users);
    stopper.stop();
    serving.await??;
    Ok(())
}
