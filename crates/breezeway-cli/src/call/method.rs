//! The method that a command line names.

use std::collections::HashMap;

use breezeway_idl::model::{Id, Kind, Method, Schema, Service, Streaming};
use breezeway_rpc::thrift;

/// A method of a service, with its names in the IDL and on the wire.
pub(super) struct Called<'s> {
    pub(super) schema: &'s Schema,
    pub(super) method: &'s Method,
    /// Name of the method on the wire. An inherited method has the name of the service that was
    /// named.
    pub(super) wire: breezeway_rpc::Method,
}

impl<'s> Called<'s> {
    /// Finds the method `Service.method` or `Service/method`; the service may follow its file.
    pub(super) fn find(schema: &'s Schema, name: &str) -> Result<Self, String> {
        let (service, method) = name
            .rsplit_once(['.', '/'])
            .ok_or_else(|| format!("'{name}' is not a method: name it as Service.method"))?;
        let id = find_service(schema, service)?;
        let methods = methods(schema, id);
        let found = methods.iter().find(|found| found.name == method).ok_or_else(|| {
            let names: Vec<_> = methods.iter().map(|found| found.name.as_str()).collect();
            format!("service {service} has no method '{method}': it has {}", all(&names))
        })?;
        // The command calls one method, once.
        let leak = |name: &str| -> &'static str { Box::leak(name.to_owned().into_boxed_str()) };
        let service = leak(&schema.definition(id).name);
        let (name, streaming) = (leak(&found.name), streaming(found.streaming));
        let wire = breezeway_rpc::Method::new(service, name, found.oneway, streaming);
        Ok(Self { schema, method: found, wire })
    }
}

fn find_service(schema: &Schema, name: &str) -> Result<Id, String> {
    let services: Vec<_> = schema.ids().filter(|&id| service(schema, id).is_some()).collect();
    let qualified =
        |id: Id| format!("{}.{}", schema.files[id.file].stem, schema.definition(id).name);
    let found = services
        .iter()
        .rev()
        .find(|&&id| schema.definition(id).name == name || qualified(id) == name);
    found.copied().ok_or_else(|| {
        let names = services.iter().map(|&id| schema.definition(id).name.as_str());
        format!("the IDL has no service '{name}': it has {}", all(&names.collect::<Vec<_>>()))
    })
}

fn service(schema: &Schema, id: Id) -> Option<&Service> {
    match &schema.definition(id).kind {
        Kind::Service(service) => Some(service),
        _ => None,
    }
}

/// A service's own methods, and those that it inherits.
fn methods(schema: &Schema, id: Id) -> Vec<&Method> {
    let services = std::iter::successors(service(schema, id), |found| {
        found.extends.and_then(|parent| service(schema, parent))
    });
    services.flat_map(|service| &service.methods).collect()
}

/// Returns all methods of all services by their numbers on the wire, each with its name.
pub(crate) fn by_number(schema: &Schema) -> HashMap<u32, (String, &Method)> {
    let services = schema.ids().filter(|&id| service(schema, id).is_some());
    let methods = services.flat_map(|id| {
        let service = schema.definition(id).name.as_str();
        methods(schema, id).into_iter().map(move |method| {
            let number = breezeway_rpc::Method::number(service, &method.name);
            (number, (format!("{service}.{}", method.name), method))
        })
    });
    methods.collect()
}

fn streaming(streaming: Streaming) -> thrift::Streaming {
    match streaming {
        Streaming::None => thrift::Streaming::None,
        Streaming::Unary => thrift::Streaming::Unary,
        Streaming::Client => thrift::Streaming::Client,
        Streaming::Server => thrift::Streaming::Server,
        Streaming::Bidirectional => thrift::Streaming::Bidirectional,
    }
}

/// Names for a sentence.
pub(super) fn all(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
