//! Runs the cells, and prints the table.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::Outcome;
use crate::cells::{CARRIERS, CASES, Kind, impossible, unpaired};
use crate::programs::Programs;

/// Number of pairs of a client and a server that run at the same time.
const THREADS: usize = 3;

/// Cases of a short run: each of another part of the protocol.
const SHORT: [&str; 10] = [
    "call",
    "exception",
    "business error",
    "oneway",
    "unknown method",
    "deadline at handler",
    "reply metadata",
    "16 MiB",
    "two-way stream",
    "kill",
];

/// A client, a server, and the medium between them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    client: Kind,
    server: Kind,
    carrier: &'static str,
}

impl std::fmt::Display for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { client, server, carrier } = self;
        write!(f, "{} -> {} over {carrier}", client.name(), server.name())
    }
}

/// What came of a case.
enum Cell {
    Passed,
    Impossible(&'static str),
    Failed(String),
}

/// Runs the cells that the options choose.
pub(crate) fn run(options: &[&str]) -> Outcome {
    let is_short = options.contains(&"--short");
    let only: Vec<&str> =
        options.windows(2).filter(|two| two[0] == "--only").map(|two| two[1]).collect();
    let chosen = |named: usize| -> Vec<Kind> {
        let is_named =
            |kind: Kind| only.iter().any(|pair| pair.split(':').nth(named) == Some(kind.name()));
        let all = Kind::ALL.into_iter().filter(|&kind| !is_short || !kind.is_volo());
        all.filter(|&kind| only.is_empty() || is_named(kind)).collect()
    };
    let (clients, servers) = (chosen(0), chosen(1));
    let programs = Programs::build(&[&*clients, &*servers].concat())?;
    for kind in clients.iter().filter(|&&kind| !programs.has(kind)) {
        println!("SKIPPED: {}, which needs Go", kind.name());
    }
    let is_built = |kind: &Kind| programs.has(*kind);
    let mut pairs = Vec::new();
    for &server in servers.iter().filter(|kind| is_built(kind)) {
        for &client in clients.iter().filter(|kind| is_built(kind)) {
            pairs.extend(CARRIERS.map(|carrier| Pair { client, server, carrier }));
        }
    }
    let cases: &[&str] = if is_short { &SHORT } else { &CASES };
    let table = all(&programs, &pairs, cases);
    print(&table, &pairs, cases)
}

type Table = std::collections::HashMap<(Pair, &'static str), Cell>;

/// Runs the cells of all pairs.
fn all(programs: &Programs, pairs: &[Pair], cases: &[&'static str]) -> Table {
    let (next, table) = (AtomicUsize::new(0), Mutex::new(Table::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(&pair) = pairs.get(next.fetch_add(1, Ordering::SeqCst)) {
                    for (case, cell) in column(programs, pair, cases) {
                        if let Cell::Failed(words) = &cell {
                            eprintln!("{pair}, {case}: {words}");
                        }
                        table.lock().expect("no panic").insert((pair, case), cell);
                    }
                }
            });
        }
    });
    table.into_inner().expect("no panic")
}

/// Runs the cases of a pair, with one server for those that leave it alive.
fn column(programs: &Programs, pair: Pair, cases: &[&'static str]) -> Vec<(&'static str, Cell)> {
    let Pair { client, server, carrier } = pair;
    if let Some(reason) = unpaired(client, server, carrier) {
        return cases.iter().map(|&case| (case, Cell::Impossible(reason))).collect();
    }
    let folder = tempfile::tempdir().expect("a folder");
    let address = format!("{carrier}:{}/matrix", folder.path().display());
    let serving = programs.serve(server, &address);
    let mut serving = match serving {
        Ok(serving) => Some(serving),
        Err(words) => {
            return cases.iter().map(|&case| (case, Cell::Failed(words.clone()))).collect();
        }
    };
    let mut cell = |case: &'static str| {
        if let Some(reason) = impossible(client, server, case) {
            return Cell::Impossible(reason);
        }
        let begun = Instant::now();
        let mut outcome = || {
            let mut calling = programs.call(client, server, &address, case)?;
            let mut line = calling.line()?;
            if line == "ready" {
                let old = serving.take().expect("a server");
                if case == "kill" {
                    drop(old)
                } else {
                    old.stop()?
                }
                serving = Some(programs.serve(server, &address)?);
                calling.go_on();
                line = calling.line()?;
            }
            if line == "ok" { Ok(()) } else { Err(line) }
        };
        match outcome() {
            Ok(()) => Cell::Passed,
            Err(words) => Cell::Failed(format!("{words} (after {:.1?})", begun.elapsed())),
        }
    };
    cases.iter().map(|&case| (case, cell(case))).collect()
}

/// Prints a table of each server, and the reasons. It is an error if a cell has failed.
fn print(table: &Table, pairs: &[Pair], cases: &[&'static str]) -> Outcome {
    let mut reasons = BTreeMap::new();
    let mut counts = [0; 3];
    let mut failures = Vec::new();
    let (mut servers, mut clients) = (Vec::new(), Vec::new());
    for pair in pairs {
        if !servers.contains(&pair.server) {
            servers.push(pair.server);
        }
        if !clients.contains(&pair.client) {
            clients.push(pair.client);
        }
    }
    for server in servers {
        let names: Vec<_> = clients.iter().map(|client| client.name()).collect();
        println!("\n| server {} | {} |", server.name(), names.join(" | "));
        println!("|---|{}", "---|".repeat(names.len()));
        for &case in cases {
            let mut row = String::new();
            for &client in &clients {
                let cells = CARRIERS.map(|carrier| {
                    let pair = Pair { client, server, carrier };
                    let cell = &table[&(pair, case)];
                    if let Cell::Failed(words) = cell {
                        failures.push(format!("{pair}, {case}: {words}"));
                    }
                    cell
                });
                row += &format!(" {} |", text(cells, &mut reasons, &mut counts));
            }
            println!("| {case} |{row}");
        }
    }
    println!();
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|&(_, number)| number);
    for (reason, number) in reasons {
        println!("{number}. {reason}");
    }
    let [passed, impossible, failed] = counts;
    println!("\n{passed} cells passed, {failed} failed, {impossible} cannot be");
    if failed == 0 { Ok(()) } else { Err(failures.join("\n")) }
}

/// Returns the text of the cells of both carriers.
fn text(
    cells: [&Cell; 2],
    reasons: &mut BTreeMap<&'static str, usize>,
    counts: &mut [usize; 3],
) -> String {
    let mut words = Vec::new();
    for (carrier, cell) in CARRIERS.into_iter().zip(cells) {
        words.push(match cell {
            Cell::Passed => {
                counts[0] += 1;
                carrier.to_owned()
            }
            Cell::Impossible(reason) => {
                counts[1] += 1;
                let next = reasons.len() + 1;
                format!("({})", reasons.entry(reason).or_insert(next))
            }
            Cell::Failed(_) => {
                counts[2] += 1;
                format!("**{carrier} fails**")
            }
        });
    }
    words.dedup();
    words.join(" ")
}
