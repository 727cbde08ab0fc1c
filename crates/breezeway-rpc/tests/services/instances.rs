//! Choice of the instance for a call, and calls without one.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use breezeway::{Address, CallError, Carrier, Place, ServerOptions, SessionOptions};
use breezeway_rpc::governance::{CallReply, CallRequest, ServiceChannel};
use breezeway_rpc::instances::{Fixed, Instance, InstanceOptions, Instances, Watched};
use breezeway_rpc::{AsyncServer, CallOptions, Error, Route, ThriftFraming};
use breezeway_tokio::{Session, Stopper};
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tower::layer::layer_fn;
use tower::service_fn;

use crate::processes::Process;
use crate::room::AsyncRoomClient;
use crate::shop::{AsyncShopClient, AsyncShopServer, Corner};
use crate::streams;

/// Time limit for events that must come.
const PATIENCE: Duration = Duration::from_secs(30);

struct Running {
    address: Address,
    looks: UnboundedReceiver<String>,
    stopper: Stopper,
    serving: JoinHandle<()>,
}

impl Running {
    fn at(address: &str) -> Self {
        Self::with(address, ServerOptions::new())
    }

    fn with(address: &str, options: ServerOptions) -> Self {
        let (tell, looks) = unbounded_channel();
        let server = AsyncServer::bind_with(address, options).unwrap();
        let server = server.add_service(AsyncShopServer(Corner::new(tell))).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = tokio::spawn(async move { server.serve().await.unwrap() });
        Self { address, looks, stopper, serving }
    }

    async fn end(self) {
        self.stopper.stop();
        self.serving.await.unwrap();
    }
}

/// A server at a socket and at a port.
fn both(folder: &TempDir, name: &str) -> Running {
    Running::at(&format!("shm:{}/{name},tcp:127.0.0.1:0", folder.path().display()))
}

type Shop = AsyncShopClient<ServiceChannel<Instances>>;

fn shop(instances: Instances) -> Shop {
    AsyncShopClient::new(ServiceChannel::new(instances))
}

/// Calls, and gives to whom and by what.
async fn call(shop: &Shop) -> Result<(String, Carrier), Error> {
    let route = Route::new();
    shop.with(CallOptions::new().timeout(PATIENCE).receive_route(&route)).count().await?;
    Ok((route.instance().unwrap().to_string(), route.carrier().unwrap()))
}

/// Calls until it goes there.
async fn until(shop: &Shop, name: &str, carrier: Carrier) {
    let there = async {
        while call(shop).await.unwrap() != (name.to_owned(), carrier) {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, there).await.unwrap_or_else(|_| panic!("no call goes to {name}"));
}

#[tokio::test]
async fn calls_use_shm_for_local_instance_and_tcp_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (both(&folder, "here"), both(&folder, "there"));
    let local = Instance::here("here", here.address.clone()).unwrap();
    // Without a locality its socket is not used.
    let remote = Instance::new("there", there.address.clone());
    let (tell, sets) = watch::channel(vec![remote.clone()]);
    let shop = shop(Instances::new(Watched::new(sets), InstanceOptions::new()));
    until(&shop, "there", Carrier::Tcp).await;
    tell.send_replace(vec![local.clone(), remote.clone()]);
    until(&shop, "here", Carrier::Shm).await;
    for _ in 0..500 {
        assert_eq!(call(&shop).await.unwrap(), ("here".to_owned(), Carrier::Shm));
    }
    // The same instance, as it is seen from another host.
    tell.send_replace(vec![Instance::new("here", here.address.clone())]);
    until(&shop, "here", Carrier::Tcp).await;
    tell.send_replace(vec![local, remote]);
    until(&shop, "here", Carrier::Shm).await;
    drop(shop);
    here.end().await;
    there.end().await;
}

#[tokio::test]
async fn instance_moves_to_shm_when_its_folder_appears() {
    let folder = tempfile::tempdir().unwrap();
    let (hidden, seen) = (folder.path().join("hidden"), folder.path().join("seen"));
    std::fs::create_dir(&hidden).unwrap();
    let server = Running::at(&format!("shm:{}/shop,tcp:127.0.0.1:0", hidden.display()));
    let told = Instance::here("shop", server.address.clone()).unwrap();
    let locality = breezeway_rpc::instances::Locality::of(told.address()).unwrap();
    let tcp = server.address.places()[1].clone();
    let address = [Place::Shm(seen.join("shop")), tcp].into_iter().collect();
    let instance = Instance::new("shop", address).with_locality(locality);
    let shop = shop(Instances::new(Fixed::new(vec![instance]), InstanceOptions::new()));
    until(&shop, "shop", Carrier::Tcp).await;
    std::os::unix::fs::symlink(&hidden, &seen).unwrap();
    until(&shop, "shop", Carrier::Shm).await;
    std::fs::remove_file(&seen).unwrap();
    until(&shop, "shop", Carrier::Tcp).await;
    drop(shop);
    server.end().await;
}

#[tokio::test]
async fn calls_spread_over_instances_until_one_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let servers = ["a", "b", "c"].map(|name| both(&folder, name));
    let set: Vec<_> = ["a", "b", "c"]
        .iter()
        .zip(&servers)
        .map(|(name, server)| Instance::here(name, server.address.clone()).unwrap())
        .collect();
    let (tell, sets) = watch::channel(set.clone());
    let shop = shop(Instances::new(Watched::new(sets), InstanceOptions::new()));
    for name in ["a", "b", "c"] {
        until(&shop, name, Carrier::Shm).await;
    }
    tell.send_replace(set[1..].to_vec());
    // The change has come to the balancer once another one, after it, has.
    tell.send_replace(set[2..].to_vec());
    let alone = async {
        let mut last = BTreeSet::new();
        while last != BTreeSet::from(["c".to_owned()]) {
            last.clear();
            for _ in 0..20 {
                last.insert(call(&shop).await.unwrap().0);
            }
        }
    };
    timeout(PATIENCE, alone).await.unwrap();
    drop(shop);
    for server in servers {
        server.end().await;
    }
}

#[tokio::test]
async fn calls_follow_weight_and_prefer_this_host() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["light", "heavy", "none", "here"];
    let servers = names.map(|name| both(&folder, name));
    let address = |index: usize| servers[index].address.clone();
    let weights = [1, 3, 0];
    let set: Vec<_> = (0..3)
        .map(|index| Instance::new(names[index], address(index)).with_weight(weights[index]))
        .collect();
    let (tell, sets) = watch::channel(set.clone());
    let shop = shop(Instances::new(Watched::new(sets), InstanceOptions::new()));
    until(&shop, "light", Carrier::Tcp).await;
    until(&shop, "heavy", Carrier::Tcp).await;
    let mut counts = HashMap::new();
    for _ in 0..2_000 {
        *counts.entry(call(&shop).await.unwrap().0).or_default() += 1;
    }
    let count = |name: &str| -> u32 { counts.get(name).copied().unwrap_or(0) };
    // Chance alone is as far off once in 10^12 runs.
    assert!(count("heavy").abs_diff(1_500) < 140 && count("none") == 0, "{counts:?}");
    let here = Instance::here("here", address(3)).unwrap();
    tell.send_replace([set.as_slice(), &[here]].concat());
    until(&shop, "here", Carrier::Shm).await;
    for _ in 0..500 {
        assert_eq!(call(&shop).await.unwrap(), ("here".to_owned(), Carrier::Shm));
    }
    // Weight 0, by which a server requests no more calls.
    let here = Instance::here("here", address(3)).unwrap().with_weight(0);
    tell.send_replace([set.as_slice(), &[here]].concat());
    until(&shop, "heavy", Carrier::Tcp).await;
    drop(shop);
    for server in servers {
        server.end().await;
    }
}

#[tokio::test]
async fn call_waits_for_an_instance_and_then_fails() {
    let (tell, sets) = watch::channel(Vec::new());
    let options = InstanceOptions::new().wait(Duration::from_millis(50));
    let hasty = shop(Instances::new(Watched::new(sets.clone()), options));
    let none = hasty.count().await.unwrap_err();
    assert!(
        matches!(none, Error::NoInstance { unreached: 0, .. }) && !none.may_have_run(),
        "{none:?}"
    );
    let options = InstanceOptions::new().wait(PATIENCE);
    let patient = shop(Instances::new(Watched::new(sets), options));
    let waiting = tokio::spawn(async move { call(&patient).await.unwrap() });
    let server = Running::at("tcp:127.0.0.1:0");
    tell.send_replace(vec![Instance::new("late", server.address.clone())]);
    assert_eq!(waiting.await.unwrap(), ("late".to_owned(), Carrier::Tcp));
    server.end().await;
}

#[tokio::test]
async fn instance_with_sockets_of_no_known_host_is_named_in_the_error() {
    let set = vec![Instance::new("one", "shm:/run/one".parse().unwrap())];
    let options = InstanceOptions::new().wait(Duration::from_millis(50));
    let failed = shop(Instances::new(Fixed::new(set), options)).count().await.unwrap_err();
    assert!(matches!(failed, Error::NoInstance { unreached: 1, .. }), "{failed:?}");
    assert!(failed.to_string().contains("Instance::here"), "{failed}");
}

#[tokio::test]
async fn a_stream_is_opened_on_the_instance_that_would_get_a_call() {
    let running = streams::Running::new("shm");
    let set = vec![Instance::here("room", running.address.clone()).unwrap()];
    let instances = Instances::new(Fixed::new(set), InstanceOptions::new().wait(PATIENCE));
    let room = AsyncRoomClient::new(ServiceChannel::new(instances));
    timeout(PATIENCE, streams::every_form(&room)).await.unwrap();
    let route = Route::new();
    let talk = room.with(CallOptions::new().receive_route(&route)).talk().await.unwrap();
    assert_eq!((route.instance().as_deref(), route.carrier()), (Some("room"), Some(Carrier::Shm)));
    drop((talk, room));
    running.end().await;
}

#[tokio::test]
async fn instance_of_another_protocol_gets_no_call() {
    let folder = tempfile::tempdir().unwrap();
    let server = both(&folder, "shop");
    // One accepts and sends nothing, one sends garbage, one closes at once.
    let hosts = ["silent", "chatty", "closing"].map(|manner| {
        let host = TcpListener::bind("127.0.0.1:0").unwrap();
        let address: Address = Place::from(host.local_addr().unwrap()).into();
        thread::spawn(move || {
            let mut kept = Vec::new();
            for client in host.incoming().map_while(Result::ok) {
                match manner {
                    "silent" => kept.push(client),
                    "chatty" => {
                        // The client may have gone.
                        let _ = (&client).write_all(&[b'x'; 4096]);
                        kept.push(client);
                    }
                    _ => drop(client),
                }
            }
        });
        Instance::new(manner, address)
    });
    let good = Instance::new("shop", server.address.clone());
    let set = hosts.into_iter().chain([good]).collect();
    let shop = shop(Instances::new(Fixed::new(set), InstanceOptions::new().wait(PATIENCE)));
    for _ in 0..200 {
        assert_eq!(call(&shop).await.unwrap(), ("shop".to_owned(), Carrier::Tcp));
    }
    drop(shop);
    server.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_fails_when_a_server_is_replaced_by_its_successor() {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("shm:{}/shop", folder.path().display());
    let options = || ServerOptions::new().take_over(true).drain_timeout(PATIENCE);
    let mut serving = Running::with(&path, options());
    let instance = Instance::here("shop", serving.address.clone()).unwrap();
    let shop = shop(Instances::new(Fixed::new(vec![instance]), InstanceOptions::new()));
    let over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let (shop, over) = (shop.clone(), Arc::clone(&over));
            tokio::spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    call(&shop).await.unwrap();
                    sleep(Duration::from_millis(1)).await;
                }
            })
        })
        .collect();
    for _ in 0..3 {
        call(&shop).await.unwrap();
        let last = std::mem::replace(&mut serving, Running::with(&path, options()));
        // It ends once its clients have gone to its successor.
        timeout(PATIENCE, last.serving).await.unwrap().unwrap();
    }
    over.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.unwrap();
    }
    drop(shop);
    serving.end().await;
}

#[tokio::test]
async fn instance_at_max_in_flight_leaves_calls_to_next() {
    let folder = tempfile::tempdir().unwrap();
    let (mut here, there) = (both(&folder, "here"), both(&folder, "there"));
    let set = vec![
        Instance::here("here", here.address.clone()).unwrap(),
        Instance::new("there", there.address.clone()),
    ];
    let options = InstanceOptions::new().max_in_flight(1);
    let shop = shop(Instances::new(Fixed::new(set), options));
    until(&shop, "here", Carrier::Shm).await;
    // It is sent when it is polled, with no other call in flight.
    let mut busy = Box::pin(shop.echo("never".to_owned()));
    assert!(timeout(Duration::from_millis(1), &mut busy).await.is_err());
    until(&shop, "there", Carrier::Tcp).await;
    drop(busy);
    assert_eq!(timeout(PATIENCE, here.looks.recv()).await.unwrap().unwrap(), "dropped");
    until(&shop, "here", Carrier::Shm).await;
    drop(shop);
    here.end().await;
    there.end().await;
}

/// Returns a place where connecting gets no answer: no connection is accepted, and the backlog is
/// full. It stays in this state while the second value lives.
fn unanswering() -> (Place, impl Sized) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let at = listener.local_addr().unwrap();
    // A backlog of 0 has room for one.
    let waiting = TcpStream::connect(at).unwrap();
    (at.into(), (listener, waiting))
}

#[tokio::test]
async fn frozen_instance_is_left_and_second_place_reached() {
    let process = Process::start("shop", &"tcp:127.0.0.1:0".parse().unwrap());
    let (mut process, (first, _in_use)) = (process, unanswering());
    let second: Address = process.hear().parse().unwrap();
    let address = [first].into_iter().chain(second.places().iter().cloned()).collect();
    let set = vec![Instance::new("shop", address).with_framing(ThriftFraming::TtHeader)];
    let session = SessionOptions::new().handshake_timeout(Duration::from_millis(200));
    let session = session.call_timeout(Some(Duration::from_millis(500)));
    let options = InstanceOptions::new().session(session).wait(Duration::from_millis(500));
    let shop = shop(Instances::new(Fixed::new(set), options));
    let answered = async {
        // The session's timeouts may pass, where much else is done.
        while call(&shop).await.is_err() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, answered).await.expect("the second place is reached");
    process.signal(Signal::STOP);
    // Calls without a time limit.
    let left_alone = async {
        loop {
            match shop.count().await {
                // It stops when all its threads have noticed.
                Ok(_) | Err(Error::Call(CallError::DeadlinePassed)) => {}
                Err(Error::NoInstance { .. }) => break,
                Err(other) => panic!("{other}"),
            }
        }
    };
    timeout(PATIENCE, left_alone).await.expect("it gets no more calls");
    for _ in 0..2 {
        assert!(matches!(shop.count().await, Err(Error::NoInstance { .. })), "it does not answer");
    }
    process.signal(Signal::CONT);
    let answered = async { while call(&shop).await.is_err() {} };
    timeout(PATIENCE, answered).await.expect("it is back");
}

#[tokio::test]
async fn each_instance_has_a_layer_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let servers = ["a", "b"].map(|name| both(&folder, name));
    let set = ["a", "b"]
        .iter()
        .zip(&servers)
        .zip([1, 5])
        .map(|((name, server), weight)| {
            Instance::here(name, server.address.clone()).unwrap().with_weight(weight)
        })
        .collect();
    let (count, mut counted) = unbounded_channel();
    // Also one that has several places in the balancer.
    let layer = layer_fn(move |_| {
        count.send(()).unwrap();
        service_fn(|_: CallRequest| async {
            Err::<CallReply, tower::BoxError>(Error::Overloaded.into())
        })
    });
    let instances = Instances::with_layer(Fixed::new(set), InstanceOptions::new(), layer);
    let shop = shop(instances);
    assert!(matches!(shop.count().await, Err(Error::Overloaded)));
    for _ in 0..2 {
        timeout(PATIENCE, counted.recv()).await.unwrap().unwrap();
    }
    drop(shop);
    let more = timeout(PATIENCE, counted.recv()).await.unwrap();
    assert!(more.is_none(), "a layer is made once for an instance");
    for server in servers {
        server.end().await;
    }
}

#[tokio::test]
async fn sessions_end_with_the_last_clone() {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("shm:{}/shop", folder.path().display());
    let server = Running::with(&path, ServerOptions::new().max_sessions(1));
    let set = vec![Instance::here("shop", server.address.clone()).unwrap()];
    let one = shop(Instances::new(Fixed::new(set), InstanceOptions::new()));
    until(&one, "shop", Carrier::Shm).await;
    let other = one.clone();
    drop(one);
    call(&other).await.unwrap();
    assert!(Session::connect(&server.address).await.is_err(), "there is one session");
    drop(other);
    let free = async {
        while Session::connect(&server.address).await.is_err() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, free).await.expect("the session ends");
    server.end().await;
}

#[tokio::test]
async fn call_without_an_instance_fails_at_its_own_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("shm:{}/nobody", folder.path().display()).parse().unwrap();
    let set = vec![Instance::here("nobody", address).unwrap()];
    let instances = Instances::new(Fixed::new(set), InstanceOptions::new().wait(10 * PATIENCE));
    let shop = shop(instances);
    let time = Duration::from_millis(50);
    let calling = async { shop.with(CallOptions::new().timeout(time)).count().await };
    let failed = timeout(PATIENCE, calling).await.expect("the call ends by itself").unwrap_err();
    assert!(matches!(failed, Error::NoInstance { waited, .. } if waited == time), "{failed}");
    assert!(!failed.may_have_run());
}

#[tokio::test]
async fn wait_for_an_instance_is_taken_off_the_calls_timeout() {
    const AWAY: Duration = Duration::from_millis(100);
    let folder = tempfile::tempdir().unwrap();
    let address = format!("shm:{}/late", folder.path().display());
    let set = vec![Instance::here("late", address.parse().unwrap()).unwrap()];
    let shop = shop(Instances::new(Fixed::new(set), InstanceOptions::new().wait(10 * PATIENCE)));
    let calling =
        tokio::spawn(async move { shop.with(CallOptions::new().timeout(PATIENCE)).count().await });
    sleep(AWAY).await;
    let server = Running::at(&address);
    let left = calling.await.unwrap().unwrap();
    assert!(left <= (PATIENCE - AWAY).as_millis() as i64, "{left} ms are left");
    server.end().await;
}
