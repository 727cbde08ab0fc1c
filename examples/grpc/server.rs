//! Greets its callers, over any carrier; any gRPC client can call at the socket. Both programs take
//! an address, or several (`shm:/tmp/greeter.sock,tcp:localhost:7000`).
#![forbid(unsafe_code)]

use breezeway_grpc::{ConnectInfo, Server};
use examples::greeter::greeter_server::{Greeter, GreeterServer};
use examples::greeter::{GreetRequest, GreetResponse};
use tonic::{Request, Response, Status};

struct Service;

#[tonic::async_trait]
impl Greeter for Service {
    async fn greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        let info = request.extensions().get::<ConnectInfo>().cloned();
        let info = info.ok_or_else(|| Status::internal("the request has no carrier"))?;
        let name = request.into_inner().name;
        if name.is_empty() {
            return Err(Status::invalid_argument("a name is missing"));
        }
        let greeting = format!("hello {name}, by {}", info.carrier);
        Ok(Response::new(GreetResponse { greeting }))
    }
}

#[tokio::main]
async fn main() -> Result<(), breezeway_grpc::Report> {
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/greeter.sock".to_owned());
    let server = Server::builder().add_service(GreeterServer::new(Service)).bind(&address)?;
    println!("listening on {}", server.address());
    let interrupted = async {
        if let Err(error) = tokio::signal::ctrl_c().await {
            eprintln!("Ctrl-C cannot be awaited, so this ends: {error}");
        }
    };
    server.serve_with_shutdown(interrupted).await?;
    Ok(())
}
