//! Serves `users.thrift`, with handlers that block.
#![forbid(unsafe_code)]

use breezeway_rpc::{Context, Server};
use examples::users::{NoSuchUser, Users, UsersAgeError, UsersServer};

struct Table;

impl Users for Table {
    fn age(&self, cx: &Context, name: String) -> Result<i64, UsersAgeError> {
        cx.set_reply_metadata("as-of", "1851");
        if name == "Ada" { Ok(36) } else { Err(NoSuchUser { name }.into()) }
    }
}

fn main() -> Result<(), breezeway::Report> {
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/users.sock".to_owned());
    // Clients of Kitex, Volo and Apache's libraries are served at the same address.
    let server = Server::bind(&address)?.with_thrift_clients().add_service(UsersServer(Table))?;
    println!("listening on {}", server.address());
    server.serve()?;
    Ok(())
}
