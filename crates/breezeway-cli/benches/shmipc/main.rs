//! Breezeway's shmipc against upstream's, each with itself and with the other, in one run.
//!
//! Every measurement has a server of its own, so that nothing else runs during it. A round measures
//! all pairs of a client and a server once; the printed figure is the median of the rounds' ratios.
//! `cargo bench -p breezeway-cli --bench shmipc -- --quick` takes a minute; without `--quick` some
//! five. A part of a work's name, as in `-- --quick 199`, measures that work only. `make
//! shmipc-peers` builds upstream's programs.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

mod floor;
mod measurement;
mod ours;
mod table;
mod work;

use std::error::Error;

use work::{WORK, Work};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` builds benches and may run them: then there is nothing to measure.
    if arguments.iter().any(|argument| argument == "--test") {
        return Ok(());
    }
    if arguments.first().is_some_and(|argument| argument == ours::ROLE) {
        return ours::play(&arguments[1..]);
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let rounds = if quick { 3 } else { 15 };
    measurement::check_peers()?;
    table::explain();
    let is_wanted = |work: &&Work| {
        let mut names = arguments.iter().filter(|argument| !argument.starts_with("--")).peekable();
        names.peek().is_none() || names.any(|name| work.name.contains(name.as_str()))
    };
    for work in WORK.iter().filter(is_wanted) {
        let rounds = (0..rounds).map(|_| work.measure()).collect::<Outcome<Vec<_>>>()?;
        table::print(work, &rounds);
    }
    Ok(())
}
