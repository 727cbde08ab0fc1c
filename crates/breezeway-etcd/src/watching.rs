//! A client's view of a service's instances.

use std::collections::BTreeMap;
use std::future::pending;
use std::time::Duration;

use breezeway_rpc::instances::{Instance, Resolver};
use etcd_client::{Client, Error, EventType, GetOptions, KeyValue, WatchOptions};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::{Task, record};

/// Time limit of etcd's list of the instances.
const LISTING: Duration = Duration::from_secs(5);
/// Between tries when etcd is away.
const PAUSE: Duration = Duration::from_millis(200);

/// The instances of a service in etcd, also an empty set. While etcd is away, the last set stays.
/// An invalid record is left out, with a warning.
pub struct Watching {
    /// None until etcd has listed them.
    sets: watch::Receiver<Option<Vec<Instance>>>,
    _following: Task,
}

impl Watching {
    pub(crate) fn new(client: Client, folder: String) -> Self {
        let (tell, sets) = watch::channel(None);
        let mut follower = Follower { client, folder, known: BTreeMap::new(), tell };
        let following = tokio::spawn(async move {
            loop {
                if let Err(error) = follower.follow().await {
                    tracing::debug!(folder = follower.folder, %error, "watched anew");
                }
                sleep(PAUSE).await;
            }
        });
        Self { sets, _following: Task(following) }
    }
}

impl Resolver for Watching {
    async fn next(&mut self) -> Vec<Instance> {
        loop {
            if self.sets.changed().await.is_err() {
                // The runtime ends.
                pending::<()>().await;
            }
            if let Some(set) = &*self.sets.borrow_and_update() {
                return set.clone();
            }
        }
    }
}

struct Follower {
    client: Client,
    folder: String,
    known: BTreeMap<String, Instance>,
    tell: watch::Sender<Option<Vec<Instance>>>,
}

impl Follower {
    /// Lists the instances, and follows the changes from that state on, until etcd goes away or no
    /// longer has so old a state.
    async fn follow(&mut self) -> Result<(), Error> {
        let options = GetOptions::new().with_prefix();
        let listing = self.client.get(self.folder.clone(), Some(options));
        let Ok(listed) = timeout(LISTING, listing).await else { return Ok(()) };
        let listed = listed?;
        self.known.clear();
        for pair in listed.kvs() {
            self.put(pair);
        }
        self.say();
        let next = listed.header().map_or(0, |header| header.revision() + 1);
        let options = WatchOptions::new().with_prefix().with_start_revision(next);
        let mut changes = self.client.watch(self.folder.clone(), Some(options)).await?;
        while let Some(change) = changes.message().await? {
            if change.canceled() {
                break;
            }
            for event in change.events() {
                match (event.event_type(), event.kv()) {
                    (EventType::Put, Some(pair)) => self.put(pair),
                    (EventType::Delete, Some(pair)) => self.delete(pair),
                    (_, None) => {}
                }
            }
            self.say();
        }
        Ok(())
    }

    fn name<'p>(&self, pair: &'p KeyValue) -> Option<&'p str> {
        std::str::from_utf8(pair.key()).ok()?.strip_prefix(&self.folder)
    }

    fn put(&mut self, pair: &KeyValue) {
        let Some(name) = self.name(pair) else { return };
        match record::read(name, pair.value()) {
            Ok(instance) => {
                self.known.insert(name.to_owned(), instance);
            }
            Err(error) => {
                tracing::warn!(folder = self.folder, name, error, "no instance's record");
                self.known.remove(name);
            }
        }
    }

    fn delete(&mut self, pair: &KeyValue) {
        if let Some(name) = self.name(pair) {
            self.known.remove(name);
        }
    }

    fn say(&self) {
        let set = Some(self.known.values().cloned().collect());
        self.tell.send_if_modified(|last| {
            let is_new = *last != set;
            *last = set;
            is_new
        });
    }
}
