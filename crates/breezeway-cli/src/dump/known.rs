//! Names of entries: the methods that they belong to, and the IDL that names these.

use std::collections::HashMap;

use breezeway_proto::Flags;
use breezeway_shm::Entry;
use breezeway_shm::dump::ControlDump;

use super::fields::{has, opens};
use super::idl::Idl;

/// The methods of entries, and the IDL that names them.
pub(super) struct Known {
    pub(super) idl: Option<Idl>,
    /// Methods of the calls whose opening was seen, by their streams.
    pub(super) methods: HashMap<u32, u32>,
}

impl Known {
    pub(super) fn new(idl: Option<Idl>, rings: [&ControlDump; 2]) -> Self {
        let entries = rings.into_iter().flat_map(|ring| &ring.entries);
        let opens = |(_, entry): &(u64, Entry)| Some((entry.stream(), opens(entry)?));
        Self { idl, methods: entries.filter_map(opens).collect() }
    }

    /// The method that an entry belongs to.
    pub(super) fn method(&self, entry: &Entry) -> Option<u32> {
        self.methods.get(&entry.stream()).copied()
    }

    /// The name of that method.
    pub(super) fn name(&self, entry: &Entry) -> Option<&str> {
        self.idl.as_ref()?.name(self.method(entry)?)
    }

    /// The message of an entry as Thrift; `None` without an IDL, for an error, and for a message
    /// that is not Thrift.
    pub(super) fn decoded(&self, entry: &Entry, message: &[u8]) -> Option<String> {
        if has(entry, Flags::ERROR) {
            return None;
        }
        self.idl.as_ref()?.decoded(entry, message, self.method(entry))
    }
}
