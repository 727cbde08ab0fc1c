//! The carrier that a run of the tests is about: `BREEZEWAY_TEST_CARRIER` is `shm` (the default),
//! `unix`, `tcp` or `tls`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

use breezeway::{Address, Carrier, ConnectError, Place};

const VARIABLE: &str = "BREEZEWAY_TEST_CARRIER";
/// First port of a range below the ports that the kernel assigns itself.
const FIRST_PORT: u16 = 10_000;

/// The carrier of this run.
pub(crate) fn carrier() -> Carrier {
    static CARRIER: OnceLock<Carrier> = OnceLock::new();
    *CARRIER.get_or_init(|| match std::env::var(VARIABLE).as_deref() {
        Err(_) | Ok("shm") => Carrier::Shm,
        Ok("unix") => Carrier::Unix,
        Ok("tcp") => Carrier::Tcp,
        Ok("tls") => {
            install_certificates();
            Carrier::Tls
        }
        Ok(other) => panic!("{VARIABLE}={other} is none of shm, unix, tcp and tls"),
    })
}

/// Returns true if messages travel on a socket.
pub(crate) fn on_socket() -> bool {
    carrier() != Carrier::Shm
}

/// Returns true if the server has a socket file.
pub(crate) fn has_socket_file() -> bool {
    !matches!(carrier(), Carrier::Tcp | Carrier::Tls)
}

/// Lets every session of this process identify itself by a certificate, and request one: the
/// processes of a run share an authority.
#[cfg(feature = "tls")]
fn install_certificates() {
    use breezeway_adversary::certificates::{Authority, Valid};

    let own = tempfile::tempdir().expect("a temporary folder");
    let key = Path::new(env!("CARGO_TARGET_TMPDIR")).join("authority.key");
    let authority = Authority::shared(&key, own.path());
    // A server is often another process than the test that knows its address.
    let hosts = [std::process::id(), std::os::unix::process::parent_id()];
    let hosts = hosts.map(|process| own_host(process).to_string());
    let names = [hosts[0].as_str(), &hosts[1], "127.0.0.1", "localhost"];
    let issued = authority.issue(&names, Valid::Now);
    let tls = breezeway::Tls::new().certificate(issued.chain, issued.key);
    let tls = tls.and_then(|tls| tls.roots(authority.root())).expect("certificates");
    assert!(tls.install_default());
}

#[cfg(not(feature = "tls"))]
fn install_certificates() {
    panic!("build these tests with the feature `tls`");
}

/// A TCP address that no other test has, in this process or another that runs now, and that the
/// kernel does not assign itself: it is known before the server starts, and stays the same when one
/// server follows the other.
pub(crate) fn own_tcp_address() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(FIRST_PORT);
    (own_host(std::process::id()), NEXT.fetch_add(1, Ordering::Relaxed)).into()
}

/// The loopback address that is a process's alone, as process ids have 22 bits.
fn own_host(process: u32) -> Ipv4Addr {
    let [_, high, middle, low] = process.to_be_bytes();
    Ipv4Addr::new(127, 64 + high % 64, middle, low)
}

/// The connections to an address that are open at the client's end, accepted or not.
pub(crate) fn connections(address: &Address) -> usize {
    match &address.places()[0] {
        Place::Tcp { host, port } | Place::Tls { host, port } => {
            let ip: Ipv4Addr = host.parse().expect("a loopback address");
            // The kernel prints the address as the number that its bytes are in memory (proc(5)).
            let remote = format!("{:08X}:{port:04X}", u32::from_ne_bytes(ip.octets()));
            let open = |line: &str| {
                let mut fields = line.split_whitespace().skip(2);
                fields.next() == Some(&remote) && fields.next() == Some("01")
            };
            lines_of("/proc/net/tcp", open)
        }
        place => {
            let path = place.path().map(|path| path.display().to_string()).unwrap_or_default();
            // The listening socket has the name as well.
            lines_of("/proc/net/unix", |line| line.ends_with(&path)).saturating_sub(1)
        }
    }
}

fn lines_of(table: impl AsRef<Path>, wanted: impl Fn(&str) -> bool) -> usize {
    let table = std::fs::read_to_string(table).unwrap_or_default();
    table.lines().filter(|line| wanted(line)).count()
}

/// Returns true for the error of an absent server: it never ran, or it ended in order.
pub(crate) fn is_absent(error: &ConnectError) -> bool {
    match carrier() {
        Carrier::Tcp | Carrier::Tls => matches!(error, ConnectError::Refused(_)),
        _ => matches!(error, ConnectError::NoSocket(_)),
    }
}

/// Returns true for the error of a dead server; over TCP the error is that of an absent one.
pub(crate) fn is_left_over(error: &ConnectError) -> bool {
    match carrier() {
        Carrier::Tcp | Carrier::Tls => matches!(error, ConnectError::Refused(_)),
        _ => matches!(error, ConnectError::NotListening(_)),
    }
}
