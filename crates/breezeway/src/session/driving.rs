//! The choice between callers and a driver.

use std::task::Waker;

use super::leadership::Leadership;

/// The party that takes turns and receives.
#[derive(Clone, Copy)]
pub(crate) enum Driving {
    /// The threads that wait for something.
    ByCallers,
    /// A [`Driver`](super::Driver).
    Elsewhere,
}

impl Driving {
    pub(super) fn leadership(self) -> Leadership<Waker> {
        match self {
            Self::ByCallers => Leadership::default(),
            Self::Elsewhere => Leadership::outside(),
        }
    }
}
