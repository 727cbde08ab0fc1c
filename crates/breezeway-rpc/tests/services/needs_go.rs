//! Ours with Kitex, both ways, as real processes: its own client and server of the shop, generated
//! by its own tool (`testing/peers/kitex-peers`). And with Apache's library for Go
//! (`testing/peers/apache-go`).

mod apache;
mod balancing;
mod every_framing;
mod multiplexed;
#[cfg(feature = "shmipc")]
mod shmipc;
mod streams;
#[cfg(feature = "tls")]
mod within_tls;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use breezeway::Address;
use breezeway_rpc::thrift::{ApplicationException, ExceptionKind};
use breezeway_rpc::{
    AsyncServer, CallOptions, Channel, Error, Method, ReplyMetadata, ThriftClient, ThriftFraming,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::mpsc::unbounded_channel;

use crate::shop::{
    AsyncShopServer, Corner, HealthReadyArgs, Item, ShopBuyError, ShopClient, ShopStockError,
};
use crate::thrift::Running;

/// Builds a program of `testing/peers`, and gives where it is.
fn built(folder: &str, steps: &[&[&str]]) -> PathBuf {
    many_files();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/peers").join(folder);
    let build = ["build", "-o", program.to_str().unwrap(), "."];
    for step in steps.iter().copied().chain([build.as_slice()]) {
        let mut go = Command::new("go");
        let Output { status, stderr, .. } = go.args(step).current_dir(&folder).output().unwrap();
        assert!(status.success(), "{go:?}:\n{}", String::from_utf8_lossy(&stderr));
    }
    program
}

/// Hundreds of connections at a time of several tests are more files than the 1,024 that a process
/// may usually have: as many as this one is allowed to ask for. Go's programs ask for them too.
fn many_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}

/// Returns the path of Kitex's program, built once per run of the tests.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built("kitex-peers", &[&["generate", "./..."]]))
}

/// Kitex's client tries every kind of method on the shop that is served there.
fn kitex_calls(address: &Address, framing: &str) {
    kitex_tries("call", address, &[framing]);
}

/// Kitex's client tries what is served there.
fn kitex_tries(what: &str, address: &Address, how: &[&str]) {
    // A `shm:` address's socket takes Thrift clients too.
    let place = address.to_string().replace("shm:", "unix:");
    let mut client = Command::new(program());
    all_right(client.args([what, &place]).args(how));
}

/// Runs a client, which must find nothing wrong.
fn all_right(client: &mut Command) {
    let Output { status, stdout, stderr } = client.output().unwrap();
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(status.success() && stdout == "all right\n", "{client:?}: {stdout}{stderr}");
}

const FRAMINGS: [&str; 4] = ["ttheader", "ttheaderframed", "framed", "buffered"];

#[test]
#[ignore = "needs Go"]
fn kitex_client_calls_blocking_server_in_every_framing() {
    for carrier in ["unix", "tcp", "shm"] {
        for framing in FRAMINGS {
            let mut running = Running::new(carrier);
            kitex_calls(&running.address, framing);
            assert_eq!(running.looks.blocking_recv().unwrap(), "Kitex");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Go"]
async fn kitex_client_calls_awaiting_server_in_every_framing() {
    for place in ["unix", "tcp", "shm"] {
        for framing in FRAMINGS {
            let folder = tempfile::tempdir().unwrap();
            let place = match place {
                "tcp" => "tcp:127.0.0.1:0".to_owned(),
                file => format!("{file}:{}/shop.sock", folder.path().display()),
            };
            let (tell, mut looks) = unbounded_channel();
            let server = AsyncServer::bind(&place).unwrap().with_thrift_clients();
            let server = server.add_service(AsyncShopServer(Corner::new(tell))).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let serving = tokio::spawn(server.serve());
            let called = tokio::task::spawn_blocking(move || kitex_calls(&address, framing));
            called.await.unwrap();
            assert_eq!(looks.recv().await.unwrap(), "Kitex");
            stopper.stop();
            serving.await.unwrap().unwrap();
        }
    }
}

/// The client gets this error in words, in both framings that carry it.
#[test]
#[ignore = "needs Go"]
fn kitexs_client_of_protobuf_is_refused_by_both_gears_in_words() {
    let told = |place: &str, framing: &str| {
        let client = Command::new(program()).args(["call-protobuf", place, framing]).output();
        String::from_utf8(client.unwrap().stdout).unwrap()
    };
    let refused = |place: &str| {
        for framing in ["framed", "ttheader", "ttheaderframed"] {
            let told = told(place, framing);
            assert!(told.contains("Protobuf in Kitex's framing is not served here"), "{told}");
        }
    };
    let running = Running::new("unix");
    refused(&running.address.to_string());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = format!("unix:{}/shop.sock", folder.path().display());
    runtime.block_on(async {
        let (tell, _looks) = unbounded_channel();
        let server = AsyncServer::bind(&place).unwrap().with_thrift_clients();
        let server = server.add_service(AsyncShopServer(Corner::new(tell))).unwrap();
        let stopper = server.stopper();
        let serving = tokio::spawn(server.serve());
        tokio::task::block_in_place(|| refused(&place));
        stopper.stop();
        serving.await.unwrap().unwrap();
    });
}

/// A server in Go, which ends with this.
struct Peer {
    process: Child,
    lines: BufReader<ChildStdout>,
    address: Address,
    _folder: tempfile::TempDir,
}

impl Peer {
    fn serve(carrier: &str) -> Self {
        Self::serve_what("serve", carrier)
    }

    fn serve_what(what: &str, carrier: &str) -> Self {
        Self::serve_by(program(), what, carrier, &[])
    }

    fn serve_by(program: &Path, what: &str, carrier: &str, how: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = match carrier {
            "tcp" => "tcp:127.0.0.1:0".to_owned(),
            file => format!("{file}:{}/shop.sock", folder.path().display()),
        };
        let mut server = Command::new(program);
        server.args([what, &place]).args(how);
        Self::start(server, folder)
    }

    fn start(mut server: Command, folder: tempfile::TempDir) -> Self {
        let mut process = server.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        let address = line(&mut lines).parse().unwrap();
        Self { process, lines, address, _folder: folder }
    }
}

impl Peer {
    /// Returns the next report of its handlers.
    fn told(&mut self) -> String {
        line(&mut self.lines)
    }
}

fn line(lines: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn tea(count: i32) -> Item {
    Item { name: "tea".to_owned(), count, picture: None }
}

#[test]
#[ignore = "needs Go"]
fn a_client_that_blocks_calls_kitexs_server_in_every_framing() {
    for carrier in ["unix", "tcp"] {
        for framing in [ThriftFraming::TtHeader, ThriftFraming::Framed, ThriftFraming::Unframed] {
            let mut kitex = Peer::serve(carrier);
            let shop = ShopClient::new(ThriftClient::with_framing(kitex.address.clone(), framing));
            every_kind_of_method(&shop);
            shop.look("Ada".to_owned()).unwrap();
            assert_eq!(line(&mut kitex.lines), "Ada");
            match framing {
                ThriftFraming::TtHeader => what_ttheader_carries(&shop),
                _ => what_other_framings_do_not_carry(&shop),
            }
            unknown_method(&ThriftClient::with_framing(kitex.address.clone(), framing));
        }
    }
}

fn every_kind_of_method(shop: &ShopClient<ThriftClient>) {
    assert_eq!(shop.buy(tea(2), None).unwrap(), tea(2));
    let failed = shop.buy(tea(2), None);
    let Err(ShopBuyError::Empty(empty)) = failed else { panic!("{failed:?}") };
    assert_eq!((empty.left, &*empty.message), (1, "not so many"));
    assert!(matches!(shop.stock(Vec::new()), Err(ShopStockError::Shut(_))));
    shop.stock(vec![tea(1)]).unwrap();
    assert!(shop.ready().unwrap());
    shop.check(1).unwrap();
    assert_eq!(shop.r#type(5, 3).unwrap(), 2);
    let failed = shop.buy(tea(1), Some("forged".to_owned()));
    let Err(ShopBuyError::Rpc(Error::Application(error))) = failed else { panic!("{failed:?}") };
    assert!(error.message.contains("no such coupon"), "{error}");
    for size in [0, 1, 65_536, 16 << 20] {
        let text = "x".repeat(size);
        assert!(shop.echo(text.clone()).unwrap() == text, "{size}");
    }
    let failed = shop.check(-1);
    let Err(Error::Application(error)) = failed else { panic!("{failed:?}") };
    assert_eq!(error.kind, ExceptionKind::INTERNAL_ERROR);
}

fn what_ttheader_carries(shop: &ShopClient<ThriftClient>) {
    let failed = shop.buy(tea(1), Some("expired".to_owned()));
    let Err(ShopBuyError::Rpc(Error::Business(error))) = failed else { panic!("{failed:?}") };
    assert_eq!(
        (error.status, &*error.message, &*error.extra["since"]),
        (410, "too late", "\"May\"")
    );
    let reply = ReplyMetadata::new();
    let options = CallOptions::new().metadata("name", "Ada").receive_metadata(&reply);
    shop.with(options).echo("x".to_owned()).unwrap();
    assert_eq!(reply.get("greeting").unwrap(), b"hello Ada");
    let left = shop.with(CallOptions::new().timeout(Duration::from_secs(60))).count().unwrap();
    assert!((50_000..=60_000).contains(&left), "{left}");
}

fn what_other_framings_do_not_carry(shop: &ShopClient<ThriftClient>) {
    // Kitex's server writes a reply of neither a value nor an exception.
    let failed = shop.buy(tea(1), Some("expired".to_owned()));
    assert!(matches!(failed, Err(ShopBuyError::Rpc(Error::MissingResult))), "{failed:?}");
    let failed = shop.with(CallOptions::new().metadata("name", "Ada")).echo("x".to_owned());
    assert!(matches!(failed, Err(Error::NoMetadata)), "{failed:?}");
    let reply = ReplyMetadata::new();
    shop.with(CallOptions::new().receive_metadata(&reply)).echo("x".to_owned()).unwrap();
    assert_eq!(reply.get("greeting"), None);
    let within = CallOptions::new().timeout(Duration::from_secs(60));
    assert_eq!(shop.with(within).count().unwrap(), -1);
}

fn unknown_method(client: &ThriftClient) {
    let unknown = Method { name: "unknown", ..Method::of::<HealthReadyArgs>("Shop") };
    let failed = client.call(&unknown, &HealthReadyArgs {}, &CallOptions::new());
    let Err(error) = failed else { panic!("it has no such method") };
    assert!(!error.may_have_run(), "{error}");
    // Without a service's name, Kitex looks for one that has the method.
    let Error::Application(ApplicationException { kind, .. }) = error else { panic!("{error}") };
    let kinds = [ExceptionKind::UNKNOWN_METHOD, ExceptionKind::UNKNOWN_SERVICE];
    assert!(kinds.contains(&kind), "{kind:?}");
}
