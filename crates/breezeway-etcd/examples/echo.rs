//! A server that registers itself with etcd, and a client that calls whichever there are.
//!
//! ```text
//! cargo run --example echo -- serve http://127.0.0.1:2379 one shm:/tmp/one.sock,tcp:127.0.0.1:0
//! cargo run --example echo -- call http://127.0.0.1:2379
//! ```
#![forbid(unsafe_code)]

use std::time::Duration;

use breezeway_etcd::{Etcd, Lease};
use breezeway_rpc::governance::CallRequest;
use breezeway_rpc::instances::{Instance, InstanceOptions, Instances};
use breezeway_rpc::{CallOptions, Method, Route, thrift::Streaming};
use tower::{Service, ServiceExt};

type Outcome = Result<(), Box<dyn std::error::Error>>;

async fn serve(etcd: Etcd, name: &str, address: &str) -> Outcome {
    let server = breezeway_tokio::Server::bind(address)?;
    // Its port is known now. On this host clients use its socket; for others the address would have
    // to name this host in place of 127.0.0.1.
    let instance = Instance::here(name, server.address())?.with_weight(1);
    let registration = etcd.register("echo", &instance, Lease::default()).await?;
    let stopper = server.stopper();
    let serving = tokio::spawn(server.serve(|call| async move { call.echo() }));
    println!("serves until its input ends");
    tokio::task::spawn_blocking(|| std::io::stdin().lines().count()).await?;
    // At once, instead of when the lease ends; and before the server stops.
    registration.deregister().await?;
    stopper.stop();
    Ok(serving.await??)
}

/// A generated client would be `AsyncUsersClient::new(ServiceChannel::new(instances))`.
async fn call(etcd: Etcd) -> Outcome {
    let mut instances = Instances::new(etcd.watch("echo"), InstanceOptions::new());
    let method = Method::new("Echo", "echo", false, Streaming::None);
    for _ in 0..5 {
        let route = Route::new();
        let options = CallOptions::new().timeout(Duration::from_secs(1)).receive_route(&route);
        let request = CallRequest { method, arguments: vec![0].into(), options };
        instances.ready().await?.call(request).await?;
        println!("answered by {:?} over {:?}", route.instance(), route.carrier());
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", etcd, name, address] => serve(Etcd::connect(&[etcd]).await?, name, address).await,
        ["call", etcd] => call(Etcd::connect(&[etcd]).await?).await,
        _ => Err("usage: echo serve ETCD NAME ADDRESS | echo call ETCD".into()),
    }
}
