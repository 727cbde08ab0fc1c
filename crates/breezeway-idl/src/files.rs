//! Loading of .thrift files with their includes.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Problem};
use crate::parse::{Fault, MAX_CHAIN, parse};
use crate::syntax::{Name, Tree};

/// One file that was read.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// Path as found, for messages.
    pub(crate) path: PathBuf,
    /// Name in other files: the file's name without `.thrift`.
    pub(crate) stem: String,
    pub(crate) tree: Tree,
    /// Included files, by index.
    pub(crate) includes: Vec<usize>,
    /// Included files that do not exist: an error if a name of theirs is used.
    pub(crate) missing: Vec<String>,
}

impl SourceFile {
    /// Returns an error in this file.
    pub(crate) fn error(&self, (position, problem): Fault) -> Error {
        Error::Invalid { file: self.path.clone(), position, problem }
    }
}

/// Reads files and their includes, each once. A file comes after its includes.
pub(crate) fn load(roots: &[PathBuf], include_dirs: &[PathBuf]) -> Result<Vec<SourceFile>, Error> {
    let mut loader =
        Loader { include_dirs, loaded: HashMap::new(), open: Vec::new(), files: vec![] };
    for root in roots {
        loader.load(root)?;
    }
    Ok(loader.files)
}

struct Loader<'a> {
    include_dirs: &'a [PathBuf],
    /// Indexes by canonical path.
    loaded: HashMap<PathBuf, usize>,
    /// Chain of files that are being read: canonical path and path for messages.
    open: Vec<(PathBuf, PathBuf)>,
    files: Vec<SourceFile>,
}

impl Loader<'_> {
    fn load(&mut self, path: &Path) -> Result<usize, Error> {
        let unreadable = |source| Error::Read { path: path.to_owned(), source };
        let canonical = path.canonicalize().map_err(unreadable)?;
        if let Some(&index) = self.loaded.get(&canonical) {
            return Ok(index);
        }
        let text = fs::read_to_string(path).map_err(unreadable)?;
        // Editors on Windows put a byte order mark before the text.
        let tree = parse(text.trim_start_matches('\u{feff}')).map_err(|(position, problem)| {
            Error::Invalid { file: path.to_owned(), position, problem }
        })?;
        let (path, stem) = (path.to_owned(), stem(path));
        let mut file = SourceFile { path, stem, tree, includes: Vec::new(), missing: Vec::new() };
        self.open.push((canonical.clone(), file.path.clone()));
        self.load_includes(&mut file)?;
        self.open.pop();
        self.loaded.insert(canonical, self.files.len());
        self.files.push(file);
        Ok(self.files.len() - 1)
    }

    fn load_includes(&mut self, file: &mut SourceFile) -> Result<(), Error> {
        for include in &file.tree.includes {
            let Some(path) = self.find(file, include).map_err(|fault| file.error(fault))? else {
                file.missing.push(include.text.clone());
                continue;
            };
            let index = self.load(&path)?;
            if !file.includes.contains(&index) {
                file.includes.push(index);
            }
        }
        Ok(())
    }

    /// Searches beside the including file first, then in the include directories in their order.
    fn find(&self, file: &SourceFile, include: &Name) -> Result<Option<PathBuf>, Fault> {
        let beside = file.path.parent().unwrap_or(Path::new(""));
        let directories =
            std::iter::once(beside).chain(self.include_dirs.iter().map(PathBuf::as_path));
        let mut paths = directories.map(|dir| dir.join(&include.text));
        let Some(path) = paths.find(|path| path.is_file()) else { return Ok(None) };
        if self.open.len() == MAX_CHAIN {
            return Err((include.at, Problem::TooDeep { what: "includes", limit: MAX_CHAIN }));
        }
        self.refuse_cycle(&path).map_err(|problem| (include.at, problem))?;
        Ok(Some(path))
    }

    fn refuse_cycle(&self, path: &Path) -> Result<(), Problem> {
        let canonical = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let Some(first) = self.open.iter().position(|(open, _)| *open == canonical) else {
            return Ok(());
        };
        let chain = self.open[first..].iter().map(|(_, path)| path.as_path()).chain([path]);
        let names: Vec<_> = chain.map(file_name).collect();
        Err(Problem::IncludeCycle(names.join(" → ")))
    }
}

pub(crate) fn stem(path: &Path) -> String {
    let name = file_name(path);
    name.strip_suffix(".thrift").unwrap_or(&name).to_owned()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
