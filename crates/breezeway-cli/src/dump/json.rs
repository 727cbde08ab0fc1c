//! Entries for scripts: the fields and their names are a contract with these.

use breezeway_proto::{Flags, Kind};
use breezeway_shm::Entry;
use breezeway_shm::dump::ControlDump;
use serde::Serialize;

use super::fields::{FLAGS, has, parts, waiting, word};
use super::known::Known;

/// Both rings of a session.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) pid: u32,
    pub(super) program: String,
    pub(super) session: u64,
    pub(super) role: &'static str,
    pub(super) peer_pid: Option<u32>,
    pub(super) sent: Ring,
    pub(super) received: Ring,
}

#[derive(Debug, Serialize)]
pub(super) struct Ring {
    capacity: u32,
    /// Entries so far.
    published: u64,
    /// Number of entries that wait to be taken.
    waiting: u64,
    /// The last ones.
    entries: Vec<Shown>,
}

#[derive(Debug, Serialize)]
struct Shown {
    position: u64,
    taken: bool,
    kind: &'static str,
    stream: u32,
    /// Value of the tag field of docs/abi.md: a method, an error code, a number of messages, a
    /// segment.
    tag: u32,
    flags: Vec<&'static str>,
    /// Method of the call or stream, if its opening was seen.
    method: Option<u32>,
    name: Option<String>,
    /// Bytes of a message with its metadata, of a segment, or of a window.
    bytes: u64,
    lent: Option<Lent>,
    /// In hexadecimal, if bodies were asked for and the entry holds it.
    metadata: Option<String>,
    body: Option<String>,
    /// The body decoded by the IDL.
    decoded: Option<String>,
}

/// Location of a message that is not in its entry.
#[derive(Debug, Serialize)]
struct Lent {
    segment: u32,
    offset: u64,
    lend: u32,
}

impl Ring {
    pub(super) fn new(ring: &ControlDump, consumed: u64, known: &Known, bodies: bool) -> Self {
        let shown = ring.entries.iter().map(|(position, entry)| {
            let mut shown = Shown::new(*position, *position < consumed, entry, known);
            if bodies {
                shown.add_body(entry, known);
            }
            shown
        });
        let ControlDump { capacity, published, .. } = *ring;
        Self { capacity, published, waiting: waiting(ring, consumed), entries: shown.collect() }
    }
}

impl Shown {
    fn new(position: u64, taken: bool, entry: &Entry, known: &Known) -> Self {
        let lent = has(entry, Flags::LENT).then(|| Lent {
            segment: word(entry, 0) as u32,
            offset: word(entry, 1),
            lend: (word(entry, 0) >> 32) as u32,
        });
        let kind = Kind::from_number(entry.kind_number());
        let bytes = match kind {
            Some(Kind::Message) if lent.is_some() => word(entry, 2),
            Some(Kind::Window | Kind::SegmentAdd) => word(entry, 0),
            _ => entry.inline().len() as u64,
        };
        Self {
            position,
            taken,
            kind: match kind {
                Some(Kind::Message) => "message",
                Some(Kind::Reset) => "reset",
                Some(Kind::Cancel) => "cancel",
                Some(Kind::Window) => "window",
                Some(Kind::SegmentAdd) => "segment_add",
                Some(Kind::SegmentRetire) => "segment_retire",
                Some(Kind::GoAway) => "go_away",
                Some(Kind::Shutdown) => "shutdown",
                Some(Kind::Deadline) | None => "unknown",
            },
            stream: entry.stream(),
            tag: entry.tag(),
            flags: FLAGS
                .iter()
                .filter(|(flag, _)| has(entry, *flag))
                .map(|(_, name)| *name)
                .collect(),
            method: known.method(entry),
            name: known.name(entry).map(str::to_owned),
            bytes,
            lent,
            metadata: None,
            body: None,
            decoded: None,
        }
    }

    fn add_body(&mut self, entry: &Entry, known: &Known) {
        let Some((metadata, message)) = parts(entry) else { return };
        self.metadata = metadata.map(hexadecimal);
        self.body = Some(hexadecimal(message));
        self.decoded = known.decoded(entry, message);
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
