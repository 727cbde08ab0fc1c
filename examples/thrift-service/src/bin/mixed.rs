//! A client of one service that has two servers: one of Kitex, in Go, and one of ours.
//!
//! ```text
//! cd testing/peers/kitex-peers && go generate ./... && go run . serve-users tcp:127.0.0.1:8888
//! cargo run -p thrift-service --bin mixed -- tcp:127.0.0.1:8888
//! ```
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::time::Duration;

use breezeway_rpc::governance::ServiceChannel;
use breezeway_rpc::instances::{Fixed, Instance, InstanceOptions, Instances};
use breezeway_rpc::{AsyncServer, CallOptions, Context, Route, ThriftFraming};

// The modules in it are the IDL's namespaces.
#[allow(dead_code, reason = "the other form is in the other program")]
mod thrift {
    include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
}
use thrift::users::{AsyncUsers, AsyncUsersClient, AsyncUsersServer, NoSuchUser, UsersAgeError};

struct Table;

impl AsyncUsers for Table {
    async fn age(&self, _: &Context, name: String) -> Result<i64, UsersAgeError> {
        if name == "Ada" { Ok(36) } else { Err(NoSuchUser { name }.into()) }
    }
}

#[tokio::main]
async fn main() -> Result<(), breezeway::Report> {
    let kitex =
        std::env::args().nth(1).ok_or(std::io::Error::other("usage: mixed ADDRESS-OF-KITEX"))?;

    let server = AsyncServer::bind("tcp:127.0.0.1:0")?;
    let server = server.add_service(AsyncUsersServer(Table))?;
    let (address, stopper) = (server.address(), server.stopper());
    let serving = tokio::spawn(server.serve());

    // Kitex's opens no sessions: its framing must be given.
    let set = vec![
        Instance::new("ours", address),
        Instance::new("kitex", kitex.parse()?).with_framing(ThriftFraming::TtHeader),
    ];
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

    drop(users);
    stopper.stop();
    Ok(serving.await??)
}
