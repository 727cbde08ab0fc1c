//! Calls `users.thrift`, with calls that are awaited: of the same server.
#![forbid(unsafe_code)]

use examples::users::{AsyncUsersClient, UsersAgeError};

#[tokio::main]
async fn main() -> Result<(), breezeway::Report> {
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/users.sock".to_owned());
    // One session, over which any number of tasks call at the same time.
    let users = AsyncUsersClient::new(breezeway_tokio::Client::connect(&address).await?);
    let (ada, bob) = tokio::join!(users.age("Ada".to_owned()), users.age("Bob".to_owned()));
    println!("Ada is {}", ada?);
    if let Err(UsersAgeError::Missing(missing)) = bob {
        println!("no user is called {}", missing.name);
    }
    Ok(())
}
