//! Calls the greeter: see `server.rs`. The second argument is the name to greet.
#![forbid(unsafe_code)]

use examples::greeter::GreetRequest;
use examples::greeter::greeter_client::GreeterClient;

#[tokio::main]
async fn main() -> Result<(), breezeway_grpc::Report> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or("shm:/tmp/greeter.sock".to_owned());
    let name = arguments.next().unwrap_or("world".to_owned());
    let channel = breezeway_grpc::connect(&address).await?;
    let response = GreeterClient::new(channel).greet(GreetRequest { name }).await?;
    println!("{}", response.into_inner().greeting);
    Ok(())
}
