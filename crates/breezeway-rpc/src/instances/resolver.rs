//! Sources of the set of instances.

use std::future::{Future, pending};

use tokio::sync::watch;

use super::Instance;

/// Provides the set of instances of a service, whenever it changes.
pub trait Resolver: Send + 'static {
    /// Waits for the next set, which replaces the one before; the first call returns the first.
    /// Dropping the future loses no set.
    ///
    /// A resolver that fails must retry in this function and keep the last set: calls continue with
    /// it.
    fn next(&mut self) -> impl Future<Output = Vec<Instance>> + Send;
}

/// A set that never changes.
#[derive(Clone, Debug)]
pub struct Fixed(Option<Vec<Instance>>);

impl Fixed {
    /// Provides these instances.
    pub fn new(instances: Vec<Instance>) -> Self {
        Self(Some(instances))
    }
}

impl Resolver for Fixed {
    async fn next(&mut self) -> Vec<Instance> {
        match self.0.take() {
            Some(instances) => instances,
            None => pending().await,
        }
    }
}

/// A set that the program changes.
#[derive(Debug)]
pub struct Watched(watch::Receiver<Vec<Instance>>);

impl Watched {
    /// Provides the sender's current set, and each set that it sends.
    pub fn new(mut sets: watch::Receiver<Vec<Instance>>) -> Self {
        sets.mark_changed();
        Self(sets)
    }
}

impl Resolver for Watched {
    async fn next(&mut self) -> Vec<Instance> {
        if self.0.changed().await.is_err() {
            // Without a sender nothing changes any more.
            pending::<()>().await;
        }
        self.0.borrow_and_update().clone()
    }
}
