//! Discovery of [Breezeway](https://docs.rs/breezeway-rpc) services by etcd.
//!
//! A server registers its [`Instance`](breezeway_rpc::instances::Instance) under a lease: all its
//! addresses, its weight, its host, and the folder of its sockets. A client watches, so that
//! instances on its own host are reached over shared memory and others over TCP, as they come and
//! go. An instance is gone once it deregisters, or once its lease ends after it was killed.
//!
//! Nothing fails while etcd does not answer: clients keep to the last set, and servers register
//! anew when it is back.
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

use std::time::Duration;

use breezeway_rpc::instances::Instance;
use etcd_client::{Client, ConnectOptions};

pub use error::Error;
pub use registration::{Lease, Registration};
pub use watching::Watching;

/// How often an idle connection to etcd is tried, and how long etcd may take to answer that. etcd
/// refuses clients that do it more often than every five seconds.
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

    /// The registry by a client that the program has made, with TLS or a user as it likes. It wants
    /// keep-alives, or may never learn that etcd is gone, and to require a leader, or may go on
    /// asking one that is cut off from the others.
    pub fn new(client: Client) -> Self {
        Self { client, prefix: "breezeway/".to_owned() }
    }

    /// Keys begin with this, instead of with `breezeway/`.
    pub fn with_prefix(mut self, prefix: &str) -> Self {
        prefix.clone_into(&mut self.prefix);
        self
    }

    /// Registers an instance of a service, and keeps its lease alive. Its name tells it from others
    /// of the service: one that registers under the same name replaces it.
    pub async fn register(
        &self,
        service: &str,
        instance: &Instance,
        lease: Lease,
    ) -> Result<Registration, Error> {
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

/// A task that ends with who wants it.
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
