//! Instances of a host name, resolved by the test's own name server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use breezeway::Place;
use breezeway_rpc::governance::ServiceChannel;
use breezeway_rpc::instances::{HickoryDns, Instance, InstanceOptions, Instances, Resolver};
use breezeway_rpc::{AsyncServer, CallOptions, Route};
use tokio::net::UdpSocket;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;

use crate::shop::{AsyncShopClient, AsyncShopServer, Corner};

/// Time limit for events that must come.
const PATIENCE: Duration = Duration::from_secs(30);
const NAME: &str = "shop.test.";
/// Query type for IPv4 addresses.
const A: u16 = 1;

/// Answers of a name server for [`NAME`].
#[derive(Clone)]
enum Says {
    /// These, for a second.
    Addresses(Vec<Ipv4Addr>),
    /// A failure.
    Failure,
}

/// A name server, which ends with the runtime.
struct Names {
    address: SocketAddr,
    says: Arc<Mutex<(Says, usize)>>,
}

impl Names {
    async fn start(says: Says) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let says = Arc::new(Mutex::new((says, 0)));
        let shared = Arc::clone(&says);
        tokio::spawn(async move {
            let mut question = [0; 512];
            loop {
                let (len, asker) = socket.recv_from(&mut question).await.unwrap();
                let answer = {
                    let mut says = shared.lock().unwrap();
                    says.1 += 1;
                    answer(&question[..len], &says.0)
                };
                socket.send_to(&answer, asker).await.unwrap();
            }
        });
        Self { address, says }
    }

    fn say(&self, says: Says) {
        *self.says.lock().unwrap() = (says, 0);
    }

    /// Returns the number of queries since the answer was set.
    fn asked(&self) -> usize {
        self.says.lock().unwrap().1
    }

    fn resolver(&self, port: u16) -> HickoryDns {
        HickoryDns::asking(&[self.address], NAME, port).unwrap()
    }
}

/// An answer to a question (RFC 1035, 4.1).
fn answer(question: &[u8], says: &Says) -> Vec<u8> {
    let name_end = 12 + question[12..].iter().position(|byte| *byte == 0).unwrap() + 1;
    let asked = &question[12..name_end + 4];
    let kind = u16::from_be_bytes([asked[asked.len() - 4], asked[asked.len() - 3]]);
    let (code, addresses) = match says {
        Says::Addresses(addresses) if kind == A => (0, &addresses[..]),
        Says::Addresses(_) => (0, &[][..]),
        Says::Failure => (2, &[][..]),
    };
    let mut answer = question[..2].to_vec();
    answer.extend([0x81, 0x80 | code, 0, 1, 0, addresses.len() as u8, 0, 0, 0, 0]);
    answer.extend(asked);
    for address in addresses {
        // The name of the question, an address, of the internet, for a second, four bytes.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4]);
        answer.extend(address.octets());
    }
    answer
}

fn addresses(last: impl IntoIterator<Item = u8>) -> Says {
    Says::Addresses(last.into_iter().map(|last| Ipv4Addr::new(127, 0, 0, last)).collect())
}

async fn next(dns: &mut HickoryDns) -> Vec<String> {
    let set = timeout(PATIENCE, dns.next()).await.expect("a set");
    set.iter().map(|instance: &Instance| instance.address().to_string()).collect()
}

#[tokio::test]
async fn name_is_resolved_again_after_its_addresses_expire() {
    let names = Names::start(addresses([1, 2])).await;
    let mut dns = names.resolver(7);
    assert_eq!(next(&mut dns).await, ["tcp:127.0.0.1:7", "tcp:127.0.0.2:7"]);
    names.say(addresses([2, 3]));
    assert_eq!(next(&mut dns).await, ["tcp:127.0.0.2:7", "tcp:127.0.0.3:7"]);
    // One question for each kind of address.
    assert!(names.asked() <= 2, "{}", names.asked());
}

#[tokio::test]
async fn last_addresses_stay_while_name_server_fails() {
    let names = Names::start(addresses([1])).await;
    let mut dns = names.resolver(7);
    assert_eq!(next(&mut dns).await, ["tcp:127.0.0.1:7"]);
    for nothing in [Says::Failure, addresses([])] {
        names.say(nothing);
        let mut set = std::pin::pin!(dns.next());
        while names.asked() == 0 {
            let waiting = timeout(Duration::from_millis(10), &mut set).await;
            assert!(waiting.is_err(), "{waiting:?}");
        }
    }
    names.say(addresses([2]));
    assert_eq!(next(&mut dns).await, ["tcp:127.0.0.2:7"]);
}

/// Servers at both addresses, at one port, which it gives.
fn serve_at(both: [IpAddr; 2]) -> u16 {
    let bind = |ip, port| AsyncServer::bind(Place::from(SocketAddr::new(ip, port)));
    // Another process may have a port of the first address at the second.
    for _ in 0..100 {
        let first = bind(both[0], 0).unwrap();
        let Place::Tcp { port, .. } = first.address().places()[0] else { panic!() };
        let Ok(second) = bind(both[1], port) else { continue };
        for server in [first, second] {
            let (tell, _looks) = unbounded_channel();
            let server = server.add_service(AsyncShopServer(Corner::new(tell))).unwrap();
            tokio::spawn(async move { server.serve().await.unwrap() });
        }
        return port;
    }
    panic!("no port is free at both addresses");
}

#[tokio::test]
async fn calls_follow_a_name_to_another_address() {
    let port = serve_at([1, 2].map(|last| IpAddr::from([127, 0, 0, last])));
    let names = Names::start(addresses([1])).await;
    let instances = Instances::new(names.resolver(port), InstanceOptions::new());
    let shop = AsyncShopClient::new(ServiceChannel::new(instances));
    let called = async |last: u8| {
        let route = Route::new();
        let name = format!("127.0.0.{last}:{port}");
        while route.instance().as_deref() != Some(&*name) {
            let options = CallOptions::new().timeout(PATIENCE).receive_route(&route);
            assert_eq!(shop.with(options).echo("x".to_owned()).await.unwrap(), "x");
        }
    };
    timeout(PATIENCE, called(1)).await.unwrap();
    names.say(addresses([2]));
    timeout(PATIENCE, called(2)).await.unwrap();
}
