//! The tables of HPACK (RFC 7541, section 2.3 and appendix A).

use std::collections::VecDeque;

/// A header field: its name and its value.
pub(crate) type Field = (Vec<u8>, Vec<u8>);

/// The most that the dynamic table holds: the default of its setting, which this side leaves as it
/// is.
const CAPACITY: usize = 4096;
/// An entry counts this many bytes besides its name and value.
const OVERHEAD: usize = 32;

const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// Returns the bytes that a field counts in a table and in a list.
pub(super) fn size((name, value): &Field) -> usize {
    name.len() + value.len() + OVERHEAD
}

/// The fields that a decoder may refer to by their index.
pub(super) struct Table {
    dynamic: VecDeque<Field>,
    size: usize,
    capacity: usize,
}

impl Table {
    pub(super) fn new() -> Self {
        Self { dynamic: VecDeque::new(), size: 0, capacity: CAPACITY }
    }

    /// Returns the name and the value of a field.
    pub(super) fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let index = index.checked_sub(1)?;
        match STATIC.get(index) {
            Some((name, value)) => Some((name.as_bytes(), value.as_bytes())),
            None => {
                self.dynamic.get(index - STATIC.len()).map(|(name, value)| (&name[..], &value[..]))
            }
        }
    }

    pub(super) fn add(&mut self, field: Field) {
        self.size += size(&field);
        self.dynamic.push_front(field);
        self.evict();
    }

    /// Sets the capacity, which may not exceed that of this side's setting.
    pub(super) fn resize(&mut self, capacity: usize) -> Option<()> {
        self.capacity = (capacity <= CAPACITY).then_some(capacity)?;
        self.evict();
        Some(())
    }

    fn evict(&mut self) {
        while self.size > self.capacity
            && let Some(field) = self.dynamic.pop_back()
        {
            self.size -= size(&field);
        }
    }
}
