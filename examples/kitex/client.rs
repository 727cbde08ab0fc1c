//! A client of one service that has two servers: one of Breezeway, and one of Kitex.
//!
//! Without a second address it calls Breezeway's server for both, once like a client of Kitex. The
//! first address has a socket file, the second one none. A server of Kitex, in Go, in the folder
//! testing/peers/kitex-peers: `go generate ./... && go run . serve-users tcp:127.0.0.1:8888`.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::time::Duration;

use breezeway_rpc::governance::ServiceChannel;
use breezeway_rpc::instances::{Fixed, Instance, InstanceOptions, Instances};
use breezeway_rpc::{CallOptions, Route, ThriftFraming};
use examples::users::{AsyncUsersClient, UsersAgeError};

#[tokio::main]
async fn main() -> Result<(), breezeway::Report> {
    let mut arguments = std::env::args().skip(1);
    let ours = arguments.next().unwrap_or("shm:/tmp/kitex.sock".to_owned());
    let kitex = match arguments.next() {
        Some(address) => Instance::new("kitex", address.parse()?),
        None => Instance::here("kitex", ours.parse()?)?,
    };

    // Kitex's opens no sessions: its framing must be given.
    let kitex = kitex.with_framing(ThriftFraming::TtHeader);
    let set = vec![Instance::here("ours", ours.parse()?)?, kitex];
    let instances = Instances::new(Fixed::new(set), InstanceOptions::new());
    let users = AsyncUsersClient::new(ServiceChannel::new(instances));

    // To the client they are the same: the result, and the exception.
    let route = Route::new();
    let mut answered = BTreeSet::new();
    while answered.len() < 2 {
        let options = CallOptions::new().timeout(Duration::from_secs(5)).receive_route(&route);
        assert_eq!(users.with(options.clone()).age("Ada".to_owned()).await?, 36);
        answered.extend(route.instance());
        match users.with(options).age("Bob".to_owned()).await {
            Err(UsersAgeError::Missing(missing)) => assert_eq!(missing.name, "Bob"),
            other => panic!("Bob must not be found: {other:?}"),
        }
    }
    println!("Ada is 36, from {}", Vec::from_iter(answered).join(" and "));
    Ok(())
}
