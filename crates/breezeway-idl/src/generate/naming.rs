//! Assignment of Rust names and modules.

use std::collections::HashMap;

use crate::model::{Definition, Id, Kind, Method, Schema, Service, Services};
use crate::names::{Taken, escape, pascal, screaming, snake};

/// Names that modules may not have, because generated code uses them.
const RESERVED_MODULES: [&str; 6] =
    ["alloc", "breezeway_rpc", "breezeway_thrift", "core", "fmt", "std"];

/// A Rust module: the files of one namespace.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// Path from the top of the generated text.
    pub(crate) path: Vec<String>,
    pub(crate) files: Vec<usize>,
    pub(crate) children: Vec<Module>,
    /// Names of its types, traits, constants and functions.
    pub(crate) taken: Taken,
}

/// The types of one struct.
#[derive(Clone, Debug)]
pub(crate) struct StructNames {
    pub(crate) owned: String,
    pub(crate) view: String,
    pub(crate) writer: String,
}

/// Names of a method's arguments and reply.
#[derive(Debug)]
pub(crate) struct MethodNames {
    pub(crate) arguments: StructNames,
    pub(crate) reply: StructNames,
    /// Error type of a call, if the method throws and services are for `breezeway-rpc`.
    pub(crate) error: Option<String>,
    /// Stream types of a client, if the method streams and services are for `breezeway-rpc`.
    pub(crate) streams: Option<StreamNames>,
    /// Type by which a handler writes its reply in place, if there is a result and services are
    /// served in place.
    pub(crate) space: Option<String>,
}

/// A client's end of a stream.
#[derive(Debug)]
pub(crate) struct StreamNames {
    pub(crate) blocking: String,
    pub(crate) awaiting: String,
}

/// Names of a service, if services are for `breezeway-rpc`.
#[derive(Debug)]
pub(crate) struct ServiceNames {
    pub(crate) blocking: ServiceTypes,
    pub(crate) awaiting: ServiceTypes,
    /// Names for in-place serving, if requested: by the blocking client's calls.
    pub(crate) in_place: Option<ServiceTypes>,
    /// Name of the list of its methods.
    pub(crate) methods: String,
}

/// Types of a service that blocks, is awaited, or is served in place.
#[derive(Debug)]
pub(crate) struct ServiceTypes {
    /// Name of the trait.
    pub(crate) service: String,
    pub(crate) server: String,
    pub(crate) client: String,
}

/// All names.
#[derive(Debug, Default)]
pub(crate) struct Naming {
    pub(crate) root: Module,
    /// Modules of other crates, which are not written.
    external: Module,
    /// Names of types, traits, constants.
    pub(crate) names: HashMap<Id, String>,
    pub(crate) structs: HashMap<Id, StructNames>,
    /// Views of typedefs.
    pub(crate) view_aliases: HashMap<Id, String>,
    pub(crate) services: HashMap<Id, ServiceNames>,
    /// Names of each service's methods, in order.
    pub(crate) methods: HashMap<Id, Vec<MethodNames>>,
    /// Module path of each file.
    pub(crate) paths: Vec<Vec<String>>,
}

impl Module {
    /// Returns its own name.
    pub(crate) fn name(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    fn descend(&mut self, path: &[String]) -> &mut Self {
        let Some((first, rest)) = path.split_first() else { return self };
        let known = self.children.iter().position(|child| child.name() == first);
        let index = known.unwrap_or_else(|| {
            let path = [self.path.as_slice(), std::slice::from_ref(first)].concat();
            self.children.push(Self { path, ..Self::default() });
            self.children.len() - 1
        });
        self.children[index].descend(rest)
    }
}

impl Naming {
    pub(crate) fn new(schema: &Schema) -> Self {
        let mut naming = Self::default();
        for (index, file) in schema.files.iter().enumerate() {
            let path: Vec<_> = file.module.iter().map(|name| module_name(name)).collect();
            naming.paths.push(path);
            naming.module(schema, index).files.push(index);
        }
        // Names in the IDL are kept; derived names make way if needed.
        for id in schema.ids() {
            naming.name_definition(schema, id);
        }
        for id in schema.ids() {
            naming.name_derived(schema, id);
        }
        naming
    }

    fn name_definition(&mut self, schema: &Schema, id: Id) {
        let definition = schema.definition(id);
        let wanted = match &definition.kind {
            Kind::Constant(ty, _) if super::constant::is_function(ty) => snake(&definition.name),
            Kind::Constant(..) => screaming(&definition.name),
            _ => pascal(&definition.name),
        };
        let name = self.give(schema, id.file, &wanted);
        self.names.insert(id, name);
    }

    fn name_derived(&mut self, schema: &Schema, id: Id) {
        let definition = schema.definition(id);
        match &definition.kind {
            Kind::Struct(_) => {
                let owned = self.names[&id].clone();
                let names = self.derived(schema, id.file, &pascal(&definition.name), owned);
                self.structs.insert(id, names);
            }
            Kind::Typedef(_) => {
                let view = self.give(schema, id.file, &format!("{}View", pascal(&definition.name)));
                self.view_aliases.insert(id, view);
            }
            Kind::Service(service) => self.name_service(schema, id, definition, service),
            Kind::Constant(..) | Kind::Enum(_) => {}
        }
    }

    fn name_service(
        &mut self,
        schema: &Schema,
        id: Id,
        definition: &Definition,
        service: &Service,
    ) {
        let base = pascal(&definition.name);
        let names = service.methods.iter();
        let names = names.map(|method| self.method_names(schema, id.file, &base, method));
        let names = names.collect();
        self.methods.insert(id, names);
        if schema.services != Services::Trait {
            let service = self.names[&id].clone();
            let names = self.service_names(schema, id.file, &definition.name, service);
            self.services.insert(id, names);
        }
    }

    fn service_names(
        &mut self,
        schema: &Schema,
        file: usize,
        name: &str,
        service: String,
    ) -> ServiceNames {
        let base = pascal(name);
        let mut give = |name: String| self.give(schema, file, &name);
        let blocking = ServiceTypes {
            service,
            server: give(format!("{base}Server")),
            client: give(format!("{base}Client")),
        };
        let awaiting = ServiceTypes {
            service: give(format!("Async{base}")),
            server: give(format!("Async{base}Server")),
            client: give(format!("Async{base}Client")),
        };
        let in_place = schema.in_place.then(|| ServiceTypes {
            service: give(format!("InPlace{base}")),
            server: give(format!("InPlace{base}Server")),
            client: blocking.client.clone(),
        });
        let methods = give(format!("{}_METHODS", screaming(name)));
        ServiceNames { blocking, awaiting, in_place, methods }
    }

    fn method_names(
        &mut self,
        schema: &Schema,
        file: usize,
        service: &str,
        method: &Method,
    ) -> MethodNames {
        let base = format!("{service}{}", pascal(&method.name));
        let mut synthetic = |suffix: &str| {
            let name = format!("{base}{suffix}");
            let owned = self.give(schema, file, &name);
            self.derived(schema, file, &name, owned)
        };
        let (arguments, reply) = (synthetic("Args"), synthetic("Reply"));
        let is_rpc = schema.services != Services::Trait;
        let fails = is_rpc && !method.throws.is_empty();
        let error = fails.then(|| self.give(schema, file, &format!("{base}Error")));
        let streams = is_rpc && method.streaming.is_stream();
        let streams = streams.then(|| StreamNames {
            blocking: self.give(schema, file, &format!("{base}Stream")),
            awaiting: self.give(schema, file, &format!("Async{base}Stream")),
        });
        let is_written = method.result.is_some() && !method.streaming.is_stream();
        let space = is_rpc && schema.in_place && is_written;
        let space = space.then(|| self.give(schema, file, &format!("{base}ReplySpace")));
        MethodNames { arguments, reply, error, streams, space }
    }

    fn derived(&mut self, schema: &Schema, file: usize, base: &str, owned: String) -> StructNames {
        let view = self.give(schema, file, &format!("{base}View"));
        let writer = self.give(schema, file, &format!("{base}Writer"));
        StructNames { owned, view, writer }
    }

    fn give(&mut self, schema: &Schema, file: usize, name: &str) -> String {
        escape(&self.module(schema, file).taken.give(name))
    }

    fn module(&mut self, schema: &Schema, file: usize) -> &mut Module {
        let external = schema.files[file].external.is_some();
        let root = if external { &mut self.external } else { &mut self.root };
        root.descend(&self.paths[file])
    }
}

fn module_name(name: &str) -> String {
    let name = snake(name);
    if RESERVED_MODULES.contains(&name.as_str()) { format!("{name}_") } else { escape(&name) }
}
