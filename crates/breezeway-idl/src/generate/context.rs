//! What the text of one module refers to.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use super::naming::{Module, Naming};
use crate::model::{Id, Schema};

/// A name that generated code uses and does not define.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Word {
    pub(crate) name: &'static str,
    pub(crate) path: &'static str,
    /// It needs no import, unless the IDL has a type of this name.
    pub(crate) prelude: bool,
}

/// The path of the runtime, unless the schema has another.
pub(crate) const RUNTIME: &str = "breezeway_thrift";

/// The names of the standard library, by module.
const STANDARD: [(&str, &[&str], bool); 11] = [
    ("std::boxed", &["Box"], true),
    ("std::collections", &["BTreeMap"], false),
    ("std::convert", &["From"], true),
    ("std::default", &["Default"], true),
    ("std::error", &["Error"], false),
    ("std::future", &["Future"], false),
    ("std::iter", &["ExactSizeIterator", "IntoIterator"], true),
    ("std::ops", &["Fn", "FnMut", "FnOnce"], true),
    ("std::option", &["Option"], true),
    ("std::result", &["Result"], true),
    ("std::string", &["String"], true),
];

/// What a module's text needs, collected while it is written.
pub(crate) struct Context<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) naming: &'a Naming,
    pub(crate) module: &'a Module,
    pub(crate) words: RefCell<BTreeSet<Word>>,
    /// The modules that are referred to, and what they are called here.
    pub(crate) modules: RefCell<BTreeMap<Vec<String>, String>>,
    pub(crate) formats: Cell<bool>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(schema: &'a Schema, naming: &'a Naming, module: &'a Module) -> Self {
        Self {
            schema,
            naming,
            module,
            words: RefCell::default(),
            modules: RefCell::default(),
            formats: Cell::new(false),
        }
    }

    /// A name of the runtime or the standard library, as this module calls it.
    pub(crate) fn word(&self, name: &'static str) -> String {
        let word = word(name);
        self.words.borrow_mut().insert(word);
        self.called(word)
    }

    /// `std::fmt`, imported.
    pub(crate) fn fmt(&self) -> &'static str {
        self.formats.set(true);
        "fmt"
    }

    /// What a word is called here: itself, unless the IDL has a type of that name.
    pub(crate) fn called(&self, word: Word) -> String {
        let mut name = word.name.to_owned();
        while self.module.taken.has(&name) {
            let prefix = if word.path.starts_with("std") { "Std" } else { "Thrift" };
            name = format!("{prefix}{name}");
        }
        name
    }

    /// A type parameter's name: this letter, more of it if the IDL has a type of that name.
    pub(crate) fn parameter(&self, letter: &str) -> String {
        let mut name = letter.to_owned();
        while self.module.taken.has(&name) {
            name += letter;
        }
        name
    }

    /// A name of another definition's module, as seen from here.
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
        // As little of the path as tells it apart, from its end.
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

fn word(name: &'static str) -> Word {
    let standard = STANDARD.iter().find(|(_, names, _)| names.contains(&name));
    match (name, standard) {
        ("Vec", _) => Word { name, path: "std::vec", prelude: true },
        ("Some", _) => Word { name, path: "std::option::Option", prelude: true },
        ("Ok" | "Err", _) => Word { name, path: "std::result::Result", prelude: true },
        (_, Some(&(path, _, prelude))) => Word { name, path, prelude },
        _ => Word { name, path: RUNTIME, prelude: false },
    }
}
