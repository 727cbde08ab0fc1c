//! The policy that selects the peers whose messages are given as slices.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use breezeway_os::{Peer, TrustedPeer};

type Policy = dyn Fn(&Peer) -> Option<TrustedPeer> + Send + Sync;

/// Policy that trusts a peer, or not, by its credentials; by default it trusts no peer.
#[derive(Clone, Default)]
pub(crate) struct TrustPolicy(Option<Arc<Policy>>);

impl TrustPolicy {
    pub(super) fn new(
        policy: impl Fn(&Peer) -> Option<TrustedPeer> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(policy)))
    }

    /// Asks the policy; one that panics trusts no peer.
    pub(crate) fn ask(&self, peer: &Peer) -> Option<TrustedPeer> {
        let policy = self.0.as_ref()?;
        // A policy is a shared function without state of ours, so a panic leaves nothing half done.
        catch_unwind(AssertUnwindSafe(|| policy(peer))).unwrap_or_default()
    }
}

impl fmt::Debug for TrustPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "a policy" } else { "nobody" })
    }
}
