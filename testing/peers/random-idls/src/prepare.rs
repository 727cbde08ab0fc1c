//! The Rust of all generators for some IDLs, and the list of their structs for `idl-exchange`.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use anyhow::{Context as _, Result};

use crate::mutant::Mutant;

/// Another generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rival {
    /// pilota-build.
    Pilota,
    /// Apache's compiler, if it is installed.
    Apache,
}

impl Rival {
    /// Returns the name of its file.
    pub fn file(self) -> &'static str {
        match self {
            Self::Pilota => "pilota.rs",
            Self::Apache => "apache.rs",
        }
    }
}

/// An IDL with the code generated from it.
pub struct Idl {
    /// The name of its file, without the ending, and of its module.
    pub stem: String,
    /// Reason for which breezeway-idl refuses it.
    pub refused: Option<String>,
    /// Generators that made Rust of it, which compiles as far as is known.
    pub rivals: HashSet<Rival>,
    cases: Vec<Case>,
}

struct Case {
    name: String,
    owned: String,
    view: String,
}

/// A folder of IDLs and the code generated from them.
pub struct Workshop {
    dir: PathBuf,
    mutant: Option<Mutant>,
    rivals: bool,
}

impl Workshop {
    /// In a folder, which is made empty.
    pub fn new(dir: &Path, mutant: Option<Mutant>) -> Result<Self> {
        match fs::remove_dir_all(dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => fs::create_dir_all(dir)?,
        }
        Ok(Self { dir: dir.canonicalize()?, mutant, rivals: true })
    }

    /// Leaves the other generators out: their code is most of the text to compile.
    pub fn without_rivals(self) -> Self {
        Self { rivals: false, ..self }
    }

    /// Lets every generator make Rust of an IDL.
    pub fn make(&self, stem: &str, text: &str) -> Result<Idl> {
        let file = self.dir.join(stem).with_extension("thrift");
        let out = self.dir.join(stem);
        fs::create_dir_all(&out)?;
        fs::write(&file, text)?;
        let (refused, cases) = match ours(&file, &out, self.mutant) {
            Ok(cases) => (None, cases),
            Err(error) => (Some(error.to_string()), Vec::new()),
        };
        let mut rivals = HashSet::new();
        let rivals_too = self.rivals && refused.is_none();
        if rivals_too && pilota(&file, &out) {
            rivals.insert(Rival::Pilota);
        }
        if rivals_too && apache(&file, &out)? {
            rivals.insert(Rival::Apache);
        }
        Ok(Idl { stem: stem.to_owned(), refused, rivals, cases })
    }

    /// Writes the parts of `idl-exchange`: the modules of these IDLs and the list of structs.
    pub fn list(&self, idls: &[&Idl]) -> Result<()> {
        let (mut modules, mut cases) = (String::new(), String::new());
        for idl in idls.iter().filter(|idl| idl.refused.is_none()) {
            modules += &self.module(idl)?;
            for case in &idl.cases {
                cases += &entry(idl, case)?;
            }
        }
        let dir = &self.dir;
        let text =
            format!("{modules}const DIR: &str = {dir:?};\nconst CASES: &[Case] = &[\n{cases}];\n");
        Ok(fs::write(self.dir.join("cases.rs"), text)?)
    }

    fn module(&self, idl: &Idl) -> Result<String> {
        let (stem, dir) = (&idl.stem, self.dir.join(&idl.stem));
        let mut text = format!(
            "mod {stem} {{\n#[deny(warnings)]\npub mod ours {{ include!({:?}); }}\n",
            dir.join("ours.rs")
        );
        let rivals = "#[allow(warnings, clippy::all)]";
        if idl.rivals.contains(&Rival::Pilota) {
            let file = dir.join(Rival::Pilota.file());
            writeln!(
                text,
                "{rivals}\npub mod theirs {{ include!({file:?}); pub use self::pilota::*; }}"
            )?;
        }
        if idl.rivals.contains(&Rival::Apache) {
            let file = dir.join(Rival::Apache.file());
            writeln!(text, "{rivals}\n#[path = {file:?}]\npub mod apache;")?;
        }
        Ok(text + "}\n")
    }
}

/// A struct of an IDL, with its types.
fn entry(idl: &Idl, case: &Case) -> Result<String> {
    let (stem, Case { name, owned, view }) = (&idl.stem, case);
    let mut rivals = String::new();
    if idl.rivals.contains(&Rival::Pilota) {
        write!(rivals, "pilota: pilota::<{stem}::theirs::{owned}>,")?;
    }
    if idl.rivals.contains(&Rival::Apache) {
        write!(rivals, "apache: apache::<{stem}::apache::{name}>,")?;
    }
    Ok(format!(
        "case!({stem:?}, {name:?}, {stem}::ours::{owned}, {stem}::ours::{view}, [{rivals}]),\n"
    ))
}

fn ours(file: &Path, out: &Path, mutant: Option<Mutant>) -> Result<Vec<Case>> {
    let schema = breezeway_idl::read(&[file.to_owned()], &[])?;
    let text = breezeway_idl::generate(&schema)?;
    let text = mutant.map_or_else(|| text.clone(), |mutant| mutant.plant(&text));
    fs::write(out.join("ours.rs"), text)?;
    let cases = breezeway_idl::struct_paths(&schema)?.into_iter().map(|paths| Case {
        name: schema.definition(paths.id).name.clone(),
        owned: paths.owned,
        view: paths.view,
    });
    Ok(cases.collect())
}

/// Returns true if pilota-build makes Rust of it: it refuses by panicking.
fn pilota(file: &Path, out: &Path) -> bool {
    let compile = || {
        pilota_build::Builder::thrift().ignore_unused(false).compile_with_config(
            vec![pilota_build::IdlService::from_path(file.to_owned())],
            pilota_build::Output::File(out.join(Rival::Pilota.file())),
        );
    };
    // Only the reports of these panics are silenced: ours must be seen.
    let loud = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let made = panic::catch_unwind(AssertUnwindSafe(compile)).is_ok();
    panic::set_hook(loud);
    made
}

/// Returns true if Apache's compiler is installed and makes Rust of it.
fn apache(file: &Path, out: &Path) -> Result<bool> {
    let mut command = Command::new("thrift");
    command.args(["--gen", "rs", "-out"]).arg(out).arg(file);
    let made = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !made.is_ok_and(|status| status.success()) {
        return Ok(false);
    }
    let made = out.join(file.with_extension("rs").file_name().context("a file has a name")?);
    // The server is behind a feature of the crate.
    let text = fs::read_to_string(made)?.replace("use thrift::server::TProcessor;\n", "");
    fs::write(out.join(Rival::Apache.file()), text)?;
    Ok(true)
}
