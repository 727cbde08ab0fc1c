//! Servers of services that follow each other under load, each a process: no call fails, and each
//! oneway call comes once. `make restarts` does it with many generations.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use breezeway::{Address, Client, ClientOptions, Pool, ServerOptions, SessionOptions};
use breezeway_rpc::{AsyncServer, Server};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::processes::{Process, say};
use crate::shop::{AsyncShopClient, AsyncShopServer, Corner, ShopClient, ShopServer};

/// Time limit for events that must come.
const PATIENCE: Duration = Duration::from_secs(60);

fn session() -> SessionOptions {
    SessionOptions::new().handshake_timeout(PATIENCE)
}

fn options() -> ServerOptions {
    ServerOptions::new().take_over(true).drain_timeout(PATIENCE).session(session())
}

/// Prints the names of the visitors.
fn report(mut looks: UnboundedReceiver<String>) {
    while let Ok(who) = looks.try_recv() {
        say(who);
    }
}

/// Role: serves until it is succeeded, and prints the names of its visitors.
pub(crate) fn serve_blocking(address: &Address) {
    let (tell, looks) = unbounded_channel();
    let server = Server::bind_with(address, options()).unwrap();
    let server = server.add_service(ShopServer(Corner::new(tell))).unwrap();
    let stopper = server.stopper();
    say("listening");
    server.serve().unwrap();
    assert_eq!(stopper.unserved(), breezeway::Unserved::default());
    report(looks);
}

/// Role like [`serve_blocking`], with handlers that are awaited.
pub(crate) fn serve_awaited(address: &Address) {
    let (tell, looks) = unbounded_channel();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = AsyncServer::bind_with(address, options()).unwrap();
        let server = server.add_service(AsyncShopServer(Corner::new(tell))).unwrap();
        let stopper = server.stopper();
        say("listening");
        server.serve().await.unwrap();
        assert_eq!(stopper.unserved(), breezeway::Unserved::default());
    });
    report(looks);
}

/// Calls until it is over; gives how many rounds there were.
type Caller = JoinHandle<u64>;

fn caller(over: &Arc<AtomicBool>, mut round: impl FnMut(u64) + Send + 'static) -> Caller {
    let over = Arc::clone(over);
    thread::spawn(move || {
        let mut number = 0;
        while !over.load(Ordering::Relaxed) {
            round(number);
            number += 1;
        }
        number
    })
}

/// Returns the text to echo: mostly short, sometimes long.
fn text(caller: usize, number: u64) -> String {
    let len = if number % 16 == 15 { 100_000 } else { number as usize % 16 * 50 };
    format!("{caller} {number} {}", "x".repeat(len))
}

/// Callers of each kind, at a server whose handlers block and at one whose are awaited.
fn callers(addresses: [&Address; 2], over: &Arc<AtomicBool>) -> Vec<Caller> {
    let options = || ClientOptions::new().session(session());
    let mut callers = Vec::new();
    for address in addresses {
        let first = callers.len();
        let pool = Pool::connect_with(address, options()).unwrap();
        let client = ShopClient::new(pool);
        callers.push(caller(over, move |number| {
            let text = text(first, number);
            assert_eq!(client.echo(text.clone()).unwrap(), text);
            client.look(format!("{first} {number}")).unwrap();
        }));
        let shared = Client::connect_with(address, options()).unwrap();
        let shared = Arc::new(ShopClient::new(shared));
        for me in [first + 1, first + 2] {
            let client = Arc::clone(&shared);
            callers.push(caller(over, move |number| {
                let text = text(me, number);
                assert_eq!(client.echo(text.clone()).unwrap(), text);
                client.look(format!("{me} {number}")).unwrap();
            }));
        }
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let awaited = breezeway_tokio::Client::connect_with(address, options());
        let client = AsyncShopClient::new(runtime.block_on(awaited).unwrap());
        let me = first + 3;
        callers.push(caller(over, move |number| {
            let text = text(me, number);
            runtime.block_on(async {
                assert_eq!(client.echo(text.clone()).await.unwrap(), text);
                client.look(format!("{me} {number}")).await.unwrap();
            });
        }));
    }
    callers
}

/// Waits for a generation's end, and counts its visitors.
fn tally(generation: &mut Process, looks: &mut BTreeMap<(usize, u64), usize>) {
    for line in generation.ends() {
        let (caller, number) = line.split_once(' ').unwrap();
        *looks.entry((caller.parse().unwrap(), number.parse().unwrap())).or_default() += 1;
    }
}

#[test]
fn services_restart_without_failed_or_repeated_calls() {
    let count = std::env::var("GENERATIONS").map_or(3, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    let blocking: Address = format!("shm:{path}/blocking").parse().unwrap();
    let list = format!("unix:{path}/awaited,shm:{path}/awaited-shm");
    let awaited: Address = list.parse().unwrap();
    let roles = [("blocking generation", &blocking), ("awaited generation", &awaited)];
    let start = |role: &str, address: &Address| {
        let mut process = Process::start(role, address);
        assert_eq!(process.hear(), "listening");
        process
    };
    let mut serving = roles.map(|(role, address)| start(role, address));
    let over = Arc::new(AtomicBool::new(false));
    let callers = callers([&blocking, &awaited], &over);
    let mut looks = BTreeMap::new();
    for _ in 0..count {
        for ((role, address), serving) in roles.into_iter().zip(&mut serving) {
            tally(&mut std::mem::replace(serving, start(role, address)), &mut looks);
        }
    }
    over.store(true, Ordering::Relaxed);
    let rounds: Vec<u64> = callers.into_iter().map(|caller| caller.join().unwrap()).collect();
    // The last ones are succeeded without load.
    for ((role, address), mut last) in roles.into_iter().zip(serving) {
        let mut successor = start(role, address);
        tally(&mut last, &mut looks);
        successor.kill();
    }
    println!("rounds: {rounds:?}");
    let expected: BTreeMap<_, _> = rounds
        .iter()
        .enumerate()
        .flat_map(|(caller, &rounds)| (0..rounds).map(move |number| ((caller, number), 1)))
        .collect();
    assert!(rounds.iter().all(|&rounds| rounds > 0));
    assert!(looks == expected, "{} looks of {}", looks.len(), expected.len());
}
