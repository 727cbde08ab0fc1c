//! Kitex's servers as instances beside ours.

use std::collections::HashMap;
use std::time::Duration;

use breezeway::{CallError, Carrier};
use breezeway_rpc::governance::ServiceChannel;
use breezeway_rpc::instances::{Instance, InstanceOptions, Instances, Watched};
use breezeway_rpc::{AsyncServer, CallOptions, Error, Route, ThriftFraming};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::{Peer, program};
use crate::shop::{AsyncShopClient, AsyncShopServer, Corner};

/// Time limit for events that must come.
const PATIENCE: Duration = Duration::from_secs(30);

type Shop = AsyncShopClient<ServiceChannel<Instances>>;

async fn call(shop: &Shop, time: Duration) -> (Result<String, Error>, Route) {
    let route = Route::new();
    let options = CallOptions::new().timeout(time).receive_route(&route);
    (shop.with(options).echo("x".to_owned()).await, route)
}

/// Makes `calls` calls, none of which may fail, and returns the number for each instance.
async fn shares(shop: &Shop, calls: usize) -> HashMap<String, usize> {
    let mut shares = HashMap::new();
    for _ in 0..calls {
        let (outcome, route) = call(shop, PATIENCE).await;
        let instance = route.instance().map(|name| name.to_string());
        let text = outcome.unwrap_or_else(|error| panic!("{instance:?}: {error:?}"));
        assert_eq!(text, "x");
        assert_eq!(route.carrier(), Some(Carrier::Tcp));
        *shares.entry(route.instance().unwrap().to_string()).or_default() += 1;
    }
    shares
}

async fn until(shop: &Shop, name: &str) {
    let there = async {
        while !shares(shop, 1).await.contains_key(name) {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, there).await.unwrap_or_else(|_| panic!("no call goes to {name}"));
}

fn signal(kitex: &Peer, signal: Signal) {
    kill_process(Pid::from_child(&kitex.process), signal).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Go"]
async fn calls_are_shared_between_kitex_and_own_servers() {
    for framing in [ThriftFraming::TtHeader, ThriftFraming::Framed, ThriftFraming::Unframed] {
        let kitex = Peer::serve("tcp");
        let (tell, _looks) = unbounded_channel();
        let server = AsyncServer::bind("tcp:127.0.0.1:0").unwrap();
        let server = server.add_service(AsyncShopServer(Corner::new(tell))).unwrap();
        let ours = Instance::new("ours", server.address());
        let serving = tokio::spawn(server.serve());
        let theirs = |kitex: &Peer| {
            Instance::new("theirs", kitex.address.clone()).with_framing(framing).with_weight(3)
        };
        let (set, sets) = watch::channel(vec![ours.clone(), theirs(&kitex)]);
        let options = InstanceOptions::new().wait(PATIENCE);
        let instances = Instances::new(Watched::new(sets), options);
        let shop = AsyncShopClient::new(ServiceChannel::new(instances));
        until(&shop, "ours").await;
        until(&shop, "theirs").await;
        let found = shares(&shop, 1_000).await;
        assert!(found["theirs"] > 2 * found["ours"] && found["ours"] > 100, "{found:?}");

        // A hanging instance gets no further calls until it continues.
        signal(&kitex, Signal::STOP);
        let mut lost = 0;
        while lost < 3 {
            match call(&shop, Duration::from_secs(1)).await {
                (Ok(_), _) => {}
                (Err(Error::Call(CallError::DeadlinePassed)), route) => {
                    assert_eq!(route.instance().as_deref(), Some("theirs"));
                    lost += 1;
                }
                (Err(error), _) => panic!("{error}"),
            }
        }
        assert_eq!(shares(&shop, 300).await.len(), 1);
        signal(&kitex, Signal::CONT);
        // It may first end connections, as of the calls that were given up.
        let served = async {
            loop {
                let (outcome, route) = call(&shop, PATIENCE).await;
                let is_theirs = route.instance().as_deref() == Some("theirs");
                match outcome {
                    Ok(_) if is_theirs => break,
                    Ok(_) => sleep(Duration::from_millis(1)).await,
                    Err(error) => assert!(is_theirs, "{error}"),
                }
            }
        };
        timeout(PATIENCE, served).await.expect("it serves again");

        // One that was killed gets none, but for what had found its connection whole.
        drop(kitex);
        let mut failed = 0;
        for _ in 0..300 {
            let (outcome, route) = call(&shop, PATIENCE).await;
            if outcome.is_err() {
                assert_eq!(route.instance().as_deref(), Some("theirs"));
                failed += 1;
            }
        }
        assert!(failed <= 1, "{failed}");
        let kitex = Peer::serve_by(program(), "serve", "tcp", &[]);
        set.send_modify(|set| set[1] = theirs(&kitex));
        until(&shop, "theirs").await;
        drop(shop);
        serving.abort();
    }
}
