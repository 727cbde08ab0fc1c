//! Servers that are not there, are killed, or started again.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::processes::Process;

/// Calls until one succeeds, as a client does that was given no session yet.
async fn comes_back(shop: &AsyncShopClient<AsyncThriftClient>) {
    let calling = async {
        while let Err(error) = shop.check(1).await {
            assert!(!error.may_have_run(), "{error}");
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, calling).await.unwrap();
}

#[tokio::test]
async fn killed_server_fails_calls_and_later_are_not_sent() {
    let (address, folder) = in_a_folder();
    let place = breezeway::Address::unix(folder.path().join("shmipc.sock"));
    let start = || {
        let mut process = Process::start("shop over shmipc", &place);
        assert_eq!(process.hear(), "serves");
        process
    };
    let mut process = start();
    for framing in FRAMINGS {
        let client = asynchronous::Client::connect(
            &address,
            options().connect_timeout(Duration::from_millis(200)),
        );
        let client = AsyncThriftClient::over_shmipc(client.await.unwrap(), framing);
        let shop = Arc::new(AsyncShopClient::new(client));
        let calls: Vec<_> = (0..50)
            .map(|_| {
                let shop = Arc::clone(&shop);
                tokio::spawn(async move { shop.echo("never".to_owned()).await.unwrap_err() })
            })
            .collect();
        // All are on their way behind this.
        shop.check(1).await.unwrap();
        process.kill();
        for call in calls {
            let failed = tokio::time::timeout(PATIENCE, call).await.unwrap().unwrap();
            assert!(matches!(failed, Error::Io(_) | Error::Shmipc(_)), "{framing:?}: {failed}");
        }
        let failed = shop.check(1).await.unwrap_err();
        assert!(matches!(failed, Error::Shmipc(_)), "{failed}");
        assert!(!failed.may_have_run());
        process = start();
        comes_back(&shop).await;
    }
}

#[test]
fn idle_client_loses_no_call_to_a_server_restart() {
    for gear in GEARS {
        let (address, _folder) = in_a_folder();
        let start = || {
            let (tell, _looks) = unbounded_channel();
            let corners = [Corner::new(tell.clone()), Corner::new(tell)];
            let [blocks, awaits] = corners;
            let (blocks, awaits) = (ShopServer(blocks), AsyncShopServer(awaits));
            Running::at(&address, trusting(), gear, blocks, awaits)
        };
        let mut running = start();
        let client = Client::connect(&address, options().connect_timeout(PATIENCE)).unwrap();
        let shop = ShopClient::new(ThriftClient::over_shmipc(client, ThriftFraming::TtHeader));
        for _ in 0..3 {
            shop.check(1).unwrap();
            running.end();
            let within = CallOptions::new().timeout(Duration::from_millis(100));
            // Whether it was sent depends on who hears of the end first.
            let failed = shop.with(within).check(1).unwrap_err();
            assert!(matches!(failed, Error::Shmipc(_) | Error::Io(_)), "{failed}");
            running = start();
        }
        shop.check(1).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_goes_to_the_server_that_has_taken_over() {
    for gear in GEARS {
        let (address, _folder) = in_a_folder();
        let (tell, mut looks) = unbounded_channel();
        let start = |options: ServerOptions| {
            let (blocks, awaits) = (Corner::new(tell.clone()), Corner::new(tell.clone()));
            Running::at(&address, options, gear, ShopServer(blocks), AsyncShopServer(awaits))
        };
        let before = start(trusting());
        let shop = AsyncShopClient::new(awaited(&address, ThriftFraming::TtHeader).await);
        // The old shop has one tea left.
        shop.buy(tea(2), None).await.unwrap();
        let after = start(trusting().take_over(true));
        let restart = || before.served.get().hot_restart(1, PATIENCE);
        let report = tokio::task::block_in_place(restart);
        assert_eq!(report.acknowledged, 1, "{report:?}");
        assert_eq!(shop.buy(tea(3), None).await.unwrap(), tea(3), "{gear:?}");
        drop(before);
        shop.look("Ada".to_owned()).await.unwrap();
        assert_eq!(looks.recv().await.unwrap(), "Ada");
        drop(after);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_clients_leave_a_replaced_server() {
    for gear in GEARS {
        let (address, _folder) = in_a_folder();
        let (tell, _looks) = unbounded_channel();
        let start = |options: ServerOptions| {
            let (blocks, awaits) = (Corner::new(tell.clone()), Corner::new(tell.clone()));
            Running::at(&address, options, gear, ShopServer(blocks), AsyncShopServer(awaits))
        };
        let before = start(trusting());
        let awaited = AsyncShopClient::new(awaited(&address, ThriftFraming::TtHeader).await);
        awaited.check(1).await.unwrap();
        tokio::task::block_in_place(|| {
            let waits = ShopClient::new(blocking(&address, ThriftFraming::TtHeader));
            waits.check(1).unwrap();
            before.wait_for_streams(2);
            let _after = start(trusting().take_over(true));
            let report = before.served.get().hot_restart(1, PATIENCE);
            assert_eq!(report.acknowledged, 2, "{report:?}");
            before.wait_for_streams(0);
            waits.check(1).unwrap();
        });
    }
}

#[tokio::test]
async fn streams_beyond_session_limit_fail_only_their_calls() {
    let (running, _looks) = Running::shop(Gear::Awaits);
    let session = patient().max_streams(2);
    let client = asynchronous::Client::connect(&running.address, options().session(session));
    let client = AsyncThriftClient::over_shmipc(client.await.unwrap(), ThriftFraming::TtHeader);
    let shop = Arc::new(AsyncShopClient::new(client));
    let slow: Vec<_> = (0..2)
        .map(|_| {
            let shop = Arc::clone(&shop);
            tokio::spawn(async move { shop.echo("never".to_owned()).await })
        })
        .collect();
    // Their tasks run while this one waits elsewhere.
    running.await_streams(2).await;
    let failed = shop.check(1).await.unwrap_err();
    assert!(matches!(failed, Error::Shmipc(_)), "{failed}");
    assert!(!failed.may_have_run());
    // A call that is given up makes room.
    slow[0].abort();
    comes_back(&shop).await;
    slow[1].abort();
}

/// One session opens as many as a server serves in all.
#[tokio::test]
async fn a_connection_too_many_is_closed_and_those_that_end_make_room() {
    const MOST: usize = 4096;
    let (running, _looks) = Running::shop(Gear::Awaits);
    let greedy = asynchronous::Client::connect(&running.address, options()).await.unwrap();
    let mut streams = Vec::new();
    for _ in 0..MOST {
        let mut stream = greedy.open().await.unwrap();
        stream.write_all(&[0]).await.unwrap();
        streams.push(stream);
    }
    running.await_streams(MOST).await;
    let mut refused = greedy.open().await.unwrap();
    refused.write_all(&[0]).await.unwrap();
    let closed = tokio::time::timeout(PATIENCE, refused.read(&mut [0; 1])).await.unwrap();
    assert!(matches!(closed, Ok(0)), "{closed:?}");
    streams.pop();
    let shop = AsyncShopClient::new(running.awaited(ThriftFraming::TtHeader).await);
    let served = async { while shop.check(1).await.is_err() {} };
    tokio::time::timeout(PATIENCE, served).await.unwrap();
}
