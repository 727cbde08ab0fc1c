//! Finds the Rust of the IDLs where `random-idls` made it, or makes some of its own.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use breezeway_idl_random::random_idl::RandomIdl;
use random_idls::prepare::{Rival, Workshop};

/// Seeds of IDLs for which pilota-build makes Rust that compiles.
const SEEDS: [u64; 3] = [1, 2, 3];

fn main() -> Result<()> {
    println!("cargo::rerun-if-env-changed=RANDOM_IDLS");
    let dir = match env::var_os("RANDOM_IDLS") {
        Some(dir) => {
            let dir = PathBuf::from(dir);
            println!("cargo::rerun-if-changed={}", dir.join("cases.rs").display());
            dir
        }
        None => fixed(Path::new(&env::var_os("OUT_DIR").context("cargo sets it")?))?,
    };
    println!("cargo::rustc-env=CASES={}", dir.join("cases.rs").display());
    Ok(())
}

fn fixed(out: &Path) -> Result<PathBuf> {
    let dir = out.join("idls");
    let workshop = Workshop::new(&dir, None)?;
    let make =
        |seed: u64| workshop.make(&format!("idl_{seed}"), &RandomIdl::common(seed).to_string());
    let mut idls = SEEDS.into_iter().map(make).collect::<Result<Vec<_>>>()?;
    // Whether Apache's compiler is there must not decide whether this compiles.
    idls.iter_mut().for_each(|idl| _ = idl.rivals.remove(&Rival::Apache));
    workshop.list(&idls.iter().collect::<Vec<_>>())?;
    Ok(dir)
}
