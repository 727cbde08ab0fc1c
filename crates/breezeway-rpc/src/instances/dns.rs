//! Instances that the system's resolver of names knows.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use breezeway::Place;
use tokio::net::lookup_host;
use tokio::time::{Instant, sleep_until};

use super::{Instance, Resolver};

/// The addresses of a name, an instance each, over TCP.
///
/// The name is asked for again from time to time, by the system's resolver, which tells nobody how
/// long an answer is good. While it fails or gives nothing, the last set stays. A name says nothing
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
    /// The addresses of `host`, asked for again so often.
    pub fn new(host: &str, port: u16, every: Duration) -> Self {
        Self { host: host.to_owned(), port, every, due: None, last: BTreeSet::new() }
    }
}

impl Resolver for Dns {
    async fn next(&mut self) -> Vec<Instance> {
        loop {
            if let Some(due) = self.due {
                sleep_until(due).await;
            }
            let found = lookup_host((self.host.as_str(), self.port)).await;
            self.due = Some(Instant::now() + self.every);
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
        // As if it had been another address before.
        dns.last = ["127.0.0.2:7000".parse().unwrap()].into();
        assert_eq!(dns.next().await, set);
    }

    #[tokio::test]
    async fn a_name_without_an_address_gives_no_set() {
        let mut dns = Dns::new("no\0name", 1, Duration::from_millis(1));
        let set = tokio::time::timeout(Duration::from_millis(100), dns.next()).await;
        assert!(set.is_err(), "{set:?}");
    }
}
