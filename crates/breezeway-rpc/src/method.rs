//! Methods on the wire.

#[cfg(feature = "opentelemetry")]
use std::collections::BTreeMap;
#[cfg(feature = "opentelemetry")]
use std::sync::{Arc, RwLock};

use crate::error::Error;
use crate::thrift::{self, ExceptionKind, Streaming};

/// Full names of the methods of this program, by service and name.
#[cfg(feature = "opentelemetry")]
static FULL_NAMES: RwLock<BTreeMap<(&str, &str), Arc<str>>> = RwLock::new(BTreeMap::new());

/// A method of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// Name of the service in the IDL. An inherited method has the child's.
    pub service: &'static str,
    /// Name of the method in the IDL.
    pub name: &'static str,
    /// Number of the method: the hash of both names.
    pub tag: u32,
    /// True if the method has no reply of any kind.
    pub oneway: bool,
    /// Side that sends more than one message.
    pub streaming: Streaming,
}

impl Method {
    /// Returns the method whose arguments are `A`.
    pub const fn of<A: thrift::Call>(service: &'static str) -> Self {
        Self::new(service, A::METHOD, A::ONEWAY, A::STREAMING)
    }

    /// Creates a method that is known only at run time, from its names in the IDL.
    pub const fn new(
        service: &'static str,
        name: &'static str,
        oneway: bool,
        streaming: Streaming,
    ) -> Self {
        Self { service, name, tag: tag(service, name), oneway, streaming }
    }

    /// Returns the number of a method on the wire: the FNV-1a hash of `service.name` in 32 bits.
    pub const fn number(service: &str, name: &str) -> u32 {
        tag(service, name)
    }

    /// Returns the name with that of the service, as traces and metrics have it. It is made once,
    /// so that calls allocate nothing for it.
    #[cfg(feature = "opentelemetry")]
    pub(crate) fn full_name(&self) -> Arc<str> {
        let known = FULL_NAMES.read().expect("no thread panics with the lock");
        if let Some(name) = known.get(&(self.service, self.name)) {
            return name.clone();
        }
        drop(known);
        let mut known = FULL_NAMES.write().expect("no thread panics with the lock");
        let name = || format!("{}/{}", self.service, self.name).into();
        known.entry((self.service, self.name)).or_insert_with(name).clone()
    }

    /// Returns true if the method is a stream, and not a call.
    pub const fn is_stream(&self) -> bool {
        !matches!(self.streaming, Streaming::None | Streaming::Unary)
    }

    /// Fails if a stream's method is called.
    pub(crate) fn check_call(&self) -> Result<(), Error> {
        if !self.is_stream() {
            return Ok(());
        }
        let words = format!("{}.{} is a stream, and was called", self.service, self.name);
        Err(Error::new(ExceptionKind::INVALID_MESSAGE_TYPE, words))
    }

    /// Fails if a stream of a called method is opened.
    pub(crate) fn check_stream(&self) -> Result<(), Error> {
        if self.is_stream() {
            return Ok(());
        }
        let words = format!("{}.{} is called, and was opened as a stream", self.service, self.name);
        Err(Error::new(ExceptionKind::INVALID_MESSAGE_TYPE, words))
    }

    /// Checks that no two methods of a service have the same number: generated code calls this at
    /// compile time. For several services their server checks this
    /// ([`Collision`](crate::Collision)).
    ///
    /// ```compile_fail
    /// use breezeway_rpc::Method;
    /// use breezeway_rpc::thrift::Streaming;
    ///
    /// const ONE: Method =
    ///     Method { service: "S", name: "one", tag: 7, oneway: false, streaming: Streaming::None };
    /// const METHODS: [Method; 2] = [ONE, Method { name: "other", ..ONE }];
    /// const _: () = Method::check(&METHODS);
    /// ```
    ///
    /// # Panics
    ///
    /// If two methods have the same number.
    pub const fn check(methods: &[Self]) {
        let mut one = 0;
        while one < methods.len() {
            let mut other = one + 1;
            while other < methods.len() {
                assert!(
                    methods[one].tag != methods[other].tag,
                    "two methods of this service have the same number: rename one"
                );
                other += 1;
            }
            one += 1;
        }
    }
}

/// Returns the FNV-1a hash of `service.name` in 32 bits (Fowler, Noll, Vo: RFC 9923).
const fn tag(service: &str, name: &str) -> u32 {
    const OFFSET: u32 = 0x811c_9dc5;
    fnv1a(fnv1a(fnv1a(OFFSET, service.as_bytes()), b"."), name.as_bytes())
}

const fn fnv1a(mut hash: u32, bytes: &[u8]) -> u32 {
    const PRIME: u32 = 0x0100_0193;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(PRIME);
        at += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Method =
        Method { service: "S", name: "one", tag: 7, oneway: false, streaming: Streaming::None };

    #[test]
    fn hashes_are_those_of_the_rfc() {
        assert_eq!(fnv1a(0x811c_9dc5, b""), 0x811c_9dc5);
        assert_eq!(fnv1a(0x811c_9dc5, b"a"), 0xe40c_292c);
        assert_eq!(fnv1a(0x811c_9dc5, b"foobar"), 0xbf9c_f968);
    }

    #[test]
    fn methods_with_numbers_of_their_own_are_accepted() {
        Method::check(&[ONE, Method { name: "other", tag: 8, ..ONE }]);
        Method::check(&[]);
    }

    #[test]
    #[should_panic = "the same number"]
    fn methods_with_the_same_number_are_refused_wherever_they_stand() {
        Method::check(&[ONE, Method { tag: 8, ..ONE }, Method { name: "other", ..ONE }]);
    }

    #[test]
    fn a_tag_is_the_hash_of_both_names_with_a_dot() {
        assert_eq!(tag("Users", "age"), fnv1a(0x811c_9dc5, b"Users.age"));
    }
}
