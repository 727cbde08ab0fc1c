//! Where a call went.

use std::sync::{Arc, Mutex, MutexGuard};

use breezeway::Carrier;

/// Where a call went: by which carrier, and to which instance.
///
/// Give it to [`CallOptions::receive_route`], and look into it after the call, also one that
/// failed.
///
/// [`CallOptions::receive_route`]: crate::CallOptions::receive_route
#[derive(Clone, Debug, Default)]
pub struct Route(Arc<Mutex<Way>>);

#[derive(Debug, Default)]
struct Way {
    carrier: Option<Carrier>,
    instance: Option<Arc<str>>,
}

impl Route {
    /// Nowhere so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the last call travelled by; nothing if it never left.
    pub fn carrier(&self) -> Option<Carrier> {
        self.lock().carrier
    }

    /// The name of the instance to which it went, of [`Instances`](crate::instances::Instances).
    pub fn instance(&self) -> Option<Arc<str>> {
        self.lock().instance.clone()
    }

    pub(crate) fn set_instance(&self, name: &Arc<str>) {
        self.lock().instance = Some(Arc::clone(name));
    }

    pub(crate) fn set_carrier(&self, carrier: Carrier) {
        self.lock().carrier = Some(carrier);
    }

    fn lock(&self) -> MutexGuard<'_, Way> {
        self.0.lock().expect("nobody panics with the lock")
    }
}
