//! Lookup of names in a file.

use std::collections::HashMap;
use std::path::Path;

use crate::error::{Error, Problem};
use crate::files::{SourceFile, stem};
use crate::model::Id;
use crate::parse::Fault;
use crate::syntax::{Item, Name};

/// All definitions of all files by name.
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

    /// Finds the definition of `Name` or `include.Name` in a file: `None` if no file or several
    /// files of that name define it, or one of them is missing, which might.
    pub(crate) fn find(&self, file: usize, name: &str) -> Option<Id> {
        let prefix = name.rsplit_once('.').map(|(prefix, _)| prefix);
        if prefix.is_some_and(|prefix| self.missing_include(file, prefix).is_some()) {
            return None;
        }
        let mut found = self.all(file, name);
        let first = found.next();
        first.filter(|_| found.next().is_none())
    }

    /// Returns the reason why [`Self::find`] found nothing: `unknown`, unless the part before the
    /// dot is at fault.
    pub(crate) fn missing(&self, file: usize, name: &str, unknown: Problem) -> Problem {
        let Some((prefix, _)) = name.rsplit_once('.') else { return unknown };
        if let Some(include) = self.missing_include(file, prefix) {
            return Problem::IncludeNotFound { include: include.clone(), name: name.to_owned() };
        }
        let mut found = self.all(file, name).map(|id| self.files[id.file].path.clone());
        match (found.next(), found.next()) {
            (Some(first), Some(second)) => {
                Problem::AmbiguousName { name: name.to_owned(), first, second }
            }
            _ if self.includes(file, prefix).next().is_none() => {
                Problem::UnknownPrefix { prefix: prefix.to_owned(), name: name.to_owned() }
            }
            _ => unknown,
        }
    }

    fn missing_include(&self, file: usize, name: &str) -> Option<&String> {
        self.files[file].missing.iter().find(|include| stem(Path::new(include)) == name)
    }

    /// Returns all definitions of this name in a file.
    fn all<'s>(&'s self, file: usize, name: &'s str) -> impl Iterator<Item = Id> + 's {
        let (prefix, own) = match name.rsplit_once('.') {
            Some((prefix, own)) => (Some(prefix), own),
            None => (None, name),
        };
        let included = prefix.into_iter().flat_map(move |stem| self.includes(file, stem));
        let files = prefix.is_none().then_some(file).into_iter().chain(included);
        files.filter_map(move |file| self.names[file].get(own).map(|&index| Id { file, index }))
    }

    fn includes<'s>(&'s self, file: usize, stem: &'s str) -> impl Iterator<Item = usize> + 's {
        let includes = self.files[file].includes.iter().copied();
        includes.filter(move |&other| self.files[other].stem == stem)
    }
}

fn names_of(file: &SourceFile) -> Result<HashMap<&str, usize>, Fault> {
    refuse_duplicates("type, constant or service", file.tree.items.iter().map(|item| &item.name))?;
    let names = file.tree.items.iter().enumerate();
    Ok(names.map(|(index, item)| (item.name.text.as_str(), index)).collect())
}

/// Fails at the second of two equal names.
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
