//! What a handler knows of a call beside its arguments.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use breezeway::{Carrier, Peer};

use crate::error::Error;
use crate::metadata::{self, Pairs, RequestMetadata};
use crate::thrift::ExceptionKind;

/// What a handler knows of a call beside its arguments.
#[derive(Debug)]
pub struct Context {
    peer: Peer,
    carrier: Carrier,
    deadline: Option<Instant>,
    metadata: RequestMetadata,
    /// Names and values for the client.
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

    /// With the metadata as it came over a shared session.
    pub(crate) fn with_block(mut self, block: Option<&[u8]>) -> Result<Self, Error> {
        if let Some(block) = block {
            self.read_block(block)?;
        }
        Ok(self)
    }

    /// As [`Self::with_block`], where it lies.
    pub(crate) fn read_block(&mut self, block: &[u8]) -> Result<(), Error> {
        let broken = "the metadata is no pairs of names and values";
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

    /// The same, but for what the handler has given so far: for a handler behind layers.
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

    /// Who calls: the credentials of the process that connected.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// What the call came by, and the reply goes by.
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// When the client gives up; nothing if it waits for ever. Pass it on to the calls that this
    /// one takes.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// How long the client still waits: zero once it has given up.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// The value that the client, or for a persistent name any caller before it, gave this name.
    pub fn metadata(&self, name: &str) -> Option<&[u8]> {
        self.metadata.get(name)
    }

    /// Gives the client a value beside the result: it goes one call back. With a call of a session
    /// of [`Server`](crate::Server) it does not travel; with a stream it does. Thrift's clients get
    /// it in TTHeader: other framings have no place for it.
    pub fn set_reply_metadata(&self, name: &str, value: impl AsRef<[u8]>) {
        self.lock().push((name.into(), value.as_ref().into()));
    }

    fn lock(&self) -> MutexGuard<'_, Pairs> {
        self.reply.lock().expect("nobody panics with the lock")
    }
}
