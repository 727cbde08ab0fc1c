//! Clients that speak Thrift on sockets: ours against ours, in every framing, and by hand.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use breezeway::{Address, CallError, ServeError, Stopper};
use breezeway_rpc::thrift::{ApplicationException, ExceptionKind};
use breezeway_rpc::{CallOptions, Error, ReplyMetadata, Server, ThriftClient, ThriftFraming};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::shop::{Corner, Item, ShopBuyError, ShopClient, ShopServer};

/// A server of both protocols in this process, which ends with it.
pub(crate) struct Running {
    pub(crate) address: Address,
    pub(crate) looks: UnboundedReceiver<String>,
    /// Releases handlers that wait.
    pub(crate) slow: Arc<Notify>,
    stopper: Stopper,
    serving: Option<JoinHandle<Result<(), ServeError>>>,
    folder: TempDir,
}

impl Running {
    pub(crate) fn new(carrier: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = match carrier {
            "tcp" => "tcp:127.0.0.1:0".to_owned(),
            file => format!("{file}:{}/shop.sock", folder.path().display()),
        };
        let (tell, looks) = unbounded_channel();
        let server = Server::bind(&place).unwrap().with_thrift_clients();
        let corner = Corner::new(tell);
        let slow = Arc::clone(&corner.slow);
        let server = server.add_service(ShopServer(corner)).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = Some(std::thread::spawn(move || server.serve()));
        Self { address, looks, slow, stopper, serving, folder }
    }

    pub(crate) fn client(&self, framing: ThriftFraming) -> ShopClient<ThriftClient> {
        ShopClient::new(ThriftClient::with_framing(self.address.clone(), framing))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("shop.sock")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        self.serving.take().unwrap().join().unwrap().unwrap();
    }
}

pub(crate) const FRAMINGS: [ThriftFraming; 3] =
    [ThriftFraming::TtHeader, ThriftFraming::Framed, ThriftFraming::Unframed];

pub(crate) fn tea(count: i32) -> Item {
    Item { name: "tea".to_owned(), count, picture: None }
}

#[test]
fn every_kind_of_method_works_beside_native_sessions() {
    for carrier in ["shm", "unix", "tcp"] {
        for framing in FRAMINGS {
            let mut running = Running::new(carrier);
            let shop = running.client(framing);
            assert_eq!(shop.buy(tea(2), None).unwrap(), tea(2));
            assert!(matches!(shop.buy(tea(2), None), Err(ShopBuyError::Empty(_))));
            shop.look("Ada".to_owned()).unwrap();
            assert_eq!(running.looks.blocking_recv().unwrap(), "Ada");
            assert!(shop.ready().unwrap(), "inherited");
            shop.check(1).unwrap();
            let native = breezeway::Pool::connect(&running.address).unwrap();
            assert_eq!(ShopClient::new(native).buy(tea(1), None).unwrap(), tea(1));
        }
    }
}

#[test]
fn errors_have_their_kinds_in_every_framing() {
    let running = Running::new("unix");
    for framing in FRAMINGS {
        let shop = running.client(framing);
        let failed = shop.buy(tea(1), Some("forged".to_owned()));
        let Err(ShopBuyError::Rpc(Error::Application(error))) = failed else {
            panic!("{failed:?}")
        };
        assert_eq!((error.kind, &*error.message), (ExceptionKind(77), "no such coupon"));
        let failed = shop.check(-1);
        let Err(Error::Application(error)) = failed else { panic!("{failed:?}") };
        assert_eq!(error.kind, ExceptionKind::INTERNAL_ERROR);
        shop.check(1).unwrap();
    }
}

#[test]
fn business_errors_metadata_and_deadlines_travel_in_ttheader() {
    let running = Running::new("unix");
    let shop = running.client(ThriftFraming::TtHeader);
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
    assert_eq!(shop.count().unwrap(), -1);
}

#[test]
fn metadata_is_refused_where_a_framing_has_none() {
    let running = Running::new("unix");
    let shop = running.client(ThriftFraming::Framed);
    let failed = shop.with(CallOptions::new().metadata("name", "Ada")).echo("x".to_owned());
    assert!(matches!(failed, Err(Error::NoMetadata)), "{failed:?}");
}

#[test]
fn large_messages_travel_in_every_framing() {
    let running = Running::new("unix");
    for framing in FRAMINGS {
        let shop = running.client(framing);
        for size in [0, 1, 65_536, 16 << 20] {
            let text = "x".repeat(size);
            assert!(shop.echo(text.clone()).unwrap() == text, "{framing:?} {size}");
        }
    }
}

#[test]
fn fifty_threads_share_a_client() {
    let running = Running::new("unix");
    let shop = running.client(ThriftFraming::TtHeader);
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

#[test]
fn idle_client_loses_no_call_to_a_server_restart() {
    let folder = tempfile::tempdir().unwrap();
    let place: Address = format!("unix:{}/shop.sock", folder.path().display()).parse().unwrap();
    let shop = ShopClient::new(ThriftClient::new(place.clone()));
    for _ in 0..3 {
        let (tell, _looks) = unbounded_channel();
        let server = Server::bind(&place).unwrap().with_thrift_clients();
        let server = server.add_service(ShopServer(Corner::new(tell))).unwrap();
        let stopper = server.stopper();
        let serving = std::thread::spawn(move || server.serve());
        shop.check(1).unwrap();
        stopper.stop();
        serving.join().unwrap().unwrap();
        let failed = shop.check(1).unwrap_err();
        assert!(!failed.may_have_run(), "{failed}");
    }
}

#[test]
fn a_server_that_never_answers_costs_a_caller_its_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mute.sock");
    let _mute = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let shop = ShopClient::new(ThriftClient::new(Address::unix(path)));
    let failed = shop.with(CallOptions::new().timeout(Duration::from_millis(20))).count();
    assert!(matches!(failed, Err(Error::Call(CallError::DeadlinePassed))), "{failed:?}");
}

/// Returns the server's answer to these bytes before it ends the connection.
pub(crate) fn said(running: &Running, bytes: &[u8]) -> Vec<u8> {
    let mut socket = UnixStream::connect(running.path()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket.write_all(bytes).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    let mut said = Vec::new();
    socket.read_to_end(&mut said).unwrap();
    said
}

/// An exception's kind, by its bytes.
fn kind_of(said: &[u8], body: usize) -> ExceptionKind {
    let exception: ApplicationException =
        breezeway_rpc::thrift::decode_slice(&said[body..]).unwrap();
    exception.kind
}

#[test]
fn bytes_that_are_no_message_end_their_connection_and_no_other() {
    let running = Running::new("unix");
    let shop = running.client(ThriftFraming::TtHeader);
    shop.check(1).unwrap();
    let bad: [&[u8]; 7] = [
        b"GET / HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        // A frame of 2 GiB.
        b"\x7f\xff\xff\xff\x80\x01\0\x01\0\0\0\x04ping",
        // TTHeader without header information.
        b"\0\0\0\x10\x10\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0",
        // Framed Compact is none of these.
        b"\0\0\0\x10\x82\x21\x01\x04ping\0\0\0\0\0\0\0\0",
        // An unframed message: its struct has a field of no type.
        b"\x80\x01\0\x01\0\0\0\x04ping\0\0\0\x01\x05\0\0",
        // A frame that is shorter than the message's header.
        b"\0\0\0\x06\x80\x01\0\x01\0\0\0\x04",
    ];
    for bytes in bad {
        assert_eq!(said(&running, bytes), b"", "{}", bytes.escape_ascii());
    }
    shop.check(1).unwrap();
}

#[test]
fn kitexs_protobuf_is_answered_by_an_exception_of_its_own() {
    let running = Running::new("unix");
    let said = said(&running, b"\0\0\0\x12\x90\x01\0\x01\0\0\0\x04echo\0\0\0\x01\x08\x01");
    assert_eq!(said[4..23], *b"\x90\x01\0\x03\0\0\0\x07refused\0\0\0\0");
    assert_eq!(said[..4], (said.len() as u32 - 4).to_be_bytes());
    assert_eq!(said[23..26], [0x08, 9, 0x12], "the kind, and words of this length");
    assert_eq!(said[27..].len(), usize::from(said[26]));
    running.client(ThriftFraming::Framed).check(1).unwrap();
}

#[test]
fn unknown_method_or_type_is_answered_by_an_exception() {
    let running = Running::new("unix");
    let unknown = said(&running, b"\x80\x01\0\x01\0\0\0\x04ping\0\0\0\x07\0");
    assert_eq!(unknown[..16], *b"\x80\x01\0\x03\0\0\0\x04ping\0\0\0\x07");
    assert_eq!(kind_of(&unknown, 16), ExceptionKind::UNKNOWN_METHOD);
    let reply = said(&running, b"\x80\x01\0\x02\0\0\0\x05check\0\0\0\x07\0");
    assert_eq!(kind_of(&reply, 17), ExceptionKind::INVALID_MESSAGE_TYPE);
    let bad_arguments =
        said(&running, b"\x80\x01\0\x01\0\0\0\x04echo\0\0\0\x07\x0b\0\x01\0\0\0\x01\xff\0");
    assert_eq!(kind_of(&bad_arguments, 16), ExceptionKind::PROTOCOL_ERROR);
    assert_eq!(said(&running, b"\x80\x01\0\x04\0\0\0\x04ping\0\0\0\x07\0"), b"", "oneway");
}

#[test]
fn a_oneway_method_is_never_answered_also_when_it_is_called() {
    let mut running = Running::new("unix");
    let call = b"\x80\x01\0\x01\0\0\0\x04look\0\0\0\x01\x0b\0\x01\0\0\0\x03Ada\0";
    assert_eq!(said(&running, call), b"");
    assert_eq!(running.looks.blocking_recv().unwrap(), "Ada");
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let running = Running::new("unix");
    let ready = |sequence| [&b"\x80\x01\0\x01\0\0\0\x05ready\0\0\0"[..], &[sequence, 0]].concat();
    let asked: Vec<u8> = (0..100).flat_map(ready).collect();
    let answer = |sequence| {
        [&b"\x80\x01\0\x02\0\0\0\x05ready\0\0\0"[..], &[sequence], b"\x02\0\0\x01\0"].concat()
    };
    let expected: Vec<u8> = (0..100).flat_map(answer).collect();
    assert_eq!(said(&running, &asked), expected);
}

#[test]
fn without_being_asked_for_thrift_clients_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place: Address = format!("unix:{}/shop.sock", folder.path().display()).parse().unwrap();
    let (tell, _looks) = unbounded_channel();
    let server = Server::bind(&place).unwrap();
    let server = server.add_service(ShopServer(Corner::new(tell))).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || server.serve());
    assert!(ShopClient::new(ThriftClient::new(place)).check(1).is_err());
    stopper.stop();
    serving.join().unwrap().unwrap();
}
