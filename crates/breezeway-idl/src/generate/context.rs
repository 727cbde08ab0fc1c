//! Names that the text of one module refers to.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::naming::{Module, Naming};
use crate::model::{Id, Schema};

/// Default path of the runtime.
pub(crate) const RUNTIME: &str = "::breezeway_thrift";

/// Names of the standard library, by path. An IDL may have a type of each of these names, so they
/// are written with their paths, like every name that the IDL does not define.
const STANDARD: [(&str, &[&str]); 14] = [
    ("::std::boxed", &["Box"]),
    ("::std::collections", &["BTreeMap"]),
    ("::std::default", &["Default"]),
    ("::std::error", &["Error"]),
    ("::std::future", &["Future"]),
    ("::std::iter", &["ExactSizeIterator", "IntoIterator"]),
    ("::std::marker", &["Send", "Sync"]),
    ("::std::ops", &["FnMut", "FnOnce"]),
    ("::std::option", &["Option"]),
    ("::std::option::Option", &["None", "Some"]),
    ("::std::result", &["Result"]),
    ("::std::result::Result", &["Ok"]),
    ("::std::string", &["String"]),
    ("::std::vec", &["Vec"]),
];

/// References of a module's text, collected while it is written.
pub(crate) struct Context<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) naming: &'a Naming,
    pub(crate) module: &'a Module,
    /// Traits of the runtime whose methods are called.
    pub(crate) traits: RefCell<BTreeSet<&'static str>>,
    /// Modules that are referred to, with their local names.
    pub(crate) modules: RefCell<BTreeMap<Vec<String>, String>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(schema: &'a Schema, naming: &'a Naming, module: &'a Module) -> Self {
        Self { schema, naming, module, traits: RefCell::default(), modules: RefCell::default() }
    }

    /// Returns the path of a name of the runtime or the standard library.
    pub(crate) fn word(&self, name: &str) -> String {
        let standard = STANDARD.iter().find(|(_, names)| names.contains(&name));
        let path = match standard {
            Some((path, _)) => path,
            None => self.schema.runtime(),
        };
        format!("{path}::{name}")
    }

    /// Brings the methods of one of the runtime's traits into scope.
    pub(crate) fn use_methods(&self, name: &'static str) {
        self.traits.borrow_mut().insert(name);
    }

    /// Returns a type parameter's name: this letter, extended if the IDL has a type of that name.
    pub(crate) fn parameter(&self, letter: &str) -> String {
        let mut name = letter.to_owned();
        while self.module.taken.has(&name) {
            name += letter;
        }
        name
    }

    /// Returns the path of a name of another definition's module, as seen from here.
    pub(crate) fn path(&self, id: Id, name: &str) -> String {
        if let Some(path) = &self.schema.files[id.file].external {
            return format!("{path}::{name}");
        }
        let path = &self.naming.paths[id.file];
        if *path == self.module.path {
            return name.to_owned();
        }
        format!("{}::{name}", self.module_name(path))
    }

    fn module_name(&self, path: &[String]) -> String {
        let mut modules = self.modules.borrow_mut();
        if let Some(name) = modules.get(path) {
            return name.clone();
        }
        let free = |name: &String| {
            let child = self.module.children.iter().any(|child| child.name() == name);
            let child_itself =
                path.split_last().is_some_and(|(_, parent)| parent == self.module.path);
            (!child || child_itself) && modules.values().all(|other| other != name)
        };
        // The shortest end of the path that is unique.
        let mut names = (1..=path.len()).map(|count| joined(&path[path.len() - count..]));
        let name = names.find(free).unwrap_or_else(|| format!("{}_", joined(path)));
        modules.insert(path.to_vec(), name.clone());
        name
    }
}

fn joined(names: &[String]) -> String {
    match names {
        [one] => one.clone(),
        many => many.iter().map(|name| name.trim_start_matches("r#")).collect::<Vec<_>>().join("_"),
    }
}
