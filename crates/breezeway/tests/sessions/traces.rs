//! Traces: the entries of scripted conversations, in order, as they were recorded.
//!
//! One engine of this crate talks to a peer by hand that plays a fixed script. Each step of either
//! side waits for the one before, so that the entries do not depend on time. The entries of both
//! sides are compared with a file in `traces/`: a change of an engine that is not meant to change
//! its entries proves so. `make golden` (`UPDATE_GOLDEN=1`) records the files again.
//!
//! A line of a file is one entry: `>` from the client, `<` from the server. The words are those of
//! `docs/abi.md`; fields that are zero are left out. A body is text in quotes, a number,
//! hexadecimal, or its length and a checksum if it is long; a lent one has its place: segment +
//! offset, and lend number. `bit N` is a release by its bit in the control segment, and `end` the
//! end of the connection.

mod exclusive_client;
mod exclusive_server;
mod script;
mod shared_client;
mod shared_server;
mod shared_worker;

use std::fmt::Write as _;
use std::path::Path;

use breezeway::Carrier;

const SHM: [Carrier; 1] = [Carrier::Shm];
/// They have the same frames, and so the same traces.
const SOCKETS: [Carrier; 2] = [Carrier::Unix, Carrier::Tcp];

/// Names of conversations with their entries.
type Trace = Vec<(&'static str, String)>;

/// Compares what is recorded on each carrier with the file of this name, or writes it.
#[track_caller]
fn compare(name: &str, carriers: &[Carrier], record: impl Fn(Carrier) -> Trace) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/traces");
    let file = folder.join(format!("{name}.txt"));
    for &carrier in carriers {
        let mut text = "# Entries of both sides: see ../traces.rs.\n".to_owned();
        for (name, lines) in record(carrier) {
            write!(text, "\nconversation {name}\n{lines}").expect("a string takes everything");
        }
        if std::env::var_os("UPDATE_GOLDEN").is_some() && carrier == carriers[0] {
            std::fs::write(&file, &text).expect("the folder is there");
        }
        let recorded = std::fs::read_to_string(&file).unwrap_or_default();
        if let Some(difference) = difference(&recorded, &text) {
            panic!("{carrier}: {}: {difference}", file.display());
        }
    }
}

/// Returns the first line that differs, with its conversation.
fn difference(recorded: &str, found: &str) -> Option<String> {
    let most = recorded.lines().count().max(found.lines().count());
    let (mut recorded, mut found) = (recorded.lines(), found.lines());
    let mut conversation = "";
    for number in 1..=most {
        let (expected, line) = (recorded.next(), found.next());
        if let Some(name) = expected.and_then(|line| line.strip_prefix("conversation ")) {
            conversation = name;
        }
        if expected != line {
            return Some(format!(
                "line {number} ({conversation}) is\n{}\nand was recorded as\n{}\n\
                 if that is meant, record it anew: make golden",
                line.unwrap_or("no line"),
                expected.unwrap_or("no line"),
            ));
        }
    }
    None
}
