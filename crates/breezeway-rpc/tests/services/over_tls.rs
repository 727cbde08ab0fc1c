//! Services within TLS: natively and in Kitex's framings at one address, and certificates.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use breezeway::{
    Address, CallError, Carrier, ConnectError, HandshakeError, ServerOptions, SessionOptions,
    Stopper, Tls, TlsError, describe,
};
use breezeway_rpc::thrift::{ApplicationException, ExceptionKind};
use breezeway_rpc::{
    AsyncServer, AsyncThriftClient, CallOptions, Context, Error, Server, StreamChannel,
    ThriftClient,
};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;

use crate::certificates::{Authority, Issued};
use crate::room::{AsyncRoomClient, AsyncRoomServer, Hall, RoomClient, RoomServer, line};
use crate::shop::{
    AsyncHealth, AsyncHealthClient, AsyncHealthServer, AsyncShopClient, AsyncShopServer, Corner,
    Health, HealthClient, HealthServer, Item, ShopBuyError, ShopClient, ShopServer,
};
use crate::streams::{self, PATIENCE};
use crate::streams_blocking;
use crate::thrift::{FRAMINGS, tea};

const CLIENT: &str = "client.test";
const LARGE: [usize; 4] = [0, 65_536, (1 << 20) + 1, 16 << 20];

/// Fails each call, with the names in the caller's certificate.
struct Door;

impl Door {
    fn names(cx: &Context) -> Error {
        assert_eq!(cx.carrier(), Carrier::Tls);
        let identity = cx.peer().identity.as_ref().expect("the server asks for a certificate");
        Error::new(ExceptionKind(77), identity.names().join(" "))
    }
}

impl Health for Door {
    fn ready(&self, cx: &Context) -> Result<bool, Error> {
        Err(Self::names(cx))
    }

    fn check(&self, cx: &Context, _: i32) -> Result<(), Error> {
        Err(Self::names(cx))
    }
}

impl AsyncHealth for Door {
    async fn ready(&self, cx: &Context) -> Result<bool, Error> {
        Err(Self::names(cx))
    }

    async fn check(&self, cx: &Context, _: i32) -> Result<(), Error> {
        Err(Self::names(cx))
    }
}

#[track_caller]
fn name_of(answer: Result<bool, Error>) -> String {
    match answer {
        Err(Error::Application(ApplicationException { message, .. })) => message,
        other => panic!("{other:?}"),
    }
}

/// Certificates by which both sides prove their identity.
pub(crate) struct Certificates(pub(crate) Authority);

impl Certificates {
    pub(crate) fn new() -> Self {
        Self(Authority::new())
    }

    /// Returns the options of a server that asks for certificates.
    pub(crate) fn server(&self) -> ServerOptions {
        let tls = own(Tls::new(), &self.0.issue("127.0.0.1"));
        options(tls.roots(self.0.root()).unwrap())
    }

    fn nobody(&self) -> Tls {
        Tls::new().roots(self.0.root()).unwrap()
    }

    pub(crate) fn client(&self) -> Tls {
        own(self.nobody(), &self.0.issue(CLIENT))
    }
}

fn own(tls: Tls, issued: &Issued) -> Tls {
    tls.certificate(&issued.chain, &issued.key).unwrap()
}

fn options(tls: Tls) -> ServerOptions {
    ServerOptions::new().session(session(tls))
}

fn session(tls: Tls) -> SessionOptions {
    SessionOptions::new().handshake_timeout(PATIENCE).tls(tls)
}

/// All services behind one port, with handlers that block; ends with this.
pub(crate) struct Running {
    pub(crate) address: Address,
    stopper: Stopper,
    serving: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn new(options: ServerOptions) -> Self {
        let server = Server::bind_with("tls:127.0.0.1:0", options).unwrap();
        let (tell, _) = unbounded_channel();
        let server = server.with_thrift_clients().add_service(ShopServer(Corner::new(tell)));
        let (events, _) = unbounded_channel();
        let hall = Hall { events, morning: Arc::default() };
        Self::serve(server.unwrap().add_service(RoomServer(hall)).unwrap())
    }

    fn door(options: ServerOptions) -> Self {
        let server = Server::bind_with("tls:127.0.0.1:0", options).unwrap();
        Self::serve(server.with_thrift_clients().add_service(HealthServer(Door)).unwrap())
    }

    fn serve(server: Server) -> Self {
        let (address, stopper) = (server.address(), server.stopper());
        let serving = Some(std::thread::spawn(move || server.serve().unwrap()));
        Self { address, stopper, serving }
    }

    fn native(&self, tls: Tls) -> breezeway::Session {
        breezeway::Session::connect_with(&self.address, &session(tls)).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        assert!(self.serving.take().unwrap().join().is_ok() || std::thread::panicking());
    }
}

/// Starts the same with handlers that await; it ends with the runtime.
pub(crate) fn serve_awaited(options: ServerOptions) -> Address {
    let server = AsyncServer::bind_with("tls:127.0.0.1:0", options).unwrap();
    let (tell, _) = unbounded_channel();
    let server = server.with_thrift_clients().add_service(AsyncShopServer(Corner::new(tell)));
    let (events, _) = unbounded_channel();
    let hall = Hall { events, morning: Arc::default() };
    let server = server.unwrap().add_service(AsyncRoomServer(hall)).unwrap();
    let address = server.address();
    tokio::spawn(async move { server.serve().await.unwrap() });
    address
}

async fn awaited_channel(address: &Address, tls: Tls) -> breezeway_tokio::Session {
    breezeway_tokio::Session::connect_with(address, &session(tls)).await.unwrap()
}

fn patient(client: ThriftClient, tls: Tls) -> ThriftClient {
    client.connect_timeout(PATIENCE).tls(tls)
}

fn patient_task(client: AsyncThriftClient, tls: Tls) -> AsyncThriftClient {
    client.connect_timeout(PATIENCE).tls(tls)
}

fn calls<C: breezeway_rpc::Channel>(shop: &ShopClient<C>) {
    assert_eq!(shop.buy(tea(1), None).unwrap(), tea(1));
    assert!(matches!(shop.buy(tea(9), None), Err(ShopBuyError::Empty(_))));
    for size in LARGE {
        let text = "x".repeat(size);
        assert!(shop.echo(text.clone()).unwrap() == text, "{size}");
    }
}

async fn awaited_calls<C: breezeway_rpc::AsyncChannel>(shop: &AsyncShopClient<C>) {
    assert_eq!(shop.buy(tea(1), None).await.unwrap(), tea(1));
    assert!(matches!(shop.buy(tea(9), None).await, Err(ShopBuyError::Empty(_))));
    for size in LARGE {
        let text = "x".repeat(size);
        assert!(shop.echo(text.clone()).await.unwrap() == text, "{size}");
    }
}

#[test]
fn calls_travel_natively_and_in_every_framing_at_one_address() {
    let all = Certificates::new();
    for framing in FRAMINGS {
        let running = Running::new(all.server());
        calls(&ShopClient::new(running.native(all.client())));
        let client = ThriftClient::with_framing(running.address.clone(), framing);
        let shop = ShopClient::new(patient(client, all.client()));
        calls(&shop);
        shop.check(-1).unwrap_err();
        // Over the same connection.
        shop.check(1).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn awaited_calls_work_natively_and_in_every_framing() {
    let all = Certificates::new();
    for framing in FRAMINGS {
        let address = serve_awaited(all.server());
        let native = awaited_channel(&address, all.client()).await;
        awaited_calls(&AsyncShopClient::new(native)).await;
        let client = AsyncThriftClient::with_framing(address.clone(), framing);
        awaited_calls(&AsyncShopClient::new(patient_task(client, all.client()))).await;
        // Those that block, and those that await, understand each other.
        let (tls, blocking) = (all.client(), ThriftClient::with_framing(address, framing));
        let blocking = ShopClient::new(patient(blocking, tls));
        let bought = tokio::task::spawn_blocking(move || blocking.buy(tea(1), None));
        assert_eq!(bought.await.unwrap().unwrap(), tea(1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundred_concurrent_calls_get_their_own_replies() {
    let all = Certificates::new();
    let address = serve_awaited(all.server());
    let client = patient_task(AsyncThriftClient::new(address), all.client());
    let shop = Arc::new(AsyncShopClient::new(client));
    for _ in 0..2 {
        let calls: Vec<_> = (0..100)
            .map(|number| {
                let shop = Arc::clone(&shop);
                tokio::spawn(async move {
                    let text = format!("{number}").repeat(number * 100);
                    assert_eq!(shop.echo(text.clone()).await.unwrap(), text);
                })
            })
            .collect();
        for call in calls {
            call.await.unwrap();
        }
    }
}

#[test]
fn streams_work_natively_and_in_ttheader() {
    let all = Certificates::new();
    let running = Running::new(all.server());
    streams_blocking::every_form(&RoomClient::new(running.native(all.client())));
    let thrift = || patient(ThriftClient::new(running.address.clone()), all.client());
    streams_blocking::every_form(&RoomClient::new(thrift()));
    both_ways_at_once(&RoomClient::new(thrift()));
    let address = running.address.clone();
    awaited(async {
        let client = patient_task(AsyncThriftClient::new(address), all.client());
        streams::every_form(&AsyncRoomClient::new(client)).await;
        let address = serve_awaited(all.server());
        let native = awaited_channel(&address, all.client()).await;
        streams::every_form(&AsyncRoomClient::new(native)).await;
        let client = patient_task(AsyncThriftClient::new(address.clone()), all.client());
        streams::every_form(&AsyncRoomClient::new(client)).await;
        let (address, tls) = (address.clone(), all.client());
        let blocking = tokio::task::spawn_blocking(move || {
            let room = RoomClient::new(patient(ThriftClient::new(address), tls));
            streams_blocking::every_form(&room);
            both_ways_at_once(&room);
        });
        blocking.await.unwrap();
    });
}

pub(crate) fn awaited(test: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { timeout(PATIENCE, test).await.expect("it does not end") });
}

/// Sends more than any socket holds in both directions: a thread that waits for room to write must
/// not keep the other direction from being read.
fn both_ways_at_once<C: StreamChannel>(room: &RoomClient<C>) {
    const LINES: usize = 24;
    let long = "x".repeat(1 << 20);
    let (mut requests, mut replies) = room.talk().unwrap().split();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..LINES {
                requests.send(&line(&number.to_string(), &long)).unwrap();
            }
            requests.finish().unwrap();
        });
        for number in 0..LINES {
            let came = replies.receive().unwrap().unwrap();
            assert!(came == line(&number.to_string(), &long), "{number}");
        }
    });
    assert_eq!(replies.receive().unwrap(), Some(line("room", "bye")));
}

#[test]
fn handler_sees_names_of_callers_certificate() {
    let all = Certificates::new();
    let running = Running::door(all.server());
    let native = HealthClient::new(running.native(all.client()));
    assert_eq!(name_of(native.ready()), CLIENT);
    for framing in FRAMINGS {
        let client = ThriftClient::with_framing(running.address.clone(), framing);
        let health = HealthClient::new(patient(client, all.client()));
        assert_eq!(name_of(health.ready()), CLIENT);
    }
    awaited(async {
        let server =
            AsyncServer::bind_with("tls:127.0.0.1:0", all.server()).unwrap().with_thrift_clients();
        let server = server.add_service(AsyncHealthServer(Door)).unwrap();
        let address = server.address();
        tokio::spawn(async move { server.serve().await.unwrap() });
        let native = awaited_channel(&address, all.client()).await;
        let health = AsyncHealthClient::new(native);
        assert_eq!(name_of(health.ready().await), CLIENT);
        let client = patient_task(AsyncThriftClient::new(address), all.client());
        assert_eq!(name_of(AsyncHealthClient::new(client).ready().await), CLIENT);
    });
}

/// Returns the errors of calls, of clients that block and of those that await, natively and in
/// TTHeader.
fn failures(address: &Address, tls: &Tls) -> [Error; 3] {
    let item = || Item { name: "tea".to_owned(), ..Item::default() };
    let of = |failed| match failed {
        Err(ShopBuyError::Rpc(error)) => error,
        other => panic!("{other:?}"),
    };
    let native = breezeway::Session::connect_with(address, &session(tls.clone()));
    let client = patient(ThriftClient::new(address.clone()), tls.clone());
    let blocking = of(ShopClient::new(client).buy(item(), None));
    let client = patient_task(AsyncThriftClient::new(address.clone()), tls.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let awaited = of(runtime.block_on(AsyncShopClient::new(client).buy(item(), None)));
    [native.err().expect("it is refused").into(), blocking, awaited]
}

#[test]
fn server_of_unknown_issuer_is_sent_nothing() {
    let (all, others) = (Certificates::new(), Certificates::new());
    let running = Running::new(all.server());
    for error in failures(&running.address, &others.client()) {
        assert!(!error.may_have_run(), "{error}");
        let Error::Connect(ConnectError::Handshake(HandshakeError::Tls(error))) = error else {
            panic!("{error:?}")
        };
        assert!(matches!(error, TlsError::UnknownIssuer), "{error}");
    }
}

#[test]
fn client_without_certificate_gets_certificate_required() {
    let all = Certificates::new();
    let running = Running::new(all.server());
    for _ in 0..20 {
        for error in failures(&running.address, &all.nobody()) {
            assert!(describe(&error).contains("certificate_required"), "{error}");
            // The server has read nothing of a connection that it refuses.
            assert!(!error.may_have_run(), "{error}");
        }
    }
    calls(&ShopClient::new(running.native(all.client())));
}

#[test]
fn handshake_with_silent_server_ends_at_deadline() {
    let all = Certificates::new();
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let address: Address = format!("tls:{}", mute.local_addr().unwrap()).parse().unwrap();
    let client = patient(ThriftClient::new(address), all.client());
    let options = CallOptions::new().timeout(Duration::from_millis(100));
    let begun = Instant::now();
    let failed = ShopClient::new(client).with(options).count().unwrap_err();
    let is_late = matches!(
        failed,
        Error::Connect(ConnectError::Handshake(HandshakeError::Timeout(_)))
            | Error::Call(CallError::DeadlinePassed)
    );
    assert!(is_late, "{failed}");
    assert!(begun.elapsed() < PATIENCE, "its deadline, and not the time to connect");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_calls_deadline_counts_within_tls() {
    let all = Certificates::new();
    let address = serve_awaited(all.server());
    let late = || CallOptions::new().timeout(Duration::from_secs(1));
    let client = patient_task(AsyncThriftClient::new(address.clone()), all.client());
    let shop = AsyncShopClient::new(client);
    // Connected by then.
    shop.check(1).await.unwrap();
    let failed = shop.with(late()).echo("never".to_owned()).await;
    assert!(matches!(failed, Err(Error::Call(CallError::DeadlinePassed))), "{failed:?}");
    let left = shop.with(CallOptions::new().timeout(3 * PATIENCE)).count().await.unwrap();
    assert!((1..=60_000).contains(&left), "{left}");
    let tls = all.client();
    let blocking = tokio::task::spawn_blocking(move || {
        let shop = ShopClient::new(patient(ThriftClient::new(address), tls));
        shop.check(1).unwrap();
        shop.with(late()).echo("never".to_owned())
    });
    let failed = blocking.await.unwrap();
    assert!(matches!(failed, Err(Error::Call(CallError::DeadlinePassed))), "{failed:?}");
}
