//! A server that is killed, and started again.

use std::process::{Child, Command, Stdio};

use breezeway::Address;
use breezeway_rpc::AsyncServer;
use breezeway_tokio::{Client, ClientOptions};
use breezeway_volo::CallOver;
use tokio::sync::mpsc::unbounded_channel;
use volo_interop::volo::ShopClientBuilder;
use volo_thrift::ClientError;

use super::shop::{PATIENCE, client, service};
use crate::shops::Corner;

const ADDRESS: &str = "VOLO_INTEROP_ADDRESS";

/// Server of the test below, in a process of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "is a server that another test starts"]
async fn serve_until_killed() {
    let address: Address = std::env::var(ADDRESS).unwrap().parse().unwrap();
    let (tell, _looks) = unbounded_channel();
    let server = AsyncServer::bind(&address).unwrap();
    server.add_service(service(Corner::new(tell))).unwrap().serve().await.unwrap();
}

fn start(address: &Address) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "native::kill::serve_until_killed"])
        .env(ADDRESS, address.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_ends_with_its_killed_server_and_works_with_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.sock");
    let address: Address = format!("shm:{}", path.display()).parse().unwrap();
    let mut server = start(&address);
    let options = ClientOptions::new().wait_for_server(PATIENCE);
    let client = Client::connect_with(&address, options).await.unwrap();
    let shop = ShopClientBuilder::new("shops").call_over(client).build();
    shop.check(1).await.unwrap();

    let unanswered = tokio::spawn({
        let shop = shop.clone();
        async move { shop.echo("never".into()).await }
    });
    shop.check(1).await.unwrap();
    assert!(!unanswered.is_finished());
    server.kill().unwrap();
    server.wait().unwrap();
    let failed = unanswered.await.unwrap();
    // It may have run, so that Volo must not repeat it.
    let Err(ClientError::Application(error)) = failed else { panic!("{failed:?}") };
    assert!(!error.message().contains("timeout"), "{error}");

    let impatient = Client::connect(&address).await;
    assert!(impatient.is_err(), "there is no server");
    let mut next = start(&address);
    shop.check(1).await.unwrap();
    next.kill().unwrap();
    next.wait().unwrap();
}

#[tokio::test]
async fn call_without_a_server_never_ran() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.sock");
    let address: Address = format!("shm:{}", path.display()).parse().unwrap();
    let mut server = start(&address);
    let options = ClientOptions::new().wait_for_server(PATIENCE);
    drop(Client::connect_with(&address, options).await.unwrap());
    let shop = client(&address, PATIENCE).await;
    server.kill().unwrap();
    server.wait().unwrap();
    // A call may have run as long as the session's end is not seen.
    let failed = loop {
        match shop.check(1).await {
            Err(ClientError::Application(_)) => {}
            other => break other,
        }
    };
    assert!(matches!(failed, Err(ClientError::Transport(_))), "{failed:?}");
}
