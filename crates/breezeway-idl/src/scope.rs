//! What a name means in a file.

use std::collections::HashMap;

use crate::error::{Error, Problem};
use crate::files::SourceFile;
use crate::model::Id;
use crate::parse::Fault;
use crate::syntax::{Item, Name};

/// Every definition of every file by its name.
pub(crate) struct Scope<'a> {
    pub(crate) files: &'a [SourceFile],
    names: Vec<HashMap<&'a str, usize>>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(files: &'a [SourceFile]) -> Result<Self, Error> {
        let index = |file: &'a SourceFile| names_of(file).map_err(|fault| file.error(fault));
        Ok(Self { files, names: files.iter().map(index).collect::<Result<_, _>>()? })
    }

    pub(crate) fn item(&self, id: Id) -> &'a Item {
        &self.files[id.file].tree.items[id.index]
    }

    /// What `Name` or `include.Name` means in a file.
    pub(crate) fn find(&self, file: usize, name: &str) -> Option<Id> {
        let (file, own) = match name.rsplit_once('.') {
            Some((prefix, own)) => (self.include(file, prefix)?, own),
            None => (file, name),
        };
        self.names[file].get(own).map(|&index| Id { file, index })
    }

    /// Why there is no such name.
    pub(crate) fn missing(&self, file: usize, name: &str) -> Problem {
        match name.rsplit_once('.') {
            Some((prefix, _)) if self.include(file, prefix).is_none() => {
                Problem::UnknownPrefix { prefix: prefix.to_owned(), name: name.to_owned() }
            }
            _ => Problem::UnknownType(name.to_owned()),
        }
    }

    fn include(&self, file: usize, stem: &str) -> Option<usize> {
        self.files[file].includes.iter().copied().find(|&other| self.files[other].stem == stem)
    }
}

fn names_of(file: &SourceFile) -> Result<HashMap<&str, usize>, Fault> {
    refuse_duplicates("type, constant or service", file.tree.items.iter().map(|item| &item.name))?;
    let names = file.tree.items.iter().enumerate();
    Ok(names.map(|(index, item)| (item.name.text.as_str(), index)).collect())
}

/// Errs at the second of two equal names.
pub(crate) fn refuse_duplicates<'a>(
    what: &'static str,
    names: impl Iterator<Item = &'a Name>,
) -> Result<(), Fault> {
    let mut seen = HashMap::new();
    for name in names {
        if let Some(first) = seen.insert(name.text.as_str(), name.at) {
            let problem =
                Problem::DuplicateName { what, name: name.text.clone(), first: first.to_string() };
            return Err((name.at, problem));
        }
    }
    Ok(())
}
