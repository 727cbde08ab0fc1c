//! Lookup of methods by number and by name.

use std::collections::HashMap;

use crate::error::Error;
use crate::method::Method;
use crate::thrift::ExceptionKind;

/// Error for two methods with the same number.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}.{} and {}.{} have the same number {:#010x}; rename one, or serve them at two addresses",
    .0.service, .0.name, .1.service, .1.name, .0.tag
)]
pub struct Collision(Method, Method);

/// Index of a method, with that of its service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) service: usize,
    pub(crate) method: usize,
}

/// The methods of all services of a server, in the order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    methods: Vec<(Method, Found)>,
    /// Methods by name, of all services.
    by_name: HashMap<&'static str, Vec<(Method, Found)>>,
    /// Names of the services, with their methods by index.
    services: Vec<(&'static str, Vec<Method>)>,
}

impl Registry {
    /// Adds the methods of one more service.
    pub(crate) fn add(&mut self, name: &'static str, methods: &[Method]) -> Result<(), Collision> {
        let service = self.services.len();
        for (index, &method) in methods.iter().enumerate() {
            let found = Found { service, method: index };
            match self.place(method.tag) {
                Ok(at) => return Err(Collision(self.methods[at].0, method)),
                Err(at) => self.methods.insert(at, (method, found)),
            }
            self.by_name.entry(method.name).or_default().push((method, found));
        }
        self.services.push((name, methods.to_vec()));
        Ok(())
    }

    /// Finds a method by its name, in the service of that name if the client sends one. The errors
    /// are Kitex's.
    pub(crate) fn find_by_name(
        &self,
        service: Option<&[u8]>,
        name: &str,
    ) -> Result<(Found, Method), Error> {
        let wanted = |found: &&(Method, Found)| {
            service.is_none_or(|service| self.services[found.1.service].0.as_bytes() == service)
        };
        let named = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let mut of_service = named.iter().filter(wanted);
        match (of_service.next(), of_service.next(), service) {
            (Some(&(method, found)), None, _) => Ok((found, method)),
            (Some(_), Some(_), _) => {
                let words = format!("several services have a method {name}: name one");
                Err(Error::new(ExceptionKind::NO_SERVICE_NAME, words))
            }
            (None, _, Some(service)) if !self.has(service) => {
                let words = format!("unknown service {}{}", service.escape_ascii(), self.served());
                Err(Error::new(ExceptionKind::UNKNOWN_SERVICE, words))
            }
            (None, ..) => {
                let words = format!("unknown method {name}{}", self.served());
                Err(Error::new(ExceptionKind::UNKNOWN_METHOD, words))
            }
        }
    }

    /// Returns the methods of each service, by their indexes.
    #[cfg(feature = "tower")]
    pub(crate) fn by_index(&self) -> Vec<Vec<Method>> {
        self.services.iter().map(|(_, methods)| methods.clone()).collect()
    }

    fn has(&self, service: &[u8]) -> bool {
        self.services.iter().any(|(name, _)| name.as_bytes() == service)
    }

    /// Returns the error for a number that no method has.
    pub(crate) fn unknown_number(&self) -> Error {
        let words = format!("no service here has such a method{}", self.served());
        Error::new(ExceptionKind::UNKNOWN_METHOD, words)
    }

    /// Returns the part of an error that names the services, which a server lists nowhere else.
    fn served(&self) -> String {
        match self.services.is_empty() {
            true => "; nothing is served here".to_owned(),
            false => {
                let names: Vec<_> = self.services.iter().map(|(name, _)| *name).collect();
                format!("; served here: {}", names.join(", "))
            }
        }
    }

    /// Returns a method that was found.
    pub(crate) fn method(&self, found: Found) -> &Method {
        &self.services[found.service].1[found.method]
    }

    /// Finds a method by its number.
    pub(crate) fn find(&self, tag: u32) -> Option<(Found, &Method)> {
        let (method, found) = &self.methods[self.place(tag).ok()?];
        Some((*found, method))
    }

    fn place(&self, tag: u32) -> Result<usize, usize> {
        self.methods.binary_search_by_key(&tag, |(method, _)| method.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn method(name: &'static str, tag: u32) -> Method {
        let streaming = crate::thrift::Streaming::None;
        Method { service: "S", name, tag, oneway: false, streaming }
    }

    #[test]
    fn methods_are_found_by_their_numbers() {
        let mut registry = Registry::default();
        registry.add("S", &[method("b", 9), method("a", 3)]).unwrap();
        registry.add("S", &[method("c", 5)]).unwrap();
        let found = |tag| registry.find(tag).map(|(found, _)| (found.service, found.method));
        assert_eq!([found(9), found(3), found(5)], [Some((0, 0)), Some((0, 1)), Some((1, 0))]);
        assert!(found(4).is_none());
    }

    #[test]
    fn method_is_found_by_service_or_unique_name() {
        let mut registry = Registry::default();
        registry.add("One", &[method("both", 1), method("one", 2)]).unwrap();
        registry.add("Two", &[method("both", 3)]).unwrap();
        let kind = |service: Option<&[u8]>, name| match registry.find_by_name(service, name) {
            Ok((found, _)) => Ok(found.service),
            Err(Error::Application(exception)) => Err(exception.kind),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(kind(None, "one"), Ok(0));
        assert_eq!(kind(Some(b"Two"), "both"), Ok(1));
        assert_eq!(kind(None, "both"), Err(ExceptionKind::NO_SERVICE_NAME));
        assert_eq!(kind(Some(b"Three"), "both"), Err(ExceptionKind::UNKNOWN_SERVICE));
        assert_eq!(kind(Some(b"Two"), "one"), Err(ExceptionKind::UNKNOWN_METHOD));
        assert_eq!(kind(None, "none"), Err(ExceptionKind::UNKNOWN_METHOD));
    }

    #[test]
    fn error_of_unknown_method_names_services() {
        let mut registry = Registry::default();
        assert!(registry.unknown_number().to_string().contains("; nothing is served here"));
        registry.add("One", &[method("both", 1)]).unwrap();
        registry.add("Two", &[method("both", 3)]).unwrap();
        let of_name = |service| registry.find_by_name(service, "none").unwrap_err();
        for error in [registry.unknown_number(), of_name(None), of_name(Some(&b"Three"[..]))] {
            assert!(error.to_string().contains("; served here: One, Two"), "{error}");
        }
    }

    #[test]
    fn numbers_that_collide_are_refused_by_their_names() {
        let mut registry = Registry::default();
        registry.add("S", &[method("a", 3)]).unwrap();
        let error = registry.add("S", &[method("b", 3)]).unwrap_err().to_string();
        assert!(error.starts_with("S.a and S.b have the same number 0x00000003"), "{error}");
    }
}
