//! An instance of a service, as registered.

use std::io;
use std::sync::Arc;

use breezeway::{Address, Place};

use super::Locality;
use crate::kitex::ThriftFraming;

/// A server of a service: its name, its address, and its host, if known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    name: Arc<str>,
    address: Address,
    locality: Option<Locality>,
    weight: u32,
    framing: Option<ThriftFraming>,
}

/// Way to an instance from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By the socket files of this host.
    Here(Address),
    /// By the network.
    Elsewhere(Address),
}

impl Instance {
    /// Creates an instance on an unknown host: its socket files are not used, as files of the same
    /// name on this host may belong to another instance. Instances are identified by their names.
    pub fn new(name: &str, address: Address) -> Self {
        Self { name: name.into(), address, locality: None, weight: 1, framing: None }
    }

    /// Creates an instance on this host. The folder of its sockets must exist.
    pub fn here(name: &str, address: Address) -> io::Result<Self> {
        let locality = Locality::of(&address)?;
        Ok(Self::new(name, address).with_locality(locality))
    }

    /// Sets the locality of the instance's host.
    pub fn with_locality(mut self, locality: Locality) -> Self {
        self.locality = Some(locality);
        self
    }

    /// Sets the weight, which is the number of its calls in relation to other instances: one of
    /// weight 3 gets three times as many as one of weight 1, the default. 0 gets no calls.
    ///
    /// Relations are kept to 1 in 64: beside one of weight 1000, one of weight 1 counts as 16.
    pub fn with_weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// Marks a server without sessions, which uses Thrift on its sockets: one of Kitex, Volo or
    /// Apache's libraries, with this framing of messages.
    pub fn with_framing(mut self, framing: ThriftFraming) -> Self {
        self.framing = Some(framing);
        self
    }

    /// Returns the name, which identifies the instance.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the address it listens at.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the weight, its share of the calls in relation to the weights of others.
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// Returns the framing of its messages, if it has no sessions.
    pub fn framing(&self) -> Option<ThriftFraming> {
        self.framing
    }

    /// Returns the locality of its host, if known.
    pub fn locality(&self) -> Option<&Locality> {
        self.locality.as_ref()
    }

    /// Returns true if the way to it may change without a change of the instance.
    pub(super) fn is_on_this_host(&self) -> bool {
        self.locality.as_ref().is_some_and(Locality::is_on_this_host)
    }

    /// Returns the way to reach it now, if there is one.
    pub(super) fn way(&self) -> Option<Way> {
        let is_here = |place: &&Place| {
            place.path().zip(self.locality.as_ref()).is_some_and(|(path, at)| at.is_seen_at(path))
        };
        if let Some(address) = of(self.address.places().iter().filter(is_here)) {
            return Some(Way::Here(address));
        }
        let by_network = |place: &&Place| place.path().is_none();
        of(self.address.places().iter().filter(by_network)).map(Way::Elsewhere)
    }
}

/// Returns the address of these places, if there are some.
fn of<'p>(places: impl Iterator<Item = &'p Place>) -> Option<Address> {
    let places: Vec<_> = places.cloned().collect();
    (!places.is_empty()).then(|| places.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_used_only_in_a_known_local_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        let files = format!("shm:{path}/a,unix:{path}/b");
        let address: Address = format!("{files},tcp:other:1").parse().unwrap();
        let network = Some(Way::Elsewhere("tcp:other:1".parse().unwrap()));
        assert_eq!(Instance::new("a", address.clone()).way(), network);
        let instance = Instance::here("a", address).unwrap();
        assert_eq!(instance.way(), Some(Way::Here(files.parse().unwrap())));
        drop(folder);
        assert_eq!(instance.way(), network);
    }

    #[test]
    fn instance_with_files_only_is_unreachable_remotely() {
        assert_eq!(Instance::new("a", Address::shm("/run/a")).way(), None);
    }
}
