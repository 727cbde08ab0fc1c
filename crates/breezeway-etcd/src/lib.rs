//! Discovery of [Breezeway](https://docs.rs/breezeway-rpc) services by etcd.
//!
//! A server registers its [`Instance`] under a lease: all its
//! addresses, its weight, its host, and the folder of its sockets. A client watches, so that
//! instances on its own host are reached over shared memory and others over TCP, as they come and
//! go. An instance is gone once it deregisters, or once its lease ends after it was killed.
//!
//! Nothing fails while etcd does not answer: clients keep to the last set, and servers register
//! again when it is back.
//!
//! ```no_run
//! use breezeway_etcd::{Etcd, Lease};
//! use breezeway_rpc::instances::{Instance, InstanceOptions, Instances};
//!
//! # async fn run(address: breezeway::Address) -> Result<(), Box<dyn std::error::Error>> {
//! let etcd = Etcd::connect(&["http://10.0.0.5:2379"]).await?;
//! // A server, once it listens:
//! let instance = Instance::here("users-1", address)?.with_weight(3);
//! let registration = etcd.register("users", &instance, Lease::default()).await?;
//! // A client:
//! let instances = Instances::new(etcd.watch("users"), InstanceOptions::new());
//! // The server, before it stops:
//! registration.deregister().await?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod error;
mod record;
mod registration;
mod watching;

use std::net::IpAddr;
use std::time::Duration;

use breezeway::{Address, Place};
use breezeway_rpc::instances::Instance;
use etcd_client::{Client, ConnectOptions};

pub use error::Error;
pub use registration::{Lease, Registration};
pub use watching::Watching;

/// Interval at which an idle connection to etcd is tested, and the time limit of the answer. etcd
/// refuses clients that test more often than every five seconds.
const ALIVE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(5));

/// A registry of instances in etcd. Clones share the connection.
#[derive(Clone)]
pub struct Etcd {
    client: Client,
    prefix: String,
}

impl Etcd {
    /// The registry that these servers of one etcd keep, such as `http://10.0.0.5:2379`. It need
    /// not answer yet.
    pub async fn connect(endpoints: &[&str]) -> Result<Self, Error> {
        let options =
            ConnectOptions::new().with_keep_alive(ALIVE.0, ALIVE.1).with_require_leader(true);
        Ok(Self::new(Client::connect(endpoints, Some(options)).await?))
    }

    /// Returns the registry with a client of the program's, which may use TLS or a user. The client
    /// should set keep-alives, as it may otherwise never notice that etcd is gone, and should
    /// require a leader, as it may otherwise keep using a member that is cut off from the others.
    pub fn new(client: Client) -> Self {
        Self { client, prefix: "breezeway/".to_owned() }
    }

    /// Keys begin with this, instead of with `breezeway/`.
    pub fn with_prefix(mut self, prefix: &str) -> Self {
        prefix.clone_into(&mut self.prefix);
        self
    }

    /// Registers an instance of a service, and keeps its lease alive. Its name distinguishes it
    /// from others of the service: one that registers under the same name replaces it.
    ///
    /// The address has to be the one that others reach: one without a host or a port, as `0.0.0.0`
    /// and port 0 are, is refused. `127.0.0.1` is not, as all clients may be on this host.
    pub async fn register(
        &self,
        service: &str,
        instance: &Instance,
        lease: Lease,
    ) -> Result<Registration, Error> {
        check_name(service)?;
        check_name(instance.name())?;
        check_address(instance.address())?;
        let key = self.folder(service) + instance.name();
        Registration::new(self.client.clone(), key, record::write(instance), lease).await
    }

    /// Watches the instances of a service, from within a runtime of tokio.
    ///
    /// # Panics
    ///
    /// Outside of one.
    pub fn watch(&self, service: &str) -> Watching {
        Watching::new(self.client.clone(), self.folder(service))
    }

    fn folder(&self, service: &str) -> String {
        format!("{}{service}/", self.prefix)
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    if name.is_empty() || name.contains('/') {
        return Err(Error::Name(name.to_owned()));
    }
    Ok(())
}

fn check_address(address: &Address) -> Result<(), Error> {
    let lacks_something = |place: &&Place| match place {
        Place::Tcp { host, port } | Place::Tls { host, port } => *port == 0 || is_no_host(host),
        _ => false,
    };
    match address.places().iter().find(lacks_something) {
        Some(place) => Err(Error::Unreachable(place.clone())),
        None => Ok(()),
    }
}

/// Returns true if the host stands for all addresses of its reader, in any notation: resolvers also
/// take `0` and `0x0.0` for `0.0.0.0` (inet_aton(3)).
fn is_no_host(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(host) => host.to_canonical().is_unspecified(),
        Err(_) => {
            let is_zero = |part: &str| {
                let digits = part.strip_prefix("0x").or(part.strip_prefix("0X"));
                let digits = digits.unwrap_or(part);
                !digits.is_empty() && digits.bytes().all(|digit| digit == b'0')
            };
            host.split('.').all(is_zero)
        }
    }
}

/// A task that ends with its owner.
struct Task(tokio::task::JoinHandle<()>);

impl Task {
    /// Ends it, and waits until it has ended.
    async fn end(mut self) {
        self.0.abort();
        // That it was cancelled.
        let _ = (&mut self.0).await;
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_without_host_or_port_is_refused_in_any_position() {
        let check = |address: &str| check_address(&address.parse().unwrap());
        let hosts = ["0.0.0.0", "[::]", "0", "0x0", "00.0", "[::ffff:0.0.0.0]"];
        let wrong = hosts.map(|host| format!("tcp:{host}:7"));
        let wrong = wrong.into_iter().chain(["tls:0.0.0.0:7", "tcp:10.0.0.7:0"].map(Into::into));
        for wrong in wrong {
            let error = check(&format!("shm:/run/a,{wrong}")).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{wrong} names no host and port")), "{error}");
        }
        for right in [
            "tcp:10.0.0.7:7",
            "tls:a.example:7",
            "tcp:0.example:7",
            "tcp:127.0.0.1:7",
            "tcp:[::ffff:10.0.0.7]:7",
            "unix:/run/a",
        ] {
            check(right).unwrap();
        }
    }

    #[test]
    fn a_name_that_would_be_another_folder_is_refused() {
        for wrong in ["", "/", "users/1"] {
            assert!(matches!(check_name(wrong), Err(Error::Name(name)) if name == wrong));
        }
        check_name("users-1.example:7").unwrap();
    }
}
