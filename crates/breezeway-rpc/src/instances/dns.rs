//! Instances by host name: by the system's resolver, or by hickory's.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use breezeway::Place;
#[cfg(feature = "dns")]
use hickory_resolver::config::{NameServerConfig, ResolverConfig};
#[cfg(feature = "dns")]
use hickory_resolver::net::runtime::TokioRuntimeProvider;
#[cfg(feature = "dns")]
use hickory_resolver::{ResolverBuilder, TokioResolver};
use tokio::net::lookup_host;
use tokio::time::{Instant, sleep_until};

use super::{Instance, Resolver};

/// The addresses of a name, an instance each, over TCP.
///
/// The name is resolved again at intervals, by the system's resolver, which does not return how
/// long a result is valid. While it fails or returns no address, the last set stays. A name does
/// not identify hosts, so none of these is reached over shared memory.
/// of hosts, so none of these is reached over shared memory.
#[derive(Debug)]
pub struct Dns {
    host: String,
    port: u16,
    every: Duration,
    due: Option<Instant>,
    last: BTreeSet<SocketAddr>,
}

impl Dns {
    /// Resolves `host` again at the interval `every`.
    pub fn new(host: &str, port: u16, every: Duration) -> Self {
        Self { host: host.to_owned(), port, every, due: None, last: BTreeSet::new() }
    }
}

/// Longest interval, so that the clock can represent the next time.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

impl Resolver for Dns {
    async fn next(&mut self) -> Vec<Instance> {
        loop {
            if let Some(due) = self.due {
                sleep_until(due).await;
            }
            let found = lookup_host((self.host.as_str(), self.port)).await;
            self.due = Some(Instant::now() + self.every.min(LONGEST));
            match found.map(BTreeSet::from_iter) {
                Ok(found) if found.is_empty() || found == self.last => {}
                Ok(found) => {
                    self.last = found;
                    return self.last.iter().map(instance).collect();
                }
                Err(error) => tracing::debug!(host = self.host, %error, "no addresses"),
            }
        }
    }
}

/// Addresses of a name like [`Dns`], by [hickory's resolver](https://docs.rs/hickory-resolver),
/// which knows how long a result is valid and is called again then, at most once a second.
#[cfg(feature = "dns")]
#[cfg_attr(docsrs, doc(cfg(feature = "dns")))]
pub struct HickoryDns {
    resolver: TokioResolver,
    host: String,
    port: u16,
    due: Option<Instant>,
    last: BTreeSet<SocketAddr>,
}

/// Error of the resolver: the configuration of the system's name servers cannot be read.
#[cfg(feature = "dns")]
#[derive(Debug, thiserror::Error)]
#[error("no name servers: {0}")]
pub struct NoNameServers(String);

#[cfg(feature = "dns")]
impl HickoryDns {
    /// Shortest interval between two queries, however short a result is valid.
    const SHORTEST: Duration = Duration::from_secs(1);

    /// Resolves `host` by the name servers of the system (`/etc/resolv.conf`) and its file of
    /// hosts.
    pub fn new(host: &str, port: u16) -> Result<Self, NoNameServers> {
        let builder = TokioResolver::builder_tokio();
        Self::with(builder.map_err(|error| NoNameServers(error.to_string()))?, host, port)
    }

    /// Resolves `host` by these name servers.
    pub fn asking(servers: &[SocketAddr], host: &str, port: u16) -> Result<Self, NoNameServers> {
        let server = |address: &SocketAddr| {
            let mut server = NameServerConfig::udp_and_tcp(address.ip());
            for connection in &mut server.connections {
                connection.port = address.port();
            }
            server
        };
        let servers = servers.iter().map(server).collect();
        let config = ResolverConfig::from_parts(None, Vec::new(), servers);
        let runtime = TokioRuntimeProvider::default();
        Self::with(TokioResolver::builder_with_config(config, runtime), host, port)
    }

    fn with(
        mut builder: ResolverBuilder<TokioRuntimeProvider>,
        host: &str,
        port: u16,
    ) -> Result<Self, NoNameServers> {
        // Cached results could only be older than requested ones.
        builder.options_mut().cache_size = 0;
        let resolver = builder.build().map_err(|error| NoNameServers(error.to_string()))?;
        Ok(Self { resolver, host: host.to_owned(), port, due: None, last: BTreeSet::new() })
    }
}

#[cfg(feature = "dns")]
impl Resolver for HickoryDns {
    async fn next(&mut self) -> Vec<Instance> {
        loop {
            if let Some(due) = self.due {
                sleep_until(due).await;
            }
            let found = self.resolver.lookup_ip(self.host.as_str()).await;
            let soonest = Instant::now() + Self::SHORTEST;
            self.due = Some(soonest);
            match found {
                Ok(found) => {
                    self.due = Some(soonest.max(found.valid_until().into()));
                    let set = found.iter().map(|ip| SocketAddr::new(ip, self.port));
                    let set = BTreeSet::from_iter(set);
                    if !set.is_empty() && set != self.last {
                        self.last = set;
                        return self.last.iter().map(instance).collect();
                    }
                }
                Err(error) => tracing::debug!(host = self.host, %error, "no addresses"),
            }
        }
    }
}

fn instance(address: &SocketAddr) -> Instance {
    Instance::new(&address.to_string(), Place::from(*address).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_gives_its_addresses_once_until_they_change() {
        let mut dns = Dns::new("127.0.0.1", 7000, Duration::from_millis(1));
        let set = dns.next().await;
        assert_eq!(set, [Instance::new("127.0.0.1:7000", "tcp:127.0.0.1:7000".parse().unwrap())]);
        let again = tokio::time::timeout(Duration::from_millis(50), dns.next()).await;
        assert!(again.is_err(), "{again:?}");
        // As if it had resolved to another address before.
        dns.last = ["127.0.0.2:7000".parse().unwrap()].into();
        assert_eq!(dns.next().await, set);
    }

    #[tokio::test]
    async fn a_name_may_be_asked_for_once_and_never_again() {
        let mut dns = Dns::new("127.0.0.1", 7000, Duration::MAX);
        assert_eq!(dns.next().await.len(), 1);
    }

    #[tokio::test]
    async fn a_name_without_an_address_gives_no_set() {
        let mut dns = Dns::new("no\0name", 1, Duration::from_millis(1));
        let set = tokio::time::timeout(Duration::from_millis(100), dns.next()).await;
        assert!(set.is_err(), "{set:?}");
    }
}
