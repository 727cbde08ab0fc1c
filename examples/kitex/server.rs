//! Serves `users.thrift` to clients of Kitex, of Volo and of Breezeway, at one address, with
//! handlers that are awaited.
#![forbid(unsafe_code)]

use breezeway_rpc::{AsyncServer, Context};
use examples::users::{AsyncUsers, AsyncUsersServer, NoSuchUser, UsersAgeError};

struct Table;

impl AsyncUsers for Table {
    async fn age(&self, cx: &Context, name: String) -> Result<i64, UsersAgeError> {
        cx.set_reply_metadata("table", "born 1815");
        if name == "Ada" { Ok(36) } else { Err(NoSuchUser { name }.into()) }
    }
}

#[tokio::main]
async fn main() -> Result<(), breezeway::Report> {
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/kitex.sock".to_owned());
    let server = AsyncServer::bind(&address)?;
    let server = server.with_thrift_clients().add_service(AsyncUsersServer(Table))?;
    println!("listening on {}", server.address());
    server.serve().await?;
    Ok(())
}
