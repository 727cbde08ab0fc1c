//! Both rings of a session as one end sees them, and when the other end is to be woken. There is no
//! operating system here, so the model checker runs this very code (`model.rs`).

use super::sync::{FenceSite, full_fence, removed};
use super::{Consumer, Producer};
use crate::violation::Violation;

/// What an end waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// The next entry.
    Data,
    /// That the peer consumes more than this many entries.
    Consumed(u64),
}

/// The producing end of our ring and the consuming end of the peer's.
pub(crate) struct Duplex {
    pub(crate) producer: Producer,
    pub(crate) consumer: Consumer,
}

impl Duplex {
    /// Lets the peer see what was consumed. True if the doorbell is due: the peer sleeps for that,
    /// or for what was published since the last call.
    ///
    /// One fence stands between both publications and the loads of both intents.
    #[inline(always)]
    pub(crate) fn flush(&mut self) -> bool {
        self.consumer.publish_progress();
        full_fence(FenceSite::AfterPublish);
        self.doorbell_due()
    }

    /// Whether the peer announced to sleep for something published since the last call.
    #[inline(always)]
    fn doorbell_due(&mut self) -> bool {
        // Both are asked, whatever the first says: each remembers how far it has compared.
        self.producer.doorbell_due() | self.consumer.doorbell_due()
    }

    /// Whether what is wanted has come.
    #[inline(always)]
    pub(crate) fn has(&mut self, want: Want) -> Result<bool, Violation> {
        match want {
            Want::Data => self.consumer.ready(),
            Want::Consumed(count) => {
                self.producer.refresh()?;
                Ok(self.producer.known_consumed() > count)
            }
        }
    }

    /// Announces that this end is about to sleep for `want`; it must check once more before it
    /// does. True if the doorbell is due for the peer.
    ///
    /// The fence after the intent is also the one that the load of the peer's intents needs.
    pub(crate) fn announce(&mut self, want: Want) -> bool {
        if !removed(FenceSite::ProgressBeforeWaiting) {
            self.consumer.publish_progress();
        }
        match want {
            Want::Data => self.consumer.arm_data(),
            Want::Consumed(count) => self.producer.arm_space(count),
        }
        self.doorbell_due()
    }
}
