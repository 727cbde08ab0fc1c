//! Thrift on sockets under tokio: ours against ours, and against the blocking ones.

use std::net::Shutdown;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use breezeway::Address;
use breezeway_rpc::{
    AsyncServer, AsyncThriftClient, CallOptions, Error, ReplyMetadata, ThriftClient, ThriftFraming,
};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::processes::{Process, say};
use crate::shop::{AsyncShopClient, AsyncShopServer, Corner, Item, ShopBuyError, ShopClient};

/// Time limit for events that must come.
const PATIENCE: Duration = Duration::from_secs(60);

struct Running {
    address: Address,
    looks: UnboundedReceiver<String>,
    stopper: breezeway_tokio::Stopper,
    serving: JoinHandle<()>,
    folder: TempDir,
}

impl Running {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = format!("shm:{}/shop.sock", folder.path().display());
        let (tell, looks) = unbounded_channel();
        let server = AsyncServer::bind(&place).unwrap().with_thrift_clients();
        let server = server.add_service(AsyncShopServer(Corner::new(tell))).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = tokio::spawn(async move { server.serve().await.unwrap() });
        Self { address, looks, stopper, serving, folder }
    }

    fn client(&self, framing: ThriftFraming) -> AsyncShopClient<AsyncThriftClient> {
        AsyncShopClient::new(AsyncThriftClient::with_framing(self.address.clone(), framing))
    }

    async fn told(&mut self) -> String {
        timeout(PATIENCE, self.looks.recv()).await.unwrap().unwrap()
    }

    async fn end(self) {
        self.stopper.stop();
        self.serving.await.unwrap();
    }
}

const FRAMINGS: [ThriftFraming; 3] =
    [ThriftFraming::TtHeader, ThriftFraming::Framed, ThriftFraming::Unframed];

fn tea(count: i32) -> Item {
    Item { name: "tea".to_owned(), count, picture: None }
}

#[tokio::test]
async fn every_kind_of_method_travels_in_every_framing() {
    for framing in FRAMINGS {
        let mut running = Running::new();
        let shop = running.client(framing);
        assert_eq!(shop.buy(tea(2), None).await.unwrap(), tea(2));
        assert!(matches!(shop.buy(tea(2), None).await, Err(ShopBuyError::Empty(_))));
        shop.look("Ada".to_owned()).await.unwrap();
        assert_eq!(running.told().await, "Ada");
        assert!(shop.ready().await.unwrap(), "inherited");
        let failed = shop.check(-1).await;
        assert!(matches!(failed, Err(Error::Application(_))), "{failed:?}");
        let text = "x".repeat(16 << 20);
        assert!(shop.echo(text.clone()).await.unwrap() == text);
        let address = running.address.clone();
        let blocking = tokio::task::spawn_blocking(move || {
            ShopClient::new(ThriftClient::with_framing(address, framing)).buy(tea(1), None)
        });
        assert_eq!(blocking.await.unwrap().unwrap(), tea(1));
        running.end().await;
    }
}

#[tokio::test]
async fn metadata_and_business_errors_travel_in_ttheader() {
    let running = Running::new();
    let shop = running.client(ThriftFraming::TtHeader);
    let reply = ReplyMetadata::new();
    let options = CallOptions::new().metadata("name", "Ada").receive_metadata(&reply);
    shop.with(options).echo("x".to_owned()).await.unwrap();
    assert_eq!(reply.get("greeting").unwrap(), b"hello Ada");
    match shop.buy(tea(1), Some("expired".to_owned())).await {
        Err(ShopBuyError::Rpc(Error::Business(error))) => assert_eq!(error.status, 410),
        other => panic!("{other:?}"),
    }
    running.end().await;
}

#[tokio::test]
async fn a_handler_is_dropped_at_the_clients_deadline() {
    let mut running = Running::new();
    let shop = running.client(ThriftFraming::TtHeader);
    let options = CallOptions::new().timeout(Duration::from_millis(50));
    let failed = shop.with(options).echo("never".to_owned()).await;
    assert!(matches!(failed, Err(Error::Call(breezeway::CallError::DeadlinePassed))), "{failed:?}");
    assert_eq!(running.told().await, "dropped");
    running.end().await;
}

/// Makes calls from as many tasks, each of which gets its own reply.
pub(crate) async fn five_hundred_echoes_at_a_time(shop: &Arc<AsyncShopClient<AsyncThriftClient>>) {
    let calls: Vec<_> = (0..500)
        .map(|number| {
            let shop = Arc::clone(shop);
            tokio::spawn(async move {
                let text = format!("{number}").repeat(number);
                assert_eq!(shop.echo(text.clone()).await.unwrap(), text);
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_calls_at_a_time_get_their_own_replies() {
    let running = Running::new();
    let shop = running.client(ThriftFraming::TtHeader);
    five_hundred_echoes_at_a_time(&Arc::new(shop)).await;
    running.end().await;
}

/// A call of `echo` in TTHeader.
pub(crate) fn echo(sequence: u8, text: &str) -> Vec<u8> {
    call("echo", sequence, text)
}

/// A call in TTHeader of a method that takes text.
pub(crate) fn call(method: &str, sequence: u8, text: &str) -> Vec<u8> {
    let mut message = b"\x80\x01\0\x01\0\0\0".to_vec();
    message.push(method.len() as u8);
    message.extend_from_slice(method.as_bytes());
    message.extend_from_slice(&[0, 0, 0, sequence, 0x0b, 0, 1, 0, 0, 0, text.len() as u8]);
    message.extend_from_slice(text.as_bytes());
    message.push(0);
    let mut bytes = (14 + message.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(b"\x10\0\0\0\0\0\0");
    bytes.extend_from_slice(&[sequence, 0, 1, 0, 0, 0, 0]);
    bytes.extend_from_slice(&message);
    bytes
}

#[tokio::test]
async fn a_slow_call_in_ttheader_delays_no_other_of_its_connection() {
    let running = Running::new();
    let mut socket = UnixStream::connect(running.folder.path().join("shop.sock")).await.unwrap();
    socket.write_all(&[echo(1, "never"), echo(2, "now")].concat()).await.unwrap();
    let mut start = [0; 12];
    timeout(PATIENCE, socket.read_exact(&mut start)).await.unwrap().unwrap();
    assert_eq!(start[4..6], [0x10, 0]);
    assert_eq!(start[11], 2, "the second call's number");
    running.end().await;
}

#[tokio::test]
async fn a_connection_whose_replies_cannot_be_written_ends() {
    let running = Running::new();
    let mut socket = UnixStream::connect(running.folder.path().join("shop.sock")).await.unwrap();
    socket.write_all(&echo(1, "never")).await.unwrap();
    let socket = socket.into_std().unwrap();
    // From here on the server's writes fail, and its reads do not.
    socket.shutdown(Shutdown::Read).unwrap();
    let mut socket = UnixStream::from_std(socket).unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let written = timeout(PATIENCE, socket.write_all(&echo(2, "heard?"))).await;
        if written.expect("the server reads no further, and goes on").is_err() {
            break;
        }
        assert!(Instant::now() < deadline, "the server reads on");
        tokio::task::yield_now().await;
    }
    let other = running.client(ThriftFraming::TtHeader);
    assert_eq!(other.echo("well served".to_owned()).await.unwrap(), "well served");
    running.end().await;
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_not_read_from_without_end() {
    let running = Running::new();
    let mut socket = UnixStream::connect(running.folder.path().join("shop.sock")).await.unwrap();
    let asked = echo(1, &"x".repeat(200)).repeat(1000);
    let begun = Instant::now();
    let mut sent = 0;
    // The bytes that the server reads are bounded; then the socket fills up.
    while let Ok(wrote) = timeout(Duration::from_millis(500), socket.write(&asked)).await {
        sent += wrote.unwrap();
        assert!(sent < 64 << 20, "the server still reads after {:?}", begun.elapsed());
    }
    let other = running.client(ThriftFraming::TtHeader);
    assert_eq!(other.echo("well served".to_owned()).await.unwrap(), "well served");
    drop(socket);
    running.end().await;
}

/// Role: connects to a host with a name that never resolves.
pub(crate) fn seek(address: &Address) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = AsyncThriftClient::new(address.clone());
        let shop = AsyncShopClient::new(client.connect_timeout(Duration::from_millis(50)));
        match timeout(PATIENCE, shop.ready()).await {
            Ok(Err(Error::Connecting(_, error))) => say(error.kind()),
            outcome => say(format!("{outcome:?}")),
        }
    });
    // The resolution continues, and the end of the runtime would wait for it.
    std::process::exit(0);
}

mod needs_user_namespaces {
    use super::*;

    /// The file that is read first has no content, and does not end.
    const SILENT_HOSTS: &str = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";

    #[test]
    #[ignore = "needs user namespaces: `make needs` runs it where there are"]
    fn stalled_name_lookup_times_out_with_the_connection() {
        let folder = tempfile::tempdir().unwrap();
        let hosts = folder.path().join("hosts");
        assert!(Command::new("mkfifo").arg(&hosts).status().unwrap().success());
        let mut apart = Command::new("unshare");
        apart.args(["--user", "--map-root-user", "--mount", "sh", "-c", SILENT_HOSTS]);
        apart.arg(hosts).arg(std::env::current_exe().unwrap());
        let mut seeking = Process::start_by(apart, "seeker", &"tcp:shop.test:1".parse().unwrap());
        assert_eq!(seeking.hear(), "timed out");
    }
}
