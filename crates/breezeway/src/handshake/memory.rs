//! This side's shared memory of a session during its handshake.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use breezeway_os::{MemoryAccount, segment, segment::SegmentError};
use breezeway_proto::hello::{self, Hello};
use breezeway_shm::layout::{self, control_size};
use breezeway_shm::statistics::Meter;
use breezeway_shm::{ControlSegment, Endpoint, FirstSegment, ForeignControl, Limits};

use crate::carrier::Carrier;
use crate::options::SessionOptions;

const _: () = {
    let mut capacity = *layout::RING_CAPACITY.start();
    while capacity <= *layout::RING_CAPACITY.end() {
        assert!(layout::control_size(capacity) == hello::control_size(capacity));
        capacity *= 2;
    }
    assert!(*layout::RING_CAPACITY.start() == *hello::RING_CAPACITY.start());
    assert!(*layout::RING_CAPACITY.end() == *hello::RING_CAPACITY.end());
    assert!(*layout::LEND_COUNT.start() == *hello::LEND_COUNT.start());
    assert!(*layout::LEND_COUNT.end() == *hello::LEND_COUNT.end());
};

/// A control segment prepared before a client's hello arrives, as creating it takes longer than the
/// rest of the handshake. It was not sent to any peer.
#[derive(Default)]
pub(crate) struct ReadyControl(Option<(ControlSegment, OwnedFd)>);

impl ReadyControl {
    /// Creates a segment, if there is none.
    pub(crate) fn make(&mut self, carrier: Carrier, options: &SessionOptions) {
        if carrier == Carrier::Shm && self.0.is_none() {
            let Hello { ring_capacity, lend_count, .. } = options.hello(carrier);
            // If this fails, the client that needs a segment receives the error of creating it
            // then.
            self.0 = ControlSegment::create(ring_capacity, lend_count).ok();
        }
    }

    /// Frees the segment that no session has taken.
    pub(crate) fn give_up(&mut self) {
        self.0 = None;
    }

    /// Takes the prepared segment if it has these terms, or creates another.
    fn take(&mut self, terms: &Hello) -> Result<(ControlSegment, OwnedFd), SegmentError> {
        let (capacity, lends) = (terms.ring_capacity, terms.lend_count);
        let found = self.0.take_if(|(control, _)| control.is_of(capacity, lends));
        found.map_or_else(|| ControlSegment::create(capacity, lends), Ok)
    }
}

/// This side's control segment, and its first payload segment if that is created in advance.
pub(super) struct OwnMemory {
    control: ControlSegment,
    fd: OwnedFd,
    account: MemoryAccount,
    first: Option<FirstSegment>,
}

impl OwnMemory {
    /// Creates the memory of these terms; none without shared memory.
    pub(super) fn create(
        terms: &Hello,
        account: MemoryAccount,
        ready: &mut ReadyControl,
    ) -> Result<Option<Self>, SegmentError> {
        if !terms.memory {
            return Ok(None);
        }
        segment::probe()?;
        let size = control_size(terms.ring_capacity);
        let (control, fd) = account.make(size, |_| ready.take(terms))?;
        Ok(Some(Self { control, fd, account, first: None }))
    }

    /// Creates the payload memory that the options ask for, unless there is some within the cap. If
    /// memory is short now, the first message reports it if it is still short then.
    pub(super) fn prefault(&mut self, options: &SessionOptions, cap: u64) {
        let fits = |first: &FirstSegment| first.size() as u64 <= cap;
        if let Some(bytes) = options.ready_memory()
            && !self.first.as_ref().is_some_and(fits)
        {
            // A segment that is too large is freed before another is created.
            self.first = None;
            self.first = FirstSegment::create(bytes, cap, &self.account).ok();
        }
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Creates this side's end of the session.
    pub(super) fn into_endpoint(
        self,
        socket: OwnedFd,
        peer: ForeignControl,
        limits: Limits,
        meter: Meter,
    ) -> Endpoint {
        let mut endpoint = Endpoint::new(socket, self.control, peer, limits);
        endpoint.set_meter(meter);
        endpoint.set_memory_account(self.account);
        if let Some(first) = self.first {
            // A socket that has ended reports it again to the user of the session.
            let _ = endpoint.add_first_segment(first);
        }
        endpoint
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use breezeway_os::{MemoryLedger, MemoryLimits};

    use super::*;

    fn terms(options: &SessionOptions) -> Hello {
        options.hello(Carrier::Shm)
    }

    /// Returns the inode number of the memory.
    fn number(own: &OwnMemory) -> u64 {
        std::fs::File::from(own.fd.try_clone().unwrap()).metadata().unwrap().ino()
    }

    fn create(options: &SessionOptions, ready: &mut ReadyControl) -> OwnMemory {
        let account = MemoryAccount::default();
        OwnMemory::create(&terms(options), account, ready).unwrap().unwrap()
    }

    #[test]
    fn one_that_is_ready_goes_to_one_session() {
        let (options, mut ready) = (SessionOptions::new(), ReadyControl::default());
        ready.make(Carrier::Shm, &options);
        let made = ready.0.as_ref().map(|(_, fd)| fd.try_clone().unwrap()).unwrap();
        ready.make(Carrier::Shm, &options);
        let (first, second) = (create(&options, &mut ready), create(&options, &mut ready));
        let made = std::fs::File::from(made).metadata().unwrap().ino();
        assert_eq!(number(&first), made, "the one that was ready, of which there is one");
        assert_ne!(number(&second), made);
        assert!(ready.0.is_none());
    }

    #[test]
    fn a_session_with_another_ring_gets_one_of_its_own() {
        let (options, mut ready) = (SessionOptions::new(), ReadyControl::default());
        ready.make(Carrier::Shm, &options);
        let other = options.clone().ring_capacity(512);
        assert!(create(&other, &mut ready).control.is_of(512, terms(&options).lend_count));
        assert!(ready.0.is_some(), "and leaves it to the next");
    }

    #[test]
    fn none_is_made_without_shared_memory() {
        let mut ready = ReadyControl::default();
        for carrier in [Carrier::Unix, Carrier::Tcp, Carrier::Tls] {
            ready.make(carrier, &SessionOptions::new());
        }
        assert!(ready.0.is_none());
    }

    #[test]
    fn ready_segment_counts_on_use_and_survives_a_refusal() {
        let (options, mut ready) = (SessionOptions::new(), ReadyControl::default());
        let size = control_size(terms(&options).ring_capacity) as u64;
        let ledger = MemoryLedger::new(MemoryLimits { total: Some(size), of_user: None });
        ready.make(Carrier::Shm, &options);
        assert_eq!(ledger.held(), 0);
        let account = || ledger.account(None);
        let own = OwnMemory::create(&terms(&options), account(), &mut ready).unwrap().unwrap();
        assert_eq!(ledger.held(), size);
        ready.make(Carrier::Shm, &options);
        let refused = OwnMemory::create(&terms(&options), account(), &mut ready).err().unwrap();
        assert!(refused.is_shortage() && ready.0.is_some(), "{refused}");
        drop(own);
        assert_eq!(ledger.held(), 0);
    }
}
