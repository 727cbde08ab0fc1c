//! From sets of instances to what balancers are told.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep;
use tower::discover::Change;

use super::instance::Way;
use super::{Instance, Resolver};

/// How often it is looked whether the folders of instances on this host are seen here. Mounts come
/// and go without a word.
const FOLDERS: Duration = Duration::from_secs(1);

/// What a balancer is told.
pub(super) struct Changes<S>(UnboundedReceiver<Change<Arc<str>, S>>);

/// Who tells it.
pub(super) struct Told<S>(UnboundedSender<Change<Arc<str>, S>>);

pub(super) fn changes<S>() -> (Told<S>, Changes<S>) {
    let (told, changes) = unbounded_channel();
    (Told(told), Changes(changes))
}

impl<S> Stream for Changes<S> {
    type Item = Result<Change<Arc<str>, S>, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|change| change.map(Ok))
    }
}

impl<S> Told<S> {
    // Nobody listens any more only just before this task ends.
    fn tell(&self, change: Change<Arc<str>, S>) {
        let _ = self.0.send(change);
    }
}

/// Follows the resolver, and tells of instances here and elsewhere.
pub(super) async fn follow<R: Resolver, S>(
    mut resolver: R,
    here: Told<S>,
    elsewhere: Told<S>,
    make: impl Fn(&Instance, &Way) -> S,
) {
    let mut known = HashMap::new();
    let mut set: Vec<Instance> = Vec::new();
    let of = |way: &Way| match way {
        Way::Here(_) => &here,
        Way::Elsewhere(_) => &elsewhere,
    };
    loop {
        let may_move = set.iter().any(Instance::is_on_this_host);
        tokio::select! {
            next = resolver.next() => set = next,
            () = sleep(FOLDERS), if may_move => {}
        }
        let found: HashMap<_, _> = set
            .iter()
            .filter_map(|instance| {
                let way = instance.way();
                if way.is_none() {
                    tracing::debug!(?instance, "has no place that is reached from here");
                }
                Some((Arc::clone(instance.name()), (instance, way?)))
            })
            .collect();
        known.retain(|name, way: &mut Way| {
            let new = found.get(name).map(|(_, way)| way);
            // One whose address alone has changed is replaced, below, once the new one is ready.
            let stays = new.is_some_and(|new| std::ptr::eq(of(new), of(way)));
            if !stays {
                of(way).tell(Change::Remove(Arc::clone(name)));
            }
            stays
        });
        for (name, (instance, way)) in found {
            if known.get(&name) != Some(&way) {
                tracing::debug!(instance = &*name, ?way, "is to be reached");
                of(&way).tell(Change::Insert(Arc::clone(&name), make(instance, &way)));
                known.insert(name, way);
            }
        }
    }
}
