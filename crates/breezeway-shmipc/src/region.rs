//! The shared memory of a session, or the model checker's replacement.

#[cfg(not(loom))]
#[allow(unsafe_code, reason = "mapping, atomics on shared words, copies")]
mod mapped;
#[cfg(loom)]
mod modelled;

#[cfg(not(loom))]
pub(crate) use mapped::Region;
#[cfg(loom)]
pub(crate) use modelled::Region;
