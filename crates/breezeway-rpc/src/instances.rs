//! Calls to whichever instance of a service there is: over shared memory to those on this host,
//! over TCP to others, as they come and go.
//!
//! A [`Resolver`] says which instances there are. Each has a session, which is connected before the
//! instance gets its first call and replaced when it ends. Calls go to instances on this host while
//! one of them can take a call, else to those elsewhere; among several it is the less busy one of
//! two taken at random ([`tower::balance::p2c`]), as often as their weights say.
//!
//! An instance is on this host if its sockets' folder is seen here too ([`Locality`]). One that is
//! a server of Kitex, Volo or Apache's libraries says so ([`Instance::with_framing`]), and is
//! called on its sockets.
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

/// A task that ends with who wants it.
struct Task<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
