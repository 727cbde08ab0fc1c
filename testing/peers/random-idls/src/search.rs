//! Compiling and running `idl-exchange` for some IDLs, and making one smaller that fails.

use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Result, bail, ensure};
use breezeway_idl_random::random_idl::RandomIdl;
use random_idls::mutant::Mutant;
use random_idls::prepare::{Idl, Rival, Workshop};

/// Fault of breezeway-idl with an IDL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The IDL is refused, though it is valid.
    Refused(String),
    /// The text does not compile.
    Text(String),
    /// A message differs from that of another generator, or of another way to read it.
    Message(String),
}

impl Fault {
    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => write!(to, "refused: {why}"),
            Self::Text(why) => write!(to, "does not compile: {why}"),
            Self::Message(what) => to.write_str(what),
        }
    }
}

/// Result of some IDLs.
pub(crate) struct Outcome {
    idls: Vec<Idl>,
    faults: Vec<Option<Fault>>,
    messages: u64,
}

impl Outcome {
    /// The first IDL at fault.
    pub(crate) fn first_fault(&self) -> Option<(usize, Fault)> {
        let mut faults = self.faults.iter().enumerate();
        faults.find_map(|(index, fault)| Some((index, fault.clone()?)))
    }
}

/// Counts of the whole run.
#[derive(Default)]
pub(crate) struct Tally {
    idls: usize,
    pilota: usize,
    apache: usize,
    messages: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        let by = |rival| outcome.idls.iter().filter(|idl| idl.rivals.contains(&rival)).count();
        self.idls += outcome.idls.len();
        self.pilota += by(Rival::Pilota);
        self.apache += by(Rival::Apache);
        self.messages += outcome.messages;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { idls, pilota, apache, messages } = self;
        write!(to, "{idls} IDLs, {pilota} of them with pilota, {apache} with Apache's compiler; ")?;
        write!(to, "{messages} messages, no fault")
    }
}

/// Compiles IDLs, and searches for the smallest one at fault.
pub(crate) struct Search {
    peers: PathBuf,
    mutant: Option<Mutant>,
    rivals: bool,
}

/// Number of smaller IDLs that are compiled at a time.
const PORTION: usize = 24;

impl Search {
    pub(crate) fn new(peers: PathBuf, mutant: Option<Mutant>) -> Self {
        Self { peers, mutant, rivals: true }
    }

    /// Compiles all, and exchanges messages.
    pub(crate) fn run(&self, random: &[RandomIdl]) -> Result<Outcome> {
        let mut workshop = Workshop::new(&self.peers.join("target/random-idls"), self.mutant)?;
        if !self.rivals {
            workshop = workshop.without_rivals();
        }
        let make = |(index, idl): (usize, &RandomIdl)| {
            workshop.make(&format!("idl_{index}"), &idl.to_string())
        };
        let mut idls = random.iter().enumerate().map(make).collect::<Result<Vec<_>>>()?;
        let mut faults: Vec<_> =
            idls.iter().map(|idl| idl.refused.clone().map(Fault::Refused)).collect();
        self.compile(&workshop, &mut idls, &mut faults)?;
        let output = self.exchange(&[])?;
        let mut messages = 0;
        if output.status.success() {
            messages = read(&output, &idls, &mut faults)?;
        } else {
            // One of them ended the process.
            for (idl, fault) in idls.iter().zip(&mut faults).filter(|(_, fault)| fault.is_none()) {
                let output = self.exchange(&[&idl.stem])?;
                if !output.status.success() {
                    *fault =
                        Some(Fault::Message(format!("the process ended with {}", output.status)));
                }
            }
        }
        Ok(Outcome { idls, faults, messages })
    }

    /// Compiles all IDLs but those at fault, without the rivals whose code does not compile.
    fn compile(
        &self,
        workshop: &Workshop,
        idls: &mut [Idl],
        faults: &mut [Option<Fault>],
    ) -> Result<()> {
        loop {
            let whole: Vec<_> = idls
                .iter()
                .zip(&*faults)
                .filter(|(_, fault)| fault.is_none())
                .map(|it| it.0)
                .collect();
            workshop.list(&whole)?;
            let mut cargo = self.cargo("build");
            let output = cargo.args(["--message-format", "short"]).output()?;
            if output.status.success() {
                return Ok(());
            }
            let text = String::from_utf8_lossy(&output.stderr);
            let mut blamed = false;
            for (idl, fault) in idls.iter_mut().zip(&mut *faults) {
                let error = |file: &str| {
                    let place = format!("{}/{file}:", idl.stem);
                    text.lines().find(|line| line.contains(&place) && line.contains("error"))
                };
                for rival in [Rival::Pilota, Rival::Apache] {
                    if error(rival.file()).is_some() {
                        idl.rivals.remove(&rival);
                        blamed = true;
                    }
                }
                if let (Some(line), None) = (error("ours.rs"), &fault) {
                    *fault = Some(Fault::Text(line.to_owned()));
                    blamed = true;
                }
            }
            ensure!(blamed, "it does not compile, and no IDL is to blame:\n{text}");
        }
    }

    fn cargo(&self, verb: &str) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        command.args([verb, "--quiet", "--locked", "-p", "idl-exchange"]).current_dir(&self.peers);
        // Without what a debugger wants, which is much of the work.
        command.args(["--profile", "interop"]);
        command.env("RANDOM_IDLS", self.peers.join("target/random-idls"));
        command
    }

    fn exchange(&self, stems: &[&str]) -> Result<Output> {
        Ok(self.cargo("run").arg("--").args(stems).output()?)
    }

    /// An error unless an IDL is without fault once none is planted.
    pub(crate) fn is_planted(&self, idl: &RandomIdl) -> Result<()> {
        match Self::new(self.peers.clone(), None).run(std::slice::from_ref(idl))?.first_fault() {
            Some((_, fault)) => bail!("it fails without the planted fault too: {fault}"),
            None => Ok(()),
        }
    }

    /// The smallest IDL that fails like this one: without the other generators, if it does so too.
    pub(crate) fn smallest(&self, idl: RandomIdl, fault: Fault) -> Result<(RandomIdl, Fault)> {
        let alone = Self { peers: self.peers.clone(), mutant: self.mutant, rivals: false };
        match alone.run(std::slice::from_ref(&idl))?.first_fault() {
            Some((_, same)) if same.is_like(&fault) => alone.smaller(idl, same),
            _ => self.smaller(idl, fault),
        }
    }

    fn smaller(&self, idl: RandomIdl, fault: Fault) -> Result<(RandomIdl, Fault)> {
        let (mut last, mut failure) = (fault, None);
        let smallest = idl.smallest(|smaller| {
            for (portion, idls) in smaller.chunks(PORTION).enumerate() {
                let outcome = self.run(idls).map_err(|error| failure = Some(error)).ok()?;
                let like = outcome
                    .faults
                    .iter()
                    .position(|fault| fault.as_ref().is_some_and(|fault| fault.is_like(&last)));
                if let Some(index) = like {
                    last = outcome.faults[index].clone()?;
                    eprintln!("smaller: {} lines", idls[index].to_string().lines().count());
                    return Some(portion * PORTION + index);
                }
            }
            None
        });
        match failure {
            Some(error) => bail!("making the IDL smaller: {error}"),
            None => Ok((smallest, last)),
        }
    }
}

/// Reads the output of `idl-exchange`: `fault STEM: …`, and `messages COUNT` at the end.
fn read(output: &Output, idls: &[Idl], faults: &mut [Option<Fault>]) -> Result<u64> {
    let text = String::from_utf8_lossy(&output.stdout);
    for (idl, fault) in idls.iter().zip(faults) {
        let prefix = format!("fault {}: ", idl.stem);
        if let Some(what) = text.lines().find_map(|line| line.strip_prefix(&prefix)) {
            fault.get_or_insert(Fault::Message(what.to_owned()));
        }
    }
    match text.lines().find_map(|line| line.strip_prefix("messages ")) {
        Some(count) => Ok(count.parse()?),
        None => bail!("idl-exchange did not come to its end: {text}"),
    }
}
