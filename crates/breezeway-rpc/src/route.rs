//! Route of a call.

use std::sync::{Arc, Mutex, MutexGuard};

use breezeway::Carrier;

/// Route of a call: its carrier, and its instance.
///
/// Pass it to [`CallOptions::receive_route`], and read it after the call, also after a failed one.
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
    /// Creates an empty route.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the carrier of the last call; `None` if it was never sent.
    pub fn carrier(&self) -> Option<Carrier> {
        self.lock().carrier
    }

    /// Returns the name of its instance, for calls through
    /// [`Instances`](crate::instances::Instances).
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
        self.0.lock().expect("no panic under the lock")
    }
}
