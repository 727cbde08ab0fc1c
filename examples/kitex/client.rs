//! A client of one service that has two servers: one of Breezeway, and one of Kitex.
//!
//! With one address, which has a socket file, it calls Breezeway's server for both, once like a
//! client of Kitex. With two, the first is that of `kitex-server tcp:127.0.0.1:8887`, and the
//! second that of Kitex's server in Go, in the folder testing/peers/kitex-peers:
//! `go generate ./... && go run . serve-users tcp:127.0.0.1:8888`. (An instance that is known to be
//! on this host would get all calls.)
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
    let [ours, kitex] = match arguments.next() {
        Some(kitex) => {
            [Instance::new("ours", ours.parse()?), Instance::new("kitex", kitex.parse()?)]
        }
        None => [Instance::here("ours", ours.parse()?)?, Instance::here("kitex", ours.parse()?)?],
    };

    // Kitex's opens no sessions: its framing must be given.
    let set = vec![ours, kitex.with_framing(ThriftFraming::TtHeader)];
    let instances = Instances::new(Fixed::new(set), InstanceOptions::new());
    let users = AsyncUsersClient::new(ServiceChannel::new(instances));

    // To the client they are the same: the result, and the exception.
    let route = Route::new();
    let mut answered = BTreeSet::new();
    for _ in 0..1_000 {
        let options = CallOptions::new().timeout(Duration::from_secs(5)).receive_route(&route);
        assert_eq!(users.with(options.clone()).age("Ada".to_owned()).await?, 36);
        answered.extend(route.instance());
        match users.with(options).age("Bob".to_owned()).await {
            Err(UsersAgeError::Missing(missing)) => assert_eq!(missing.name, "Bob"),
            other => panic!("Bob must not be found: {other:?}"),
        }
        if answered.len() == 2 {
            break;
        }
    }
    println!("Ada is 36, from {}", Vec::from_iter(answered).join(" and "));
    Ok(())
}
