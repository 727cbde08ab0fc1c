//! Assignment of Go packages and names.

use std::collections::HashMap;

use super::names::{exported, file, package};
use crate::model::{Id, Kind, Method, Schema, Struct};
use crate::names::Taken;

/// Methods of every struct, which no field may be called.
const METHODS: [&str; 8] =
    ["BLength", "Err", "Error", "FastRead", "FastWrite", "InitDefault", "ReadFields", "SetErr"];

/// Names of a method.
#[derive(Debug)]
pub(crate) struct MethodNames {
    /// Name in interfaces and clients.
    pub(crate) go: String,
    pub(crate) arguments: String,
    pub(crate) result: String,
}

/// All names.
#[derive(Debug, Default)]
pub(crate) struct Naming {
    /// Names in each package, by its path.
    taken: HashMap<Vec<String>, Taken>,
    /// Path of each file's package.
    pub(crate) packages: Vec<Vec<String>>,
    /// Name of each file, without `.go`.
    pub(crate) files: Vec<String>,
    pub(crate) names: HashMap<Id, String>,
    /// Functions that return a new struct, an enum's value of a name, or a client of a service.
    pub(crate) makers: HashMap<Id, String>,
    /// Clients of services.
    pub(crate) clients: HashMap<Id, String>,
    /// Functions that register a service's handler.
    pub(crate) registers: HashMap<Id, String>,
    /// Constants of an enum's values, in order.
    pub(crate) values: HashMap<Id, Vec<String>>,
    /// Fields of structs and of the arguments of methods, in order.
    pub(crate) fields: HashMap<Id, Vec<FieldNames>>,
    /// Views of structs.
    pub(crate) views: HashMap<Id, ViewNames>,
    /// Own methods of services, in order.
    pub(crate) methods: HashMap<Id, Vec<MethodNames>>,
}

/// Names of the view of a struct.
#[derive(Debug)]
pub(crate) struct ViewNames {
    pub(crate) ty: String,
    /// Function that validates a message.
    pub(crate) maker: String,
    /// Function that reads the view of a valid struct.
    pub(crate) next: String,
}

/// Names of a field.
#[derive(Clone, Debug)]
pub(crate) struct FieldNames {
    pub(crate) go: String,
    pub(crate) getter: String,
}

impl Naming {
    pub(crate) fn new(schema: &Schema) -> Self {
        let mut naming = Self::default();
        let mut files: HashMap<Vec<String>, Taken> = HashMap::new();
        for found in &schema.files {
            let path = found.go_package.clone();
            naming.files.push(files.entry(path.clone()).or_default().give(&file(&found.stem)));
            naming.packages.push(path);
        }
        // Names in the IDL are kept; derived names make way if needed.
        for id in schema.ids() {
            let name = naming.give(id, &exported(&schema.definition(id).name));
            naming.names.insert(id, name);
        }
        schema.ids().for_each(|id| naming.name_derived(schema, id));
        let structs = schema.ids().filter(|id| schema.views && schema.structure(*id).is_some());
        structs.for_each(|id| naming.name_view(id));
        naming
    }

    fn name_derived(&mut self, schema: &Schema, id: Id) {
        let name = self.names[&id].clone();
        match &schema.definition(id).kind {
            Kind::Enum(values) => {
                let values =
                    values.iter().map(|value| self.give(id, &format!("{name}_{}", value.name)));
                let values = values.collect();
                self.values.insert(id, values);
                let maker = self.give(id, &format!("{name}FromString"));
                self.makers.insert(id, maker);
            }
            Kind::Struct(found) => {
                let maker = self.give(id, &format!("New{name}"));
                self.makers.insert(id, maker);
                self.fields.insert(id, fields(found));
            }
            Kind::Service(service) => {
                let client = self.give(id, &format!("{name}Client"));
                self.clients.insert(id, client);
                let maker = self.give(id, &format!("New{name}Client"));
                self.makers.insert(id, maker);
                let register = self.give(id, &format!("Register{name}"));
                self.registers.insert(id, register);
                let mut taken = Taken::default();
                let inherited = service.extends.map(|parent| inherited(schema, parent));
                for method in inherited.into_iter().flatten() {
                    taken.give(&exported(&method.name));
                }
                let methods = service.methods.iter().map(|method| {
                    let go = taken.give(&exported(&method.name));
                    let [arguments, result] =
                        ["Args", "Result"].map(|end| self.give(id, &format!("{name}{go}{end}")));
                    MethodNames { go, arguments, result }
                });
                let methods = methods.collect();
                self.methods.insert(id, methods);
            }
            Kind::Typedef(_) | Kind::Constant(..) => {}
        }
    }

    /// Views make way for every other name: with them or without, those are the same.
    fn name_view(&mut self, id: Id) {
        let name = self.names[&id].clone();
        let names = [format!("{name}View"), format!("View{name}"), format!("Next{name}View")];
        let [ty, maker, next] = names.map(|name| self.give(id, &name));
        self.views.insert(id, ViewNames { ty, maker, next });
    }

    /// Returns a name that is unique in the package of a definition.
    fn give(&mut self, id: Id, name: &str) -> String {
        self.taken.entry(self.packages[id.file].clone()).or_default().give(name)
    }

    /// Returns the name of a file's package.
    pub(crate) fn package(&self, file: usize) -> String {
        package(self.packages[file].last().map_or("", String::as_str))
    }
}

/// Returns the names of a struct's fields.
pub(crate) fn fields(found: &Struct) -> Vec<FieldNames> {
    let mut taken = Taken::new(METHODS);
    let names: Vec<_> =
        found.fields.iter().map(|field| taken.give(&exported(&field.name))).collect();
    let named =
        names.into_iter().map(|go| FieldNames { getter: taken.give(&format!("Get{go}")), go });
    named.collect()
}

/// Returns the names of a view's methods: getters, and those that return true for a field that is
/// present.
pub(crate) fn view_fields<'a>(names: impl Iterator<Item = &'a str>) -> Vec<[String; 2]> {
    let mut taken = Taken::new(["IndexFields", "Read"]);
    let names: Vec<_> = names.map(|name| taken.give(name)).collect();
    let named = names.into_iter().map(|name| {
        let has = taken.give(&format!("Has{name}"));
        [name, has]
    });
    named.collect()
}

/// Returns the methods of a service and its parents, the parents' first.
pub(crate) fn inherited(schema: &Schema, id: Id) -> Vec<&Method> {
    chain(schema, id).into_iter().flat_map(|(_, methods)| methods).collect()
}

/// Returns a service and its parents with their own methods, the outermost parent first.
pub(crate) fn chain(schema: &Schema, id: Id) -> Vec<(Id, &[Method])> {
    let Kind::Service(service) = &schema.definition(id).kind else { return Vec::new() };
    let mut all = service.extends.map_or_else(Vec::new, |parent| chain(schema, parent));
    all.push((id, &service.methods));
    all
}
