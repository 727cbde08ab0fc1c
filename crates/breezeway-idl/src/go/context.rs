//! References of one file's text.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::names;
use super::naming::Naming;
use crate::model::{Id, Schema};

/// Path of the module of the runtime.
const MODULE: &str = "github.com/breezeway-ipc/breezeway/go";

/// The text of one file: names that it refers to.
pub(crate) struct Context<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) naming: &'a Naming,
    /// The file.
    pub(crate) file: usize,
    /// Import path of the folder that all packages lie in.
    root: &'a str,
    /// Imports with their local names.
    imports: RefCell<BTreeMap<String, String>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(schema: &'a Schema, naming: &'a Naming, file: usize, root: &'a str) -> Self {
        Self { schema, naming, file, root, imports: RefCell::default() }
    }

    /// Refers to a package of the standard library.
    pub(crate) fn standard(&self, path: &str) {
        self.imports.borrow_mut().insert(path.to_owned(), path.to_owned());
    }

    /// Returns the path of a name of a package of the runtime: `thrift` or `rpc`.
    pub(crate) fn runtime(&self, package: &str, name: &str) -> String {
        self.imports.borrow_mut().insert(format!("{MODULE}/{package}"), package.to_owned());
        format!("{package}.{name}")
    }

    /// Returns the path of a name of the runtime of structs.
    pub(crate) fn thrift(&self, name: &str) -> String {
        self.runtime("thrift", name)
    }

    /// Returns the path of a definition's name, as seen from here.
    pub(crate) fn name(&self, id: Id) -> String {
        self.path(id, &self.naming.names[&id])
    }

    /// Returns the path of a name of a definition's package, as seen from here.
    pub(crate) fn path(&self, id: Id, name: &str) -> String {
        let external = self.schema.files[id.file].external.as_ref();
        if external.is_none() && self.naming.packages[id.file] == self.naming.packages[self.file] {
            return name.to_owned();
        }
        let path = self.import_path(id.file);
        let mut imports = self.imports.borrow_mut();
        if let Some(known) = imports.get(&path) {
            return format!("{known}.{name}");
        }
        let mut alias = self.wanted_alias(id.file);
        while imports.values().any(|other| *other == alias) {
            alias += "_";
        }
        imports.insert(path, alias.clone());
        format!("{alias}.{name}")
    }

    /// Returns the local name of a file's package, unless another import has it.
    pub(crate) fn wanted_alias(&self, file: usize) -> String {
        names::package(self.import_path(file).rsplit('/').next().unwrap_or_default())
    }

    /// Returns the import path of a file's package.
    pub(crate) fn import_path(&self, file: usize) -> String {
        if let Some(path) = &self.schema.files[file].external {
            return path.clone();
        }
        let path = self.naming.packages[file].join("/");
        if self.root.is_empty() { path } else { format!("{}/{path}", self.root) }
    }

    /// Returns true if the file refers to any other package of the IDL's.
    pub(crate) fn imported(&self) -> Vec<String> {
        self.imports.borrow().keys().cloned().collect()
    }

    /// Returns the lines of the imports: the standard library's, and the others.
    pub(crate) fn imports(&self) -> Vec<String> {
        let imports = self.imports.borrow();
        let files = &self.schema.files;
        let is_external = |path| files.iter().any(|file| file.external.as_ref() == Some(path));
        let (standard, others): (Vec<_>, Vec<_>) = imports
            .iter()
            .map(|(path, alias)| {
                // The name of an external package may differ from the end of its path.
                let is_last = path.rsplit('/').next() == Some(alias) && !is_external(path);
                let alias = if is_last { String::new() } else { format!("{alias} ") };
                (path, format!("{alias}\"{path}\""))
            })
            .partition(|(path, _)| !path.contains(['.', '/']) && path.as_str() != self.root);
        let mut lines: Vec<String> = standard.into_iter().map(|(_, line)| line).collect();
        if !lines.is_empty() && !others.is_empty() {
            lines.push(String::new());
        }
        lines.extend(others.into_iter().map(|(_, line)| line));
        lines
    }
}
