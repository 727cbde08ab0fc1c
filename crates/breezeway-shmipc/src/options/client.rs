//! The settings of a client.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use super::{OptionError, SessionOptions, Trust};
use crate::address::Address;
use crate::layout::buffer::{BufferLayout, List};
use crate::layout::queue::region_size;

/// Smallest buffer region; upstream refuses smaller ones.
const SMALLEST_BUFFER: u32 = 1 << 20;
/// Maximum number of slice sizes, more than in any real configuration.
const MOST_CLASSES: usize = 64;

/// Location of a client's regions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    /// In memfds, passed over the unix socket: protocol version 3. No name, nothing to clean up.
    Memfd,
    /// In files with this path prefix, for a server that supports only files, or over TCP: protocol
    /// version 2. They are removed as soon as the server is known to have them, at the latest with
    /// the session.
    FilesV2(PathBuf),
    /// In files like [`FilesV2`](Self::FilesV2), with the acknowledgements of version 3. shmipc-go
    /// and shmipc-rs accept it, though their clients never request it.
    FilesV3(PathBuf),
}

/// Settings of a client.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    pub(crate) session: SessionOptions,
    pub(crate) memory: Memory,
    pub(crate) trust: Trust,
    pub(crate) sessions: usize,
    pub(crate) queue_capacity: u32,
    pub(crate) buffer_size: u32,
    pub(crate) slices: Vec<(u32, u32)>,
    pub(crate) preallocate: bool,
    pub(crate) connect_timeout: Duration,
    pub(crate) back_off: (Duration, Duration),
}

impl ClientOptions {
    /// Creates the default options, for a server that is trusted as given.
    pub fn new(trust: Trust) -> Self {
        Self {
            session: SessionOptions::default(),
            memory: Memory::Memfd,
            trust,
            sessions: 1,
            queue_capacity: 8192,
            buffer_size: 32 << 20,
            slices: vec![(8172, 50), (32_748, 30), (131_052, 20)],
            preallocate: false,
            connect_timeout: Duration::from_secs(5),
            back_off: (Duration::from_millis(10), Duration::from_secs(2)),
        }
    }

    /// Sets the options of each session.
    pub fn session(mut self, options: SessionOptions) -> Self {
        self.session = options;
        self
    }

    /// Sets the location of the regions. Default [`Memory::Memfd`].
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// Sets the number of sessions (sockets, queues) that the streams are spread over, at least 1.
    /// Default 1.
    pub fn sessions(mut self, count: usize) -> Self {
        self.sessions = count;
        self
    }

    /// Sets the elements of the queue in each direction. Default 8192. Preferably a multiple of 16,
    /// so that no count of upstream's peers crosses a cache line; aarch64 requires a multiple of 8.
    pub fn queue_capacity(mut self, elements: u32) -> Self {
        self.queue_capacity = elements;
        self
    }

    /// Sets the size of the buffer region in bytes, which sessions that are connected together
    /// share. Default 32 MiB, at least 1 MiB, less than 4 GiB. It takes memory as it is used, at
    /// first a page for each slice.
    pub fn buffer_size(mut self, bytes: u32) -> Self {
        self.buffer_size = bytes;
        self
    }

    /// Sets the kinds of slices: payload bytes of each, preferably a multiple of 4 as aarch64
    /// requires, and the percentage of the region for them. Default upstream's: 8172 for 50 %,
    /// 32748 for 30 %, 131052 for 20 %.
    pub fn slices(mut self, classes: impl Into<Vec<(u32, u32)>>) -> Self {
        self.slices = classes.into();
        self
    }

    /// Allocates all memory of the regions from the start, so that a shortage is an error when
    /// connecting. Default false, as in upstream: a later shortage ends the session, like a region
    /// that lost its memory.
    pub fn preallocate(mut self, wanted: bool) -> Self {
        self.preallocate = wanted;
        self
    }

    /// Sets the time that opening a stream waits for a session. Default 5 s.
    pub fn connect_timeout(mut self, duration: Duration) -> Self {
        self.connect_timeout = duration;
        self
    }

    /// Sets the pause before a lost session is tried again: the first, and the longest after
    /// doubling. Default 10 ms and 2 s.
    pub fn back_off(mut self, first: Duration, longest: Duration) -> Self {
        self.back_off = (first, longest);
        self
    }

    /// Fails if a value is invalid.
    pub fn validate(&self) -> Result<(), OptionError> {
        self.session.validate()?;
        OptionError::check("sessions", self.sessions, 1..=usize::MAX, "at least 1")?;
        let (first, longest) = self.back_off;
        OptionError::check_that(
            !first.is_zero() && first <= longest,
            "back_off",
            format_args!("{first:?}, {longest:?}"),
            "a first pause longer than nothing, and a longest one not below it",
        )?;
        self.queue_size()?;
        self.layout()?;
        Ok(())
    }

    /// Fails if a value is invalid at this address.
    pub(crate) fn validate_at(&self, address: &Address) -> Result<(), OptionError> {
        self.validate()?;
        if address.is_unix() {
            return Ok(());
        }
        let is_memfd = self.memory == Memory::Memfd;
        let allowed = "possible over TCP, which passes no descriptors: FilesV2 and FilesV3 are";
        OptionError::check_that(!is_memfd, "memory", "Memfd", allowed)?;
        self.trust.validate_over_tcp()
    }

    /// Returns the size of the queue region.
    pub(crate) fn queue_size(&self) -> Result<u32, OptionError> {
        let capacity = self.queue_capacity;
        let size = u32::try_from(region_size(capacity)).ok();
        let any = cfg!(target_arch = "x86_64");
        let size = size.filter(|_| capacity > 0 && (any || capacity.is_multiple_of(8)));
        let allowed = if any { "in 1..=178956968" } else { "a multiple of 8 in 8..=178956968" };
        OptionError::check_that(size.is_some(), "queue_capacity", capacity, allowed)?;
        Ok(size.unwrap_or_default())
    }

    /// Returns the layout of the buffer region.
    pub(crate) fn layout(&self) -> Result<BufferLayout, OptionError> {
        let (size, classes) = (self.buffer_size, &self.slices);
        OptionError::check("buffer_size", size, SMALLEST_BUFFER..=u32::MAX, "at least 1 MiB")?;
        let sizes: BTreeSet<_> = classes.iter().map(|class| class.0).collect();
        let sound = classes.iter().all(|&(size, _)| size > 0 && size < 1 << 30);
        let percent: u64 = classes.iter().map(|class| u64::from(class.1)).sum();
        OptionError::check_that(
            sound
                && sizes.len() == classes.len()
                && percent == 100
                && classes.len() <= MOST_CLASSES,
            "slices",
            format_args!("{classes:?}"),
            "1 to 64 different sizes, each below 1 GiB, with percentages of 100 in all",
        )?;
        // The last slice of a list is never given out.
        let layout = BufferLayout::plan(size, classes).filter(|layout| layout.room() > 0);
        let layout = layout.ok_or_else(|| {
            let allowed = "enough for a slice of each size and two of one; raise it or choose \
                smaller slices";
            OptionError::new("buffer_size", size, allowed)
        })?;
        let is_accessible = layout.lists().iter().all(List::is_accessible);
        OptionError::check_that(
            is_accessible,
            "slices",
            format_args!("{classes:?}"),
            "laid out so that counters stay within a cache line, as all multiples of 4 are",
        )?;
        Ok(layout)
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::assert_refused;
    use super::*;

    fn options() -> ClientOptions {
        ClientOptions::new(Trust::AnyUser)
    }

    #[test]
    fn invalid_option_is_refused_with_value_and_range() {
        assert_refused(options().sessions(0).validate(), "sessions = 0 is not at least 1");
        let session = SessionOptions::new().max_streams(0);
        assert_refused(
            options().session(session).validate(),
            "max_streams = 0 is not in 1..=4294967295",
        );
        for capacity in [0, 178_956_976, u32::MAX] {
            let error = options().queue_capacity(capacity).validate().unwrap_err();
            assert_eq!(error.option(), "queue_capacity");
            assert_eq!(error.value(), capacity.to_string());
        }
        assert!(options().queue_capacity(178_956_968).queue_size().is_ok());
        assert_refused(
            options().buffer_size((1 << 20) - 1).validate(),
            "buffer_size = 1048575 is not at least 1 MiB",
        );
        assert!(options().validate().is_ok());
    }

    #[test]
    fn pauses_that_would_never_end_or_never_grow_are_refused() {
        let (none, short, long) = (Duration::ZERO, Duration::from_secs(1), Duration::from_secs(2));
        for (first, longest) in [(none, long), (none, none), (long, short)] {
            let error = options().back_off(first, longest).validate().unwrap_err();
            assert_eq!(error.option(), "back_off");
            assert_eq!(error.value(), format!("{first:?}, {longest:?}"));
        }
        assert!(options().back_off(short, short).validate().is_ok());
    }

    #[test]
    fn slices_that_make_no_layout_are_refused() {
        for slices in
            [&[][..], &[(1004, 50)], &[(1004, 50), (1004, 50)], &[(0, 100)], &[(1 << 30, 100)]]
        {
            let error = options().slices(slices).validate().unwrap_err();
            assert_eq!((error.option(), error.value()), ("slices", &*format!("{slices:?}")));
        }
        // A list of one slice is useless, and does no harm beside others.
        assert!(
            options().buffer_size(1 << 20).slices([(1004, 50), (500_000, 50)]).layout().is_ok()
        );
        let error = options().buffer_size(1 << 20).slices([(1 << 20, 100)]).validate().unwrap_err();
        assert_eq!((error.option(), error.value()), ("buffer_size", "1048576"));
    }

    #[test]
    fn options_without_tcp_support_are_refused() {
        let tcp = Address::Tcp("localhost:1".to_owned());
        let error = options().validate_at(&tcp).unwrap_err();
        assert_eq!((error.option(), error.value()), ("memory", "Memfd"));
        let files = Memory::FilesV2("/dev/shm/x".into());
        assert!(options().memory(files.clone()).validate_at(&tcp).is_ok());
        let error =
            ClientOptions::new(Trust::SameUser).memory(files).validate_at(&tcp).unwrap_err();
        assert_eq!((error.option(), error.value()), ("trust", "SameUser"));
    }
}
