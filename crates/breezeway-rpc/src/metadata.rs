//! Metadata beside arguments and results: names and values.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::error::Error;

/// Prefix of a name whose value travels along the whole chain of calls.
const PERSISTENT: &str = "RPC_PERSIST_";
/// Prefix of a name whose value travels to the next service only.
const TRANSIENT: &str = "RPC_TRANSIT_";
/// Optional prefix of a name whose value travels back to the caller. Kitex reads and writes such
/// names without it, Volo with it.
const BACKWARD: &str = "RPC_BACKWARD_";

/// Names and values in transport form: with their prefixes.
pub(crate) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Returns the value of the last pair with this name and one of these prefixes.
fn find<'p>(pairs: &'p Pairs, prefixes: &[&str], name: &str) -> Option<&'p [u8]> {
    let is_it = |key: &[u8]| {
        let mut rest = prefixes.iter().filter_map(|prefix| key.strip_prefix(prefix.as_bytes()));
        rest.any(|rest| rest == name.as_bytes())
    };
    pairs.iter().rev().find(|(key, _)| is_it(key)).map(|(_, value)| value.as_slice())
}

fn pair(prefix: &str, name: &str, value: impl AsRef<[u8]>) -> (Vec<u8>, Vec<u8>) {
    ([prefix, name].concat().into_bytes(), value.as_ref().to_vec())
}

/// Metadata of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestMetadata(pub(crate) Pairs);

impl RequestMetadata {
    pub(crate) fn add(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.0.push(pair(TRANSIENT, name, value));
    }

    pub(crate) fn add_persistent(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.0.push(pair(PERSISTENT, name, value));
    }

    pub(crate) fn get(&self, name: &str) -> Option<&[u8]> {
        find(&self.0, &[TRANSIENT, PERSISTENT], name)
    }

    /// Returns the names without their prefixes.
    #[cfg(feature = "opentelemetry")]
    pub(crate) fn names(&self) -> impl Iterator<Item = &[u8]> {
        let bare = |key| {
            let prefixes = [TRANSIENT, PERSISTENT];
            prefixes.iter().find_map(|prefix| <[u8]>::strip_prefix(key, prefix.as_bytes()))
        };
        self.0.iter().filter_map(move |(key, _)| bare(key))
    }

    /// Returns the pairs that travel along the whole chain of calls.
    pub(crate) fn persistent(&self) -> impl Iterator<Item = &(Vec<u8>, Vec<u8>)> {
        self.0.iter().filter(|(key, _)| key.starts_with(PERSISTENT.as_bytes()))
    }
}

/// Metadata of a reply: names and values.
///
/// Pass it to [`CallOptions::receive_metadata`], and read it after the call.
///
/// [`CallOptions::receive_metadata`]: crate::CallOptions::receive_metadata
#[derive(Clone, Debug, Default)]
pub struct ReplyMetadata(Arc<Mutex<Pairs>>);

impl ReplyMetadata {
    /// Creates empty metadata.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the value that the last call's handler set for this name.
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        find(&self.lock(), &[BACKWARD, ""], name).map(<[u8]>::to_vec)
    }

    /// Returns all names and values that the last call's handler set, as they travel: a name may
    /// begin with `RPC_BACKWARD_`.
    pub fn pairs(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.lock().clone()
    }

    pub(crate) fn replace(&self, pairs: Pairs) {
        *self.lock() = pairs;
    }

    /// Adds the metadata of a stream's entry.
    pub(crate) fn add_block(&self, block: Option<&[u8]>) -> Result<(), Error> {
        let broken =
            || Error::Protocol("the metadata is not a list of names and values".to_owned());
        if let Some(block) = block {
            self.add(decode(block).ok_or_else(broken)?);
        }
        Ok(())
    }

    /// Adds metadata that arrives later on a stream.
    pub(crate) fn add(&self, pairs: Pairs) {
        self.lock().extend(pairs);
    }

    fn lock(&self) -> MutexGuard<'_, Pairs> {
        self.0.lock().expect("no panic under the lock")
    }
}

/// Returns the pairs of a reply for clients in TTHeader: each value under its bare name, which
/// Kitex's clients read, and under the name with the prefix, the only ones that Volo's read.
pub(crate) fn for_thrift_clients(pairs: Pairs) -> Pairs {
    let both = |(key, value): (Vec<u8>, Vec<u8>)| {
        let bare = key.strip_prefix(BACKWARD.as_bytes()).unwrap_or(&key).to_vec();
        [([BACKWARD.as_bytes(), &bare].concat(), value.clone()), (bare, value)]
    };
    pairs.into_iter().flat_map(both).collect()
}

/// Returns the block in which pairs travel natively: for each two lengths of 16 bits, big-endian,
/// and the bytes. `None` without pairs.
pub(crate) fn encode(pairs: &Pairs) -> Result<Option<Vec<u8>>, Error> {
    let mut block = Vec::new();
    for text in pairs.iter().flat_map(|(key, value)| [key, value]) {
        let (size, limit) = (text.len(), usize::from(u16::MAX));
        let length = u16::try_from(size).map_err(|_| Error::MetadataTooLong { size, limit })?;
        block.extend_from_slice(&length.to_be_bytes());
        block.extend_from_slice(text);
    }
    Ok((!block.is_empty()).then_some(block))
}

/// Returns the pairs of a block, or `None` if it is invalid.
pub(crate) fn decode(mut block: &[u8]) -> Option<Pairs> {
    let mut text = || {
        let (length, rest) = block.split_first_chunk()?;
        let (text, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        block = rest;
        Some((text.to_vec(), rest.is_empty()))
    };
    let mut pairs = Vec::new();
    loop {
        let (key, _) = text()?;
        let (value, is_end) = text()?;
        pairs.push((key, value));
        if is_end {
            return Some(pairs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_survive_their_block() {
        let mut metadata = RequestMetadata::default();
        metadata.add("a", "1");
        metadata.add_persistent("trace", [0, 255]);
        metadata.add("empty", "");
        assert_eq!(decode(&encode(&metadata.0).unwrap().unwrap()).unwrap(), metadata.0);
    }

    #[test]
    fn reply_metadata_is_found_with_and_without_prefix() {
        let reply = ReplyMetadata::new();
        reply.replace(vec![
            (b"a".to_vec(), b"1".to_vec()),
            (b"RPC_BACKWARD_b".to_vec(), b"2".to_vec()),
        ]);
        assert_eq!((reply.get("a"), reply.get("b")), (Some(b"1".to_vec()), Some(b"2".to_vec())));
        assert_eq!(reply.get("c"), None);
        assert_eq!(reply.pairs()[1], (b"RPC_BACKWARD_b".to_vec(), b"2".to_vec()));
    }

    #[test]
    fn thrift_clients_get_bare_and_prefixed_names_once_each() {
        let text = |text: &str| text.as_bytes().to_vec();
        let both = vec![(text("RPC_BACKWARD_a"), text("1")), (text("a"), text("1"))];
        for key in ["a", "RPC_BACKWARD_a"] {
            assert_eq!(for_thrift_clients(vec![(text(key), text("1"))]), both);
        }
    }

    #[test]
    fn a_block_that_is_cut_anywhere_is_refused() {
        let mut metadata = RequestMetadata::default();
        metadata.add("name", "value");
        let block = encode(&metadata.0).unwrap().unwrap();
        for end in 0..block.len() {
            assert_eq!(decode(&block[..end]), None, "{end}");
        }
    }

    #[test]
    fn last_value_of_a_name_counts_despite_prefix() {
        let mut metadata = RequestMetadata::default();
        metadata.add("a", "1");
        metadata.add_persistent("a", "2");
        assert_eq!(metadata.get("a"), Some(&b"2"[..]));
        assert_eq!(metadata.get("b"), None);
        assert_eq!(metadata.persistent().count(), 1);
    }

    #[test]
    fn values_too_long_for_a_block_are_refused() {
        let outcome = encode(&vec![(b"k".to_vec(), vec![0; 65_536])]);
        let Err(Error::MetadataTooLong { size, limit }) = outcome else { panic!("{outcome:?}") };
        assert_eq!((size, limit), (65_536, 65_535));
    }
}
