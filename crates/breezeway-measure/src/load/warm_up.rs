//! Messages before the first one that counts: they touch every page, fill the caches, and let both
//! sides tune how long they spin.

use std::time::Duration;

/// Number of messages of a warm-up, or one for each call in flight if those are more.
pub(super) const MESSAGES: u64 = 100;

/// Slow messages need fewer of them.
pub(super) const TIME: Duration = Duration::from_millis(20);
