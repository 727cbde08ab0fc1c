//! From sets of instances to what balancers are told.

use std::collections::{HashMap, HashSet, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::sleep;
use tower::discover::Change;

use super::instance::Way;
use super::{Instance, Resolver};

/// How often it is looked whether the folders of instances on this host are seen here. Mounts come
/// and go without a word.
const FOLDERS: Duration = Duration::from_secs(1);

/// What a balancer is told.
pub(super) struct Changes<S>(Arc<Mutex<Queue<S>>>);

/// Who tells it.
pub(super) struct Told<S>(Arc<Mutex<Queue<S>>>);

/// What a balancer has not taken yet. It takes something when there is a call; until then a later
/// change of an instance replaces the one before, whose session ends.
struct Queue<S> {
    changes: VecDeque<Change<Arc<str>, S>>,
    /// The instances of which the balancer knows.
    known: HashSet<Arc<str>>,
    waker: Option<Waker>,
}

pub(super) fn changes<S>() -> (Told<S>, Changes<S>) {
    let queue = Queue { changes: VecDeque::new(), known: HashSet::new(), waker: None };
    let queue = Arc::new(Mutex::new(queue));
    (Told(Arc::clone(&queue)), Changes(queue))
}

fn name<S>(change: &Change<Arc<str>, S>) -> &Arc<str> {
    let (Change::Insert(name, _) | Change::Remove(name)) = change;
    name
}

impl<S> Stream for Changes<S> {
    type Item = Result<Change<Arc<str>, S>, Infallible>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut queue = self.0.lock().expect("nobody panics with the lock");
        let Some(change) = queue.changes.pop_front() else {
            queue.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        match &change {
            Change::Insert(name, _) => queue.known.insert(Arc::clone(name)),
            Change::Remove(name) => queue.known.remove(name),
        };
        Poll::Ready(Some(Ok(change)))
    }
}

impl<S> Told<S> {
    fn tell(&self, change: Change<Arc<str>, S>) {
        let mut queue = self.0.lock().expect("nobody panics with the lock");
        let earlier = queue.changes.iter().position(|earlier| name(earlier) == name(&change));
        let earlier = earlier.and_then(|at| queue.changes.remove(at));
        if matches!(change, Change::Insert(..)) || queue.known.contains(name(&change)) {
            queue.changes.push_back(change);
        }
        let waker = queue.waker.take();
        drop(queue);
        // Without the lock, as it may end a session.
        drop(earlier);
        if let Some(waker) = waker {
            waker.wake();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(changes: &mut Changes<Arc<()>>) -> Vec<(bool, String)> {
        let mut cx = Context::from_waker(Waker::noop());
        let mut taken = Vec::new();
        while let Poll::Ready(Some(Ok(change))) = Pin::new(&mut *changes).poll_next(&mut cx) {
            taken.push((matches!(change, Change::Insert(..)), name(&change).to_string()));
        }
        taken
    }

    #[test]
    fn what_nobody_takes_is_replaced_by_what_comes_later() {
        let (told, mut changes) = changes();
        let session = Arc::new(());
        let insert = |name: &str| told.tell(Change::Insert(name.into(), Arc::clone(&session)));
        let remove = |name: &str| told.tell(Change::Remove(name.into()));
        insert("known");
        assert_eq!(taken(&mut changes), [(true, "known".to_owned())]);
        for round in 0..1000 {
            insert("known");
            insert("new");
            insert(&format!("passing {round}"));
            remove(&format!("passing {round}"));
            remove("known");
            assert!(Arc::strong_count(&session) <= 3, "{}", Arc::strong_count(&session));
        }
        assert_eq!(taken(&mut changes), [(true, "new".to_owned()), (false, "known".to_owned())]);
        remove("known");
        assert_eq!(taken(&mut changes), []);
        remove("new");
        insert("new");
        assert_eq!(taken(&mut changes), [(true, "new".to_owned())]);
    }
}
