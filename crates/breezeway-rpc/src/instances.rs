//! Calls to any instance of a service: over shared memory to those on this host, over TCP to
//! others, while instances come and go.
//!
//! A [`Resolver`] provides the set of instances. Each has a session, which is connected before the
//! instance gets its first call and replaced when it ends. Calls go to instances on this host while
//! one of them can take a call, else to those elsewhere; among several the less busy one of two
//! random ones is chosen ([`tower::balance::p2c`]), in proportion to their weights.
//!
//! An instance is on this host if its sockets' folder is visible here too ([`Locality`]). A server
//! of Kitex, Volo or Apache's libraries is marked by [`Instance::with_framing`], and called on its
//! sockets.
//!
//! ```
//! use breezeway_rpc::governance::ServiceChannel;
//! use breezeway_rpc::instances::{Fixed, Instance, InstanceOptions, Instances};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().display();
//! let set = vec![
//!     Instance::here("one", format!("shm:{path}/users.sock").parse()?)?,
//!     Instance::new("two", "tcp:10.0.0.2:7000".parse()?),
//! ];
//! let instances = Instances::new(Fixed::new(set), InstanceOptions::new());
//! // For a generated client: `AsyncUsersClient::new(channel)`.
//! let channel = ServiceChannel::new(instances);
//! # Ok(())
//! # }
//! ```

mod balancing;
mod discovery;
mod dns;
mod instance;
mod line;
mod locality;
mod reach;
mod resolver;
mod weights;

pub use balancing::{InstanceOptions, Instances};
pub use dns::Dns;
#[cfg(feature = "dns")]
pub use dns::{HickoryDns, NoNameServers};
pub use instance::Instance;
pub use locality::{Locality, NoLocality};
pub use reach::InstanceService;
pub use resolver::{Fixed, Resolver, Watched};

/// A task that is aborted when its owner drops it.
struct Task<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
