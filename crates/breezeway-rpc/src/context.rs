//! Properties of a call beside its arguments, for handlers.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use breezeway::{Carrier, Peer};

use crate::error::Error;
use crate::metadata::{self, Pairs, RequestMetadata};
use crate::thrift::ExceptionKind;

/// Properties of a call beside its arguments, for handlers.
#[derive(Debug)]
pub struct Context {
    peer: Peer,
    carrier: Carrier,
    deadline: Option<Instant>,
    metadata: RequestMetadata,
    /// Metadata of the reply.
    reply: Mutex<Pairs>,
}

impl Context {
    #[inline]
    pub(crate) fn new(peer: Peer, carrier: Carrier, time_left: Option<Duration>) -> Self {
        let deadline = time_left.and_then(|left| Instant::now().checked_add(left));
        let (metadata, reply) = (RequestMetadata::default(), Mutex::default());
        Self { peer, carrier, deadline, metadata, reply }
    }

    pub(crate) fn with_metadata(self, metadata: RequestMetadata) -> Self {
        Self { metadata, ..self }
    }

    /// Adds the metadata in its format on a shared session.
    pub(crate) fn with_block(mut self, block: Option<&[u8]>) -> Result<Self, Error> {
        if let Some(block) = block {
            self.read_block(block)?;
        }
        Ok(self)
    }

    /// Reads a block like [`with_block`](Self::with_block), by reference.
    pub(crate) fn read_block(&mut self, block: &[u8]) -> Result<(), Error> {
        let broken = "the metadata is not a list of names and values";
        let broken = || Error::new(ExceptionKind::PROTOCOL_ERROR, broken);
        self.metadata = RequestMetadata(metadata::decode(block).ok_or_else(broken)?);
        Ok(())
    }

    pub(crate) fn request_metadata(&self) -> &RequestMetadata {
        &self.metadata
    }

    pub(crate) fn take_reply_metadata(&self) -> Pairs {
        std::mem::take(&mut *self.lock())
    }

    /// Returns a copy without the reply metadata set so far: for a handler behind layers.
    #[cfg(feature = "tower")]
    pub(crate) fn for_layers(&self) -> Self {
        let (metadata, reply) = (self.metadata.clone(), Mutex::default());
        Self {
            peer: self.peer.clone(),
            carrier: self.carrier,
            deadline: self.deadline,
            metadata,
            reply,
        }
    }

    #[cfg(feature = "tower")]
    pub(crate) fn add_reply_metadata(&self, pairs: Pairs) {
        self.lock().extend(pairs);
    }

    /// Returns the client: the credentials of the process that connected.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Returns the carrier of the call and its reply.
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Returns the client's deadline; `None` if it waits for ever. Pass it on to the calls that the
    /// handler makes.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns the client's remaining time: zero once its deadline has passed.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Returns the value of this name from the client, or, for a persistent name, from any caller
    /// before it.
    pub fn metadata(&self, name: &str) -> Option<&[u8]> {
        self.metadata.get(name)
    }

    /// Returns all names and values from the client, as they travel: a name begins with
    /// `RPC_TRANSIT_`, or with `RPC_PERSIST_` if it is for the whole chain of calls.
    pub fn metadata_pairs(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.metadata.0.iter().map(|(name, value)| (name.as_slice(), value.as_slice()))
    }

    /// Sets a value for the client beside the result: it travels one call back. In a call of a
    /// session of [`Server`](crate::Server) it does not travel; in a stream it does. Thrift's
    /// clients get it in TTHeader: other framings have no place for it.
    pub fn set_reply_metadata(&self, name: &str, value: impl AsRef<[u8]>) {
        self.lock().push((name.into(), value.as_ref().into()));
    }

    fn lock(&self) -> MutexGuard<'_, Pairs> {
        self.reply.lock().expect("no panic under the lock")
    }
}
