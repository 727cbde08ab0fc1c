//! What comes before the first message that counts: it touches every page, fills the caches, and
//! lets both sides tune how long they spin.

use std::time::Duration;

/// So many messages, or one for each call in flight if those are more.
pub(super) const MESSAGES: u64 = 100;

/// Slow messages need fewer of them.
pub(super) const TIME: Duration = Duration::from_millis(20);
