//! What a session has done so far.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// What a session has done so far, all of it since it began.
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
            /// What they are now.
            pub(crate) fn read(&self) -> SessionCounters {
                SessionCounters { $($name: self.$name.get(),)+ }
            }
        }

        #[cfg(feature = "metrics")]
        impl SessionCounters {
            /// Each by its name, with what came since `before`.
            pub(crate) fn since(&self, before: &Self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((concat!("shmipc_", stringify!($name), "_total"), self.$name - before.$name),)+]
                    .into_iter()
            }
        }
    };
}

counters! {
    /// Payload bytes sent, by whatever way.
    bytes_sent,
    /// Payload bytes received, by whatever way.
    bytes_received,
    /// Messages sent through the queue.
    messages_sent,
    /// Messages received through the queue.
    messages_received,
    /// Messages sent over the socket, since the shared memory was exhausted.
    fallbacks_sent,
    /// Messages received over the socket.
    fallbacks_received,
    /// How often the queue was found full.
    queue_full,
    /// How often the shared memory was found exhausted.
    memory_exhausted,
    /// Hot restarts that were announced, or acknowledged.
    hot_restarts,
}

/// A count that only grows.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// By whoever holds the lock that all who count here hold.
    #[inline]
    pub(crate) fn add_locked(&self, count: u64) {
        self.0.store(self.get() + count, Ordering::Relaxed);
    }

    /// By anybody.
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
