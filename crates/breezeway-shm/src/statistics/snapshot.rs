//! Records as read by their owner, or by a tool that must not trust them.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::io;

use breezeway_os::{SharedMemory, shared_mappings};

pub use super::fields::Totals;
use super::fields::{
    CAPACITY, Field, HEADER_SIZE, Header, Identity, MAGIC, RECORD_SIZE, TIMES_SIZE, VERSION,
};
use super::times::Times;
use crate::ring::Want;

/// Name of the file of statistics, by which tools find it.
pub(super) const LABEL: &CStr = c"breezeway-stats";
/// Maximum number of records read from one process, whatever its header claims.
const MOST_RECORDS: usize = 4 * CAPACITY;

/// End of a session that a record belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// The end that makes the calls.
    Client = 1,
    /// The end that serves them.
    Server = 2,
    /// No session: a thread that serves sessions.
    Worker = 3,
}

/// Condition that a side waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WaitsFor {
    /// An entry of the peer.
    Data = 1,
    /// Room: the peer has to consume entries.
    Room = 2,
    /// Memory: payload has to come back.
    Memory = 3,
}

impl From<Want> for WaitsFor {
    fn from(want: Want) -> Self {
        match want {
            Want::Data => Self::Data,
            Want::Consumed(_) => Self::Room,
            Want::Memory { .. } => Self::Memory,
        }
    }
}

impl WaitsFor {
    /// Returns the condition with this number in [`Totals::waits_for`].
    pub fn from_number(number: u64) -> Option<Self> {
        [Self::Data, Self::Room, Self::Memory].into_iter().find(|&what| what as u64 == number)
    }
}

/// The contents of a record. Only the role is validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// Number of the session in its process, from 1 on.
    pub number: u64,
    /// End of the session that the record belongs to.
    pub role: Role,
    /// The carrier: 1 shared memory, 2 a unix socket, 3 TCP.
    pub carrier: u8,
    /// The wait policy: 1 busy, 2 park, 3 adaptive.
    pub policy: u8,
    /// True if threads or tasks share the session.
    pub shared: bool,
    /// The peer's process.
    pub peer_pid: Option<u32>,
    /// The peer's user.
    pub peer_uid: Option<u32>,
    /// Start of the session, in nanoseconds of `CLOCK_BOOTTIME`.
    pub since: u64,
    /// Maximum of payload bytes per direction.
    pub cap: u64,
    /// Entries of the own ring and of the peer's.
    pub rings: [u32; 2],
    /// Maximum of calls in flight.
    pub max_in_flight: u64,
    /// The counted numbers.
    pub totals: Totals,
}

impl Record {
    /// Reads a record with a valid role.
    pub(super) fn read(word: impl Fn(usize) -> u64) -> Self {
        Self::parse(word).expect("an owner writes roles that exist")
    }

    fn parse(word: impl Fn(usize) -> u64) -> Option<Self> {
        let identity = |field: Identity| word(field as usize);
        let halves = |value: u64| [value as u32, (value >> 32) as u32];
        let [role, carrier, policy, shared, ..] = identity(Identity::Kind).to_le_bytes();
        let roles = [Role::Client, Role::Server, Role::Worker];
        let role = roles.into_iter().find(|&known| known as u8 == role)?;
        let [pid, uid] = halves(identity(Identity::Peer));
        Some(Self {
            number: identity(Identity::Number),
            role,
            carrier,
            policy,
            shared: shared != 0,
            peer_pid: (pid != 0).then_some(pid),
            peer_uid: (uid != u32::MAX).then_some(uid),
            since: identity(Identity::Since),
            cap: identity(Identity::Cap),
            rings: halves(identity(Identity::Rings)),
            max_in_flight: identity(Identity::MaxInFlight),
            totals: Totals::read(&word),
        })
    }

    /// Returns the number of calls in progress that this side has begun or serves. Exact only for a
    /// session without streams.
    pub fn in_flight(&self) -> u64 {
        let Totals {
            calls_sent,
            ends_sent,
            errors_sent,
            calls_received,
            ends_received,
            errors_received,
            ..
        } = self.totals;
        let [begun, ended] = match self.role {
            Role::Client => [calls_sent, ends_received.wrapping_add(errors_received)],
            _ => [calls_received, ends_sent.wrapping_add(errors_sent)],
        };
        begun.saturating_sub(ended)
    }
}

/// Statistics of a process about its sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessStatistics {
    /// Start of its first session, in nanoseconds of `CLOCK_BOOTTIME`.
    pub since: u64,
    /// Sessions, and workers, so far.
    pub opened: u64,
    /// Number of those that found no free record.
    pub unrecorded: u64,
    /// Records of the live ones.
    pub records: Vec<Record>,
    /// Handler times by the number of their session, where they are known.
    pub times: HashMap<u64, Times>,
}

/// The open statistics file of another process.
#[derive(Debug)]
pub struct StatisticsFile {
    memory: SharedMemory,
}

impl StatisticsFile {
    /// Opens the file of a process of the same user, or of any as root. Returns `None` if it has
    /// none, because it has had no session. The process is not involved and not slowed down.
    ///
    /// # Errors
    ///
    /// The process does not exist, or the caller may not inspect it.
    pub fn open(pid: u32) -> io::Result<Option<Self>> {
        let label = LABEL.to_string_lossy();
        let is_ours = |name: &str| {
            let name = name.strip_prefix("/memfd:").and_then(|name| name.strip_prefix(&*label));
            name.is_some_and(|rest| rest.is_empty() || rest == " (deleted)")
        };
        let mut other = None;
        for mapping in shared_mappings(pid)? {
            if !is_ours(&mapping.name) {
                continue;
            }
            let memory = match mapping.open() {
                Ok(memory) => memory,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let mut magic = [0; 8];
            match memory.read_at(0, &mut magic).map(|()| u64::from_le_bytes(magic)) {
                Ok(MAGIC) => return Ok(Some(Self { memory })),
                // Unused: a process that makes two files at once keeps the unused one open for a
                // moment beside the one that it uses.
                Ok(0) => {}
                _ => other = Some(Self { memory }),
            }
        }
        Ok(other)
    }

    /// Reads the current statistics.
    ///
    /// # Errors
    ///
    /// It is not a statistics file, has another version, or cannot be read.
    pub fn read(&self) -> io::Result<ProcessStatistics> {
        let mut header = [0; HEAD_SIZE];
        self.memory.read_at(0, &mut header)?;
        let header = Head::parse(&header)?;
        let room = self.memory.len().saturating_sub(HEADER_SIZE as u64) / RECORD_SIZE as u64;
        let used = header.used.min(room).min(MOST_RECORDS as u64) as usize;
        let copy = || {
            let mut copy = vec![0; used * RECORD_SIZE];
            self.memory.read_at(HEADER_SIZE as u64, &mut copy).map(|()| copy)
        };
        let (before, records) = (copy()?, copy()?);
        let times = self.times(header.times, &records).unwrap_or_default();
        Ok(header.with(&before, &records, &copy()?, times))
    }

    /// Returns the handler times of the records that have some, by session, as far as they lie in
    /// the file and can be read: a thousand of them by one system call.
    fn times(&self, begin: Option<u64>, records: &[u8]) -> Option<HashMap<u64, Times>> {
        let records = records.chunks_exact(RECORD_SIZE).enumerate();
        let timed: Vec<(usize, u64)> = records
            .filter(|(_, record)| word(record, Field::Timed.word()) != 0)
            .map(|(index, record)| (index, word(record, Identity::Number as usize)))
            .collect();
        let (first, last) = (timed.first()?.0, timed.last()?.0);
        let offset = begin?.checked_add((first * TIMES_SIZE) as u64)?;
        let there = self.memory.len().saturating_sub(offset);
        let mut bytes = vec![0; there.min(((last + 1 - first) * TIMES_SIZE) as u64) as usize];
        self.memory.read_at(offset, &mut bytes).ok()?;
        let of = |(index, number): (usize, u64)| {
            let found = bytes.chunks_exact(TIMES_SIZE).nth(index - first)?;
            Some((number, Times::read(|index| word(found, index))))
        };
        Some(timed.into_iter().filter_map(of).collect())
    }
}

/// Size of the used part of the header in bytes.
const HEAD_SIZE: usize = 8 * (Header::TimesSize as usize + 1);

/// Contents of the header.
struct Head {
    since: u64,
    opened: u64,
    unrecorded: u64,
    used: u64,
    /// Offset of the handler times, if there are some.
    times: Option<u64>,
}

impl Head {
    fn parse(bytes: &[u8; HEAD_SIZE]) -> io::Result<Self> {
        let word = |field: Header| word(bytes, field as usize);
        if word(Header::Magic) != MAGIC {
            return Err(invalid("it is not a file of statistics"));
        }
        if word(Header::Version) != VERSION || word(Header::RecordSize) != RECORD_SIZE as u64 {
            return Err(invalid("its statistics are of another version"));
        }
        Ok(Self {
            since: word(Header::Since),
            opened: word(Header::Opened),
            unrecorded: word(Header::Unrecorded),
            used: word(Header::Used).min(word(Header::Capacity)),
            times: (word(Header::TimesSize) == TIMES_SIZE as u64)
                .then(|| word(Header::TimesOffset)),
        })
    }

    /// Returns the records that belong to the same session in a copy from before and in one from
    /// after. The order in which one copy was made is not known.
    fn with(
        self,
        before: &[u8],
        records: &[u8],
        after: &[u8],
        mut times: HashMap<u64, Times>,
    ) -> ProcessStatistics {
        let [before, records, after] =
            [before, records, after].map(|copy| copy.chunks_exact(RECORD_SIZE));
        let live = |((before, record), after): ((&[u8], &[u8]), &[u8])| {
            let sequence = word(before, Identity::Sequence as usize);
            let stands = sequence == word(after, Identity::Sequence as usize);
            let is_live = stands && sequence != 0 && sequence.is_multiple_of(2);
            is_live.then(|| Record::parse(|index| word(record, index))).flatten()
        };
        let records: Vec<Record> = before.zip(records).zip(after).filter_map(live).collect();
        let numbers: HashSet<u64> = records.iter().map(|record| record.number).collect();
        times.retain(|number, _| numbers.contains(number));
        let Self { since, opened, unrecorded, .. } = self;
        ProcessStatistics { since, opened, unrecorded, records, times }
    }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Returns a word of a record or of a header.
fn word(bytes: &[u8], index: usize) -> u64 {
    let at = 8 * index;
    bytes.get(at..at + 8).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")))
}

#[cfg(test)]
mod tests;
