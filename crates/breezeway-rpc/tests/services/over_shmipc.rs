//! Thrift whose connections are streams of shmipc: ours with ours, of both gears each.

mod flooding;
mod raw_peers;
mod sessions;
mod silent_clients;
mod stopping;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use breezeway::{CallError, Carrier};
use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{
    AsyncChannel, AsyncService, AsyncShmipcServer, AsyncThriftClient, CallOptions, Channel,
    Context, Error, Method, ReplyMetadata, Route, Service, ShmipcServer, ThriftClient,
    ThriftFraming,
};
use breezeway_shmipc::{
    Address, Client, ClientOptions, Server, ServerOptions, Session, SessionOptions, Stopper, Trust,
    asynchronous,
};
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::room::{AsyncRoomClient, AsyncRoomServer, Hall, RoomClient, RoomServer};
use crate::shop::{
    AsyncHealth, AsyncHealthClient, AsyncHealthServer, AsyncShopClient, AsyncShopServer, Corner,
    Health, HealthClient, HealthReadyArgs, HealthServer, ShopBuyError, ShopClient, ShopServer,
};
use crate::streams_blocking;
use crate::thrift::{FRAMINGS, tea};
use crate::thrift_awaited::five_hundred_echoes_at_a_time;
use crate::{processes, streams};
use stopping::Gate;

/// Time limit for events that must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Mode in which a server's handlers wait.
#[derive(Clone, Copy, Debug)]
enum Gear {
    Blocks,
    Awaits,
}

const GEARS: [Gear; 2] = [Gear::Blocks, Gear::Awaits];

/// A server in this process, which ends with it.
struct Running {
    address: Address,
    stopper: Stopper,
    served: Served,
    serving: Option<JoinHandle<()>>,
    /// There while it serves, unless the test keeps it.
    folder: Option<TempDir>,
}

/// Server of the connections.
enum Served {
    Blocks(Arc<Server>),
    Awaits(Arc<asynchronous::Server>),
}

impl Served {
    fn get(&self) -> &Server {
        match self {
            Self::Blocks(server) => server,
            Self::Awaits(server) => server.get(),
        }
    }
}

fn in_a_folder() -> (Address, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (Address::Unix(folder.path().join("shmipc.sock")), folder)
}

fn trusting() -> ServerOptions {
    ServerOptions::new(Trust::SameUser).session(patient())
}

/// However busy the machine is.
fn patient() -> SessionOptions {
    SessionOptions::new().handshake_timeout(PATIENCE)
}

impl Running {
    fn of(gear: Gear, blocks: impl Service, awaits: impl AsyncService) -> Self {
        let (address, folder) = in_a_folder();
        let mut running = Self::at(&address, trusting(), gear, blocks, awaits);
        running.folder = Some(folder);
        running
    }

    fn at(
        address: &Address,
        options: ServerOptions,
        gear: Gear,
        blocks: impl Service,
        awaits: impl AsyncService,
    ) -> Self {
        let (served, stopper, serving) = match gear {
            Gear::Blocks => {
                let streams = Arc::new(Server::bind(address, options).unwrap());
                let server = ShmipcServer::new(Arc::clone(&streams)).add_service(blocks).unwrap();
                let stopper = server.stopper();
                (Served::Blocks(streams), stopper, std::thread::spawn(move || server.serve()))
            }
            Gear::Awaits => {
                let streams = Arc::new(asynchronous::Server::bind(address, options).unwrap());
                let server = AsyncShmipcServer::new(Arc::clone(&streams));
                let server = server.add_service(awaits).unwrap();
                let stopper = server.stopper();
                let serving = std::thread::spawn(move || {
                    let mut runtime = tokio::runtime::Builder::new_current_thread();
                    runtime.enable_all().build().unwrap().block_on(server.serve());
                });
                (Served::Awaits(streams), stopper, serving)
            }
        };
        let address = address.clone();
        Self { address, stopper, served, serving: Some(serving), folder: None }
    }

    /// Starts a shop, and returns it with the names of its visitors.
    fn shop(gear: Gear) -> (Self, UnboundedReceiver<String>) {
        let (tell, looks) = unbounded_channel();
        let corners = [Corner::new(tell.clone()), Corner::new(tell)];
        let [blocks, awaits] = corners;
        (Self::of(gear, ShopServer(blocks), AsyncShopServer(awaits)), looks)
    }

    fn blocking(&self, framing: ThriftFraming) -> ThriftClient {
        blocking(&self.address, framing)
    }

    async fn awaited(&self, framing: ThriftFraming) -> AsyncThriftClient {
        awaited(&self.address, framing).await
    }

    /// Waits until its sessions have so many streams.
    fn wait_for_streams(&self, wanted: usize) {
        let until = Instant::now() + PATIENCE;
        while self.streams() != wanted {
            assert!(Instant::now() < until, "not {wanted} streams");
            std::thread::yield_now();
        }
    }

    /// Waits like [`wait_for_streams`](Self::wait_for_streams), while other tasks run.
    async fn await_streams(&self, wanted: usize) {
        let waiting = async {
            while self.streams() != wanted {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("not so many streams");
    }

    fn streams(&self) -> usize {
        let streams = |session: &Session| session.statistics().streams;
        self.served.get().sessions().iter().map(streams).sum()
    }

    fn end(&mut self) {
        self.stopper.stop();
        self.serving.take().unwrap().join().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.serving.is_some() && !std::thread::panicking() {
            self.end();
        }
    }
}

fn options() -> ClientOptions {
    ClientOptions::new(Trust::SameUser).session(patient())
}

fn blocking(address: &Address, framing: ThriftFraming) -> ThriftClient {
    ThriftClient::over_shmipc(Client::connect(address, options()).unwrap(), framing)
}

async fn awaited(address: &Address, framing: ThriftFraming) -> AsyncThriftClient {
    let client = asynchronous::Client::connect(address, options()).await.unwrap();
    AsyncThriftClient::over_shmipc(client, framing)
}

#[test]
fn every_kind_of_method_travels_in_every_framing() {
    for gear in GEARS {
        for framing in FRAMINGS {
            let (running, mut looks) = Running::shop(gear);
            let client = running.blocking(framing);
            let unknown = Method { name: "unknown", ..Method::of::<HealthReadyArgs>("Shop") };
            let failed = client.call(&unknown, &HealthReadyArgs {}, &CallOptions::new());
            let Err(Error::Application(error)) = failed else { panic!("{framing:?}") };
            assert_eq!(error.kind, ExceptionKind::UNKNOWN_METHOD);
            let shop = ShopClient::new(client);
            assert_eq!(shop.buy(tea(2), None).unwrap(), tea(2));
            assert!(matches!(shop.buy(tea(2), None), Err(ShopBuyError::Empty(_))));
            shop.look("Ada".to_owned()).unwrap();
            assert_eq!(looks.blocking_recv().unwrap(), "Ada");
            assert!(shop.ready().unwrap(), "inherited");
            shop.check(1).unwrap();
            let failed = shop.check(-1);
            assert!(matches!(failed, Err(Error::Application(_))), "{failed:?}");
            for size in [0, 1, 65_536, 16 << 20] {
                let text = "x".repeat(size);
                assert!(shop.echo(text.clone()).unwrap() == text, "{gear:?} {framing:?} {size}");
            }
        }
    }
}

#[tokio::test]
async fn every_kind_of_method_travels_from_tasks_in_every_framing() {
    for gear in GEARS {
        for framing in FRAMINGS {
            let (running, mut looks) = Running::shop(gear);
            let client = running.awaited(framing).await;
            let unknown = Method { name: "unknown", ..Method::of::<HealthReadyArgs>("Shop") };
            let failed = client.call(&unknown, &HealthReadyArgs {}, &CallOptions::new()).await;
            let Err(Error::Application(error)) = failed else { panic!("{framing:?}") };
            assert_eq!(error.kind, ExceptionKind::UNKNOWN_METHOD);
            let shop = AsyncShopClient::new(client);
            assert_eq!(shop.buy(tea(2), None).await.unwrap(), tea(2));
            assert!(matches!(shop.buy(tea(2), None).await, Err(ShopBuyError::Empty(_))));
            shop.look("Ada".to_owned()).await.unwrap();
            assert_eq!(looks.recv().await.unwrap(), "Ada");
            assert!(shop.ready().await.unwrap(), "inherited");
            shop.check(1).await.unwrap();
            let failed = shop.check(-1).await;
            assert!(matches!(failed, Err(Error::Application(_))), "{failed:?}");
            for size in [0, 1, 65_536, 16 << 20] {
                let text = "x".repeat(size);
                assert!(shop.echo(text.clone()).await.unwrap() == text, "{gear:?} {size}");
            }
        }
    }
}

#[tokio::test]
async fn ttheader_carries_metadata_business_errors_and_deadlines() {
    for gear in GEARS {
        let (running, _looks) = Running::shop(gear);
        let shop = AsyncShopClient::new(running.awaited(ThriftFraming::TtHeader).await);
        let reply = ReplyMetadata::new();
        let named = CallOptions::new().metadata("name", "Ada").receive_metadata(&reply);
        shop.with(named).echo("x".to_owned()).await.unwrap();
        assert_eq!(reply.get("greeting").unwrap(), b"hello Ada");
        let refused = shop.buy(tea(1), Some("expired".to_owned())).await;
        let Err(ShopBuyError::Rpc(Error::Business(error))) = refused else { panic!("{refused:?}") };
        assert_eq!(error.status, 410);
        let within = CallOptions::new().timeout(Duration::from_secs(60));
        let left = shop.with(within).count().await.unwrap();
        assert!((1..=60_000).contains(&left), "{left}");
    }
}

#[tokio::test]
async fn kitexs_streams_travel_in_their_four_forms() {
    let hall =
        |events: &UnboundedSender<String>| Hall { events: events.clone(), morning: Arc::default() };
    for gear in GEARS {
        let (events, _told) = unbounded_channel();
        let services = (RoomServer(hall(&events)), AsyncRoomServer(hall(&events)));
        let running = Running::of(gear, services.0, services.1);
        let room = AsyncRoomClient::new(running.awaited(ThriftFraming::TtHeader).await);
        streams::every_form(&room).await;
        let client = running.blocking(ThriftFraming::TtHeader);
        let trying = move || streams_blocking::every_form(&RoomClient::new(client));
        tokio::task::spawn_blocking(trying).await.unwrap();
    }
}

/// Reports the carrier and the peer of its call.
struct Door;

impl Door {
    fn judge(cx: &Context) {
        assert_eq!(cx.carrier(), Carrier::Shmipc);
        assert_eq!(cx.peer().pid, Some(std::process::id()));
    }
}

impl Health for Door {
    fn ready(&self, cx: &Context) -> Result<bool, Error> {
        Self::judge(cx);
        Ok(true)
    }

    fn check(&self, _: &Context, _: i32) -> Result<(), Error> {
        Ok(())
    }
}

impl AsyncHealth for Door {
    async fn ready(&self, cx: &Context) -> Result<bool, Error> {
        Health::ready(self, cx)
    }

    async fn check(&self, cx: &Context, depth: i32) -> Result<(), Error> {
        Health::check(self, cx, depth)
    }
}

#[tokio::test]
async fn both_sides_report_shmipc_as_the_carrier() {
    for gear in GEARS {
        let running = Running::of(gear, HealthServer(Door), AsyncHealthServer(Door));
        let health = AsyncHealthClient::new(running.awaited(ThriftFraming::Framed).await);
        let route = Route::new();
        assert!(health.with(CallOptions::new().receive_route(&route)).ready().await.unwrap());
        assert_eq!(route.carrier(), Some(Carrier::Shmipc));
        let health = HealthClient::new(running.blocking(ThriftFraming::Framed));
        let calling = move || health.ready();
        assert!(tokio::task::spawn_blocking(calling).await.unwrap().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_calls_at_a_time_get_their_own_replies() {
    for gear in GEARS {
        for framing in FRAMINGS {
            let (running, _looks) = Running::shop(gear);
            let shop = Arc::new(AsyncShopClient::new(running.awaited(framing).await));
            five_hundred_echoes_at_a_time(&shop).await;
        }
    }
}

#[test]
fn fifty_threads_share_a_client() {
    for gear in GEARS {
        let (running, _looks) = Running::shop(gear);
        let shop = ShopClient::new(running.blocking(ThriftFraming::TtHeader));
        std::thread::scope(|scope| {
            for number in 0..50 {
                let shop = &shop;
                scope.spawn(move || {
                    for round in 0..20 {
                        let text = format!("{number}.{round}");
                        assert_eq!(shop.echo(text.clone()).unwrap(), text);
                    }
                });
            }
        });
    }
}

#[tokio::test]
async fn call_ends_at_deadline_and_delays_no_other() {
    for framing in FRAMINGS {
        let (running, mut looks) = Running::shop(Gear::Awaits);
        let shop = AsyncShopClient::new(running.awaited(framing).await);
        let mut time = Duration::from_millis(50);
        loop {
            let late = shop.with(CallOptions::new().timeout(time));
            assert_late(framing, late.echo("never".to_owned()).await);
            if framing != ThriftFraming::TtHeader {
                break;
            }
            match tokio::time::timeout(10 * time, looks.recv()).await {
                Ok(told) => break assert_eq!(told.unwrap(), "dropped"),
                // It may never have been served, on a machine that is busy for so long.
                Err(_) => time *= 2,
            }
            assert!(time < Duration::from_secs(5), "no handler was dropped");
        }
        assert_eq!(shop.echo("well served".to_owned()).await.unwrap(), "well served");
    }
}

#[tokio::test]
async fn call_to_blocking_handler_ends_at_its_deadline() {
    for framing in FRAMINGS {
        let (gate, mut asked) = Gate::new();
        let services = (HealthServer(gate.clone()), AsyncHealthServer(gate.clone()));
        let running = Running::of(Gear::Blocks, services.0, services.1);
        let health = AsyncHealthClient::new(running.awaited(framing).await);
        let mut time = Duration::from_millis(50);
        loop {
            assert_late(framing, health.with(CallOptions::new().timeout(time)).ready().await);
            // Its handler runs on, unless it was too late to begin.
            if asked.try_recv().is_ok() {
                break;
            }
            time *= 2;
            assert!(time < Duration::from_secs(5), "no handler was begun");
        }
        health.check(1).await.unwrap();
        gate.open();
        assert!(health.ready().await.unwrap());
    }
}

fn assert_late<T: std::fmt::Debug>(framing: ThriftFraming, outcome: Result<T, Error>) {
    // The server may report it first.
    let is_late = match &outcome {
        Err(Error::Application(error)) => error.message == "the call's deadline passed",
        outcome => matches!(outcome, Err(Error::Call(CallError::DeadlinePassed))),
    };
    assert!(is_late, "{framing:?}: {outcome:?}");
}

/// The shop in a process of its own, at the path of this address.
pub(crate) fn serve(address: &breezeway::Address) {
    let path = address.places()[0].path().unwrap();
    let (tell, _looks) = unbounded_channel();
    let server = asynchronous::Server::bind(&Address::Unix(path.into()), trusting()).unwrap();
    let server = AsyncShmipcServer::new(server);
    let server = server.add_service(AsyncShopServer(Corner::new(tell))).unwrap();
    processes::say("serves");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(server.serve());
}
