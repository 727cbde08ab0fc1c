//! Random IDLs and messages through breezeway, pilota and Apache's code, both ways. An IDL at which
//! they differ is made smaller, as long as they do.

mod search;

use std::path::PathBuf;

use anyhow::{Result, bail};
use breezeway_idl_random::random_idl::RandomIdl;
use clap::Parser;
use random_idls::mutant::Mutant;
use search::Search;

#[derive(Parser)]
struct Options {
    /// The seed of the first IDL; those after it have the numbers that follow.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of IDLs.
    #[arg(long, default_value_t = 100)]
    count: u64,
    /// A fault that is planted in our generated code, to be found.
    #[arg(long)]
    mutant: Option<Mutant>,
}

/// Number of IDLs that are compiled at a time.
const AT_ONCE: usize = 10;

/// Every other one is such as the rivals take.
fn random(seed: u64) -> RandomIdl {
    if seed.is_multiple_of(2) { RandomIdl::new(seed) } else { RandomIdl::common(seed) }
}

fn main() -> Result<()> {
    let options = Options::parse();
    let peers = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let search = Search::new(peers.canonicalize()?, options.mutant);
    let seeds: Vec<u64> = (options.seed..options.seed + options.count).collect();
    let mut tally = search::Tally::default();
    for seeds in seeds.chunks(AT_ONCE) {
        let idls: Vec<_> = seeds.iter().map(|seed| random(*seed)).collect();
        let outcome = search.run(&idls)?;
        tally.add(&outcome);
        let Some((index, fault)) = outcome.first_fault() else {
            eprintln!("so far: {tally}");
            continue;
        };
        println!("seed {}: {fault}\n{}", seeds[index], idls[index]);
        let (smallest, fault) = search.smallest(idls[index].clone(), fault)?;
        println!("the smallest IDL that fails so: {fault}\n{smallest}");
        let Some(mutant) = options.mutant else { bail!("seed {} shows a fault", seeds[index]) };
        search.is_planted(&smallest)?;
        println!("the planted fault {mutant:?} was found");
        return Ok(());
    }
    println!("{tally}");
    match options.mutant {
        Some(mutant) => bail!("the planted fault {mutant:?} was not found"),
        None => Ok(()),
    }
}
