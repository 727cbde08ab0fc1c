//! Counters of a session.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// Counts of a session since it began.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct SessionCounters {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        #[derive(Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)+
        }

        impl Counters {
            /// Returns the current counts.
            pub(crate) fn read(&self) -> SessionCounters {
                SessionCounters { $($name: self.$name.get(),)+ }
            }
        }

        #[cfg(feature = "metrics")]
        impl SessionCounters {
            /// Returns each count's name, with its growth since `before`.
            pub(crate) fn since(&self, before: &Self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((concat!("shmipc_", stringify!($name), "_total"), self.$name - before.$name),)+]
                    .into_iter()
            }
        }
    };
}

counters! {
    /// Payload bytes sent, by queue and socket.
    bytes_sent,
    /// Payload bytes received, by queue and socket.
    bytes_received,
    /// Messages sent through the queue.
    messages_sent,
    /// Messages received through the queue.
    messages_received,
    /// Messages sent over the socket, because the shared memory was exhausted.
    fallbacks_sent,
    /// Messages received over the socket.
    fallbacks_received,
    /// Number of times that the queue was full.
    queue_full,
    /// Number of times that the shared memory was exhausted.
    memory_exhausted,
    /// Hot restarts that were announced, or acknowledged.
    hot_restarts,
}

/// A count that only grows.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds to the count; the caller holds the lock that all callers of this method for this
    /// counter hold.
    #[inline]
    pub(crate) fn add_locked(&self, count: u64) {
        self.0.store(self.get() + count, Ordering::Relaxed);
    }

    /// Adds to the count without a lock.
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
