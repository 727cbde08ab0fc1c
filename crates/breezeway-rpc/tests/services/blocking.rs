//! Handlers and callers that block, over every carrier and every channel.

use std::cell::RefCell;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use breezeway::{
    Address, CallError, ClientOptions, ErrorCode, ExclusiveSession, Pool, ServeError,
    ServerOptions, SessionOptions, Stopper,
};
use breezeway_rpc::thrift::{ApplicationException, ExceptionKind};
use breezeway_rpc::{CallOptions, Channel, Context, Error, Method, Reply, Server, Service};
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::shop::{
    Corner, Item, OutOfStock, ShopBuyError, ShopClient, ShopEchoArgs, ShopServer, ShopStockError,
};

/// A server in this process, which ends with it.
struct Running {
    address: Address,
    looks: UnboundedReceiver<String>,
    stopper: Stopper,
    serving: Option<JoinHandle<Result<(), ServeError>>>,
    _folder: TempDir,
}

impl Running {
    fn new(carrier: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = match carrier {
            "tcp" => "tcp:127.0.0.1:0".to_owned(),
            file => format!("{file}:{}/shop.sock", folder.path().display()),
        };
        let (tell, looks) = unbounded_channel();
        let server = Server::bind(&place).unwrap();
        let server = server.add_service(ShopServer(Corner::new(tell))).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = Some(std::thread::spawn(move || server.serve()));
        Self { address, looks, stopper, serving, _folder: folder }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        self.serving.take().unwrap().join().unwrap().unwrap();
    }
}

fn on_every_carrier(test: impl Fn(&mut Running)) {
    for carrier in ["shm", "unix", "tcp"] {
        test(&mut Running::new(carrier));
    }
}

fn client(running: &Running) -> ShopClient<Pool> {
    ShopClient::new(Pool::connect(&running.address).unwrap())
}

fn tea(count: i32) -> Item {
    Item { name: "tea".to_owned(), count, picture: None }
}

fn every_kind_of_method<C: Channel>(shop: &ShopClient<C>, looks: &mut UnboundedReceiver<String>) {
    assert_eq!(shop.buy(tea(2), None).unwrap(), tea(2));
    match shop.buy(tea(2), None) {
        Err(ShopBuyError::Empty(OutOfStock { message, left: 1 })) => {
            assert_eq!(message, "not so many")
        }
        other => panic!("{other:?}"),
    }
    let milk = Item { name: "milk".to_owned(), count: 1, picture: None };
    assert!(matches!(shop.buy(milk.clone(), None), Err(ShopBuyError::Shut(_))));
    shop.stock(vec![milk.clone()]).unwrap();
    assert_eq!(shop.buy(milk.clone(), None).unwrap(), milk);
    assert!(matches!(shop.stock(Vec::new()), Err(ShopStockError::Shut(_))));
    assert_eq!(shop.r#type(5, 3).unwrap(), 2);
    shop.look("Ada".to_owned()).unwrap();
    assert_eq!(looks.blocking_recv().unwrap(), "Ada");
    assert!(shop.ready().unwrap(), "inherited");
    shop.check(1).unwrap();
}

#[test]
fn every_kind_of_method_works_on_every_carrier() {
    on_every_carrier(|running| every_kind_of_method(&client(running), &mut running.looks));
}

#[test]
fn one_session_of_one_thread_carries_them_too() {
    on_every_carrier(|running| {
        let session = ExclusiveSession::connect(&running.address).unwrap();
        every_kind_of_method(&ShopClient::new(RefCell::new(session)), &mut running.looks);
    });
}

#[test]
fn a_session_that_threads_share_carries_them_too() {
    on_every_carrier(|running| {
        let channel = breezeway::Session::connect(&running.address).unwrap();
        every_kind_of_method(&ShopClient::new(channel), &mut running.looks);
    });
}

#[test]
fn undeclared_error_arrives_with_kind_and_message() {
    on_every_carrier(|running| match client(running).buy(tea(1), Some("forged".to_owned())) {
        Err(ShopBuyError::Rpc(Error::Application(ApplicationException { kind, message }))) => {
            assert_eq!((kind, &*message), (ExceptionKind(77), "no such coupon"));
        }
        other => panic!("{other:?}"),
    });
}

#[test]
fn a_handler_that_panics_fails_its_call_and_no_other() {
    on_every_carrier(|running| {
        let shop = client(running);
        match shop.check(-1) {
            Err(Error::Application(ApplicationException { kind, .. })) => {
                assert_eq!(kind, ExceptionKind::INTERNAL_ERROR);
            }
            other => panic!("{other:?}"),
        }
        shop.check(1).unwrap();
    });
}

#[test]
fn a_method_that_the_server_does_not_have_never_ran() {
    let running = Running::new("shm");
    let mut session = ExclusiveSession::connect(&running.address).unwrap();
    let error = Error::from(session.call(12345, b"").unwrap_err());
    assert!(!error.may_have_run());
    match error {
        Error::Application(exception) => assert_eq!(exception.kind, ExceptionKind::UNKNOWN_METHOD),
        other => panic!("{other}"),
    }
}

#[test]
fn undecodable_arguments_fail_the_call_only() {
    let running = Running::new("shm");
    let mut session = ExclusiveSession::connect(&running.address).unwrap();
    let check = breezeway_rpc::Method::of::<crate::shop::HealthCheckArgs>("Shop");
    for bad in [&b""[..], b"\x08\x00\x01\x00", b"\x05", &[0xff; 300]] {
        match session.call(check.tag, bad) {
            Err(CallError::Failed { code, reason, .. }) => {
                assert_eq!(code, ErrorCode::Application(7), "{reason}");
                assert!(reason.starts_with("the arguments cannot be read"), "{reason}");
            }
            other => panic!("{:?}", other.map(|reply| reply.to_vec())),
        }
    }
    session.call(check.tag, b"\x08\x00\x01\x00\x00\x00\x01\x00").unwrap();
}

#[test]
fn the_deadline_reaches_the_handler() {
    let running = Running::new("shm");
    let shop = client(&running);
    assert_eq!(shop.count().unwrap(), -1, "none");
    let options = CallOptions::new().timeout(Duration::from_secs(60));
    let left = shop.with(options).count().unwrap();
    assert!((50_000..=61_000).contains(&left), "{left}");
    assert_eq!(shop.count().unwrap(), -1, "none again");
}

#[test]
fn large_arguments_and_results_arrive_as_they_were() {
    on_every_carrier(|running| {
        let shop = client(running);
        for size in [0, 1, 103, 104, 105, 4095, 65_536, 65_537, 3 << 20] {
            let text = "é".repeat(size / 2) + if size % 2 == 1 { "x" } else { "" };
            assert_eq!(shop.echo(text.clone()).unwrap(), text);
        }
    });
}

#[test]
fn metadata_is_refused_where_it_cannot_travel() {
    let running = Running::new("shm");
    let options = || CallOptions::new().metadata("name", "Ada");
    let failed = client(&running).with(options()).echo("x".to_owned());
    assert!(matches!(failed, Err(Error::NoMetadata)), "{failed:?}");
    let shared = ShopClient::new(breezeway::Session::connect(&running.address).unwrap());
    assert_eq!(shared.with(options()).echo("x".to_owned()).unwrap(), "x");
    let long = CallOptions::new().metadata("name", vec![b'x'; 65_536]);
    let failed = shared.with(long).echo("x".to_owned());
    let too_long = matches!(failed, Err(Error::MetadataTooLong { size: 65_536, limit: 65_535 }));
    assert!(too_long, "{failed:?}");
    let much =
        (0..20).fold(CallOptions::new(), |much, _| much.metadata("name", vec![b'x'; 60_000]));
    let failed = shared.with(much).echo("x".to_owned());
    let refused = matches!(&failed, Err(Error::Call(CallError::TooMuchMetadata { .. })));
    assert!(refused, "{failed:?}");
    assert_eq!(shared.echo("x".to_owned()).unwrap(), "x");
}

/// Replies to each call more often than once: shortly or at length, and shortly again.
struct Twice;

static ECHO: [Method; 1] = [Method::of::<ShopEchoArgs>("Twice")];

impl Service for Twice {
    fn name(&self) -> &'static str {
        "Twice"
    }

    fn methods(&self) -> &'static [Method] {
        &ECHO
    }

    fn dispatch(&self, _: usize, _: &Context, call: &mut breezeway_rpc::Call) -> Result<(), Error> {
        let ShopEchoArgs { text } = call.arguments()?;
        call.reply::<ShopEchoArgs>(Ok(text))?;
        for more in ["short".to_owned(), "long".repeat(1000)] {
            call.reply::<ShopEchoArgs>(Ok(more))?;
        }
        // Its memory is the client's again.
        assert!(call.arguments::<ShopEchoArgs>().is_err_and(|error| error.may_have_run()));
        Err(Error::new(ExceptionKind::INTERNAL_ERROR, "nobody waits for this"))
    }
}

#[test]
fn first_reply_of_a_handler_is_its_last() {
    for threads in [0, 1] {
        let folder = tempfile::tempdir().unwrap();
        let place = format!("shm:{}/twice.sock", folder.path().display());
        let options = ServerOptions::new();
        let options = if threads == 0 { options } else { options.offload(threads) };
        let server = Server::bind_with(&place, options).unwrap().add_service(Twice).unwrap();
        let stopper = server.stopper();
        let serving = std::thread::spawn(move || server.serve());
        let sessions = RefCell::new(ExclusiveSession::connect(&place).unwrap());
        let shared = breezeway::Session::connect(&place).unwrap();
        for len in [1, 80, 104, 105, 100_000] {
            let (text, options) = ("x".repeat(len), CallOptions::new());
            let arguments = ShopEchoArgs { text: text.clone() };
            let alone = sessions.call(&ECHO[0], &arguments, &options).unwrap();
            assert_eq!(alone.into_result().unwrap(), text, "{len} bytes, {threads} threads");
            let shared = Channel::call(&shared, &ECHO[0], &arguments, &options).unwrap();
            assert_eq!(shared.into_result().unwrap(), text, "{len} bytes, {threads} threads");
        }
        drop((sessions, shared));
        stopper.stop();
        serving.join().unwrap().unwrap();
    }
}

#[test]
fn services_whose_numbers_collide_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = format!("shm:{}/shop.sock", folder.path().display());
    let (tell, _looks) = unbounded_channel();
    let server = Server::bind(&place).unwrap();
    let server = server.add_service(ShopServer(Corner::new(tell.clone()))).unwrap();
    let error = server.add_service(ShopServer(Corner::new(tell))).err().unwrap().to_string();
    assert!(error.contains("Shop."), "{error}");
}

#[test]
fn oneway_call_without_room_ends_at_its_deadline() {
    // Far longer than the call is to take.
    let options = SessionOptions::new().call_timeout(Some(Duration::from_secs(60)));
    let (channel, _server) = breezeway::Session::pair(&options).unwrap();
    let shop = ShopClient::new(channel);
    let within = || CallOptions::new().timeout(Duration::from_millis(20));
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let failed = loop {
            if let Err(error) = shop.with(within()).look("Ada".to_owned()) {
                break error;
            }
        };
        let _ = tell.send(failed);
    });
    let failed = told.recv_timeout(Duration::from_secs(20)).expect("it waits for the session's");
    assert!(matches!(failed, Error::Call(CallError::DeadlinePassed)), "{failed}");
}

#[test]
fn client_of_another_service_is_refused_by_name() {
    on_every_carrier(|running| {
        for (service, refused) in [(0, false), (breezeway_rpc::RPC, false), (2, true)] {
            let options = SessionOptions::new().service(service);
            match ExclusiveSession::connect_with(&running.address, &options).map(drop) {
                Err(error) if refused => {
                    let said = error.to_string();
                    assert!(said.contains("serves Breezeway RPC"), "{said}");
                    assert!(said.contains("speaks gRPC"), "{said}");
                }
                outcome => assert!(!refused && outcome.is_ok(), "{service}: {outcome:?}"),
            }
        }
    });
}

#[test]
fn wait_for_a_session_of_the_pool_is_within_the_calls_timeout() {
    const LONG: Duration = Duration::from_secs(30);
    let running = Running::new("shm");
    let session = SessionOptions::new().call_timeout(Some(LONG));
    let options = ClientOptions::new().max_sessions(1).session(session);
    let client = Pool::connect_with(&running.address, options).unwrap();
    let _taken = client.session().unwrap();
    let begun = Instant::now();
    let short = CallOptions::new().timeout(Duration::from_millis(50));
    let failed = ShopClient::new(&client).with(short).count();
    assert!(matches!(failed, Err(Error::Call(CallError::DeadlinePassed))), "{failed:?}");
    assert!(begun.elapsed() < LONG / 2, "{:?}", begun.elapsed());
}
