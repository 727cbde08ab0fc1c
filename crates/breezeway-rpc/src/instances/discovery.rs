//! Conversion of sets of instances to changes for the balancers.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;
use std::ops::Range;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::sleep;
use tower::discover::Change;

use super::instance::Way;
use super::weights::{Share, shares};
use super::{Instance, Resolver};
use crate::kitex::ThriftFraming;

/// Interval at which the folders of instances on this host are checked for visibility. No event
/// reports a mount.
const FOLDERS: Duration = Duration::from_secs(1);

/// Receiving end of a balancer's changes.
pub(super) struct Changes<S>(Arc<Mutex<Queue<S>>>);

/// Sending end of a balancer's changes.
pub(super) struct Told<S>(Arc<Mutex<Queue<S>>>);

/// Changes that a balancer has not taken yet. It takes some when there is a call; until then a
/// later change of a share replaces the one before, whose session ends. Many instances with weights
/// without a common divisor cause many changes: each is found by its share.
struct Queue<S> {
    /// Changes by number, in the order in which they came.
    changes: BTreeMap<u64, Change<Share, S>>,
    /// Number of the pending change of each share that has one.
    numbers: HashMap<Share, u64>,
    next: u64,
    /// Shares that the balancer has.
    known: HashSet<Share>,
    waker: Option<Waker>,
}

pub(super) fn changes<S>() -> (Told<S>, Changes<S>) {
    let queue = Arc::new(Mutex::new(Queue {
        changes: BTreeMap::new(),
        numbers: HashMap::new(),
        next: 0,
        known: HashSet::new(),
        waker: None,
    }));
    (Told(Arc::clone(&queue)), Changes(queue))
}

fn share<S>(change: &Change<Share, S>) -> &Share {
    let (Change::Insert(share, _) | Change::Remove(share)) = change;
    share
}

impl<S> Stream for Changes<S> {
    type Item = Result<Change<Share, S>, Infallible>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut queue = self.0.lock().expect("no panic under the lock");
        let Some((_, change)) = queue.changes.pop_first() else {
            queue.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        queue.numbers.remove(share(&change));
        match &change {
            Change::Insert(share, _) => queue.known.insert(share.clone()),
            Change::Remove(share) => queue.known.remove(share),
        };
        Poll::Ready(Some(Ok(change)))
    }
}

impl<S> Told<S> {
    fn join(&self, name: &Arc<str>, numbers: Range<u32>, make: impl Fn() -> S) {
        for number in numbers {
            self.tell(Change::Insert(Share { instance: Arc::clone(name), number }, make()));
        }
    }

    fn leave(&self, name: &Arc<str>, numbers: Range<u32>) {
        for number in numbers {
            self.tell(Change::Remove(Share { instance: Arc::clone(name), number }));
        }
    }

    fn tell(&self, change: Change<Share, S>) {
        let mut queue = self.0.lock().expect("no panic under the lock");
        let earlier = queue.numbers.remove(share(&change));
        let earlier = earlier.and_then(|number| queue.changes.remove(&number));
        if matches!(change, Change::Insert(..)) || queue.known.contains(share(&change)) {
            let number = queue.next;
            queue.next += 1;
            queue.numbers.insert(share(&change).clone(), number);
            queue.changes.insert(number, change);
        }
        let waker = queue.waker.take();
        drop(queue);
        // Without the lock, because this may end a session.
        drop(earlier);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// An instance that was passed to a balancer.
struct Reached<M> {
    way: Way,
    framing: Option<ThriftFraming>,
    shares: u32,
    /// Creates one more share of the instance.
    share: M,
}

/// Follows the resolver, and passes instances here and elsewhere to the balancers: each as many
/// times as its weight requires. The function returned by `reach` creates the shares of one
/// instance. `unreached` receives the number of instances without a way from here.
pub(super) async fn follow<R: Resolver, S, M: Fn() -> S>(
    mut resolver: R,
    here: Told<S>,
    elsewhere: Told<S>,
    reach: impl Fn(&Instance, &Way) -> M,
    unreached: Arc<AtomicUsize>,
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
        let found = found(&set, &unreached);
        known.retain(|name, reached: &mut Reached<M>| {
            let new = found.get(name).map(|(_, way, _)| way);
            // An instance with a new address is replaced below, once the new one is ready.
            let stays = new.is_some_and(|new| std::ptr::eq(of(new), of(&reached.way)));
            if !stays {
                of(&reached.way).leave(name, 0..reached.shares);
            }
            stays
        });
        for (name, (instance, way, shares)) in found {
            let (told, framing) = (of(&way), instance.framing());
            match known.get_mut(&name) {
                Some(reached) if reached.way == way && reached.framing == framing => {
                    told.join(&name, reached.shares..shares, &reached.share);
                    told.leave(&name, shares..reached.shares);
                    reached.shares = shares;
                }
                last => {
                    tracing::debug!(instance = &*name, ?way, shares, "is to be reached");
                    let share = reach(instance, &way);
                    told.join(&name, 0..shares, &share);
                    told.leave(&name, shares..last.map_or(0, |last| last.shares));
                    known.insert(name, Reached { way, framing, shares, share });
                }
            }
        }
    }
}

/// Returns the instances that can be reached and may be called, with their way and number of
/// shares. Counts the others that may be called.
fn found<'s>(
    set: &'s [Instance],
    unreached: &AtomicUsize,
) -> HashMap<Arc<str>, (&'s Instance, Way, u32)> {
    let shares = shares(set.iter());
    let mut without_way = 0;
    let found = set.iter().filter_map(|instance| {
        let shares = *shares.get(instance.name())?;
        let way = instance.way();
        if way.is_none() {
            without_way += 1;
            tracing::debug!(?instance, "has no place that is reached from here");
        }
        Some((Arc::clone(instance.name()), (instance, way?, shares)))
    });
    let found = found.collect();
    unreached.store(without_way, Ordering::Relaxed);
    found
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use tokio::sync::watch;

    use super::*;
    use crate::instances::Watched;

    fn taken(changes: &mut Changes<Arc<()>>) -> Vec<(bool, String)> {
        let mut cx = Context::from_waker(Waker::noop());
        let mut taken = Vec::new();
        while let Poll::Ready(Some(Ok(change))) = Pin::new(&mut *changes).poll_next(&mut cx) {
            taken.push((matches!(change, Change::Insert(..)), share(&change).instance.to_string()));
        }
        taken
    }

    #[test]
    fn untaken_change_is_replaced_by_a_later_one() {
        let (told, mut changes) = changes();
        let session = Arc::new(());
        let insert = |name: &str| told.join(&name.into(), 0..1, || Arc::clone(&session));
        let remove = |name: &str| told.leave(&name.into(), 0..1);
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

    // A linear search of the pending changes would take minutes here.
    #[test]
    fn repeated_joins_of_many_instances_are_coalesced() {
        let (told, mut changes) = changes();
        let names: Vec<Arc<str>> = (0..1000).map(|name| name.to_string().into()).collect();
        for name in names.iter().chain(&names) {
            told.join(name, 0..64, Arc::default);
        }
        for name in &names[1..] {
            told.leave(name, 1..64);
        }
        let taken = taken(&mut changes);
        assert_eq!(taken.len(), 64 + 999);
        assert_eq!(taken[..64], vec![(true, "0".to_owned()); 64]);
        let (last, all) = (names.iter().map(|name| (true, name.to_string())), &taken[63..]);
        assert!(last.eq(all.iter().cloned()));
    }

    #[tokio::test]
    async fn shares_come_and_go_with_weights_and_addresses() {
        let (tell_here, _here) = changes();
        let (tell_elsewhere, mut elsewhere) = changes();
        let (tell, sets) = watch::channel(Vec::new());
        let reach = |_: &Instance, way: &Way| {
            let way = way.clone();
            move || way.clone()
        };
        let unreached = Arc::default();
        let follower = follow(Watched::new(sets), tell_here, tell_elsewhere, reach, unreached);
        let mut follower = std::pin::pin!(follower);
        let mut cx = Context::from_waker(Waker::noop());
        let mut balancer = BTreeMap::new();
        let mut after = |set: &[(&str, &str, u32)]| {
            let of = |&(name, address, weight): &(_, &str, _)| {
                Instance::new(name, address.parse().unwrap()).with_weight(weight)
            };
            tell.send_replace(set.iter().map(of).collect());
            assert!(follower.as_mut().poll(&mut cx).is_pending());
            while let Poll::Ready(Some(Ok(change))) = Pin::new(&mut elsewhere).poll_next(&mut cx) {
                let (key, way) = match change {
                    Change::Insert(share, way) => (share, Some(way)),
                    Change::Remove(share) => (share, None),
                };
                let key = format!("{} {}", key.instance, key.number);
                match way {
                    Some(Way::Here(address) | Way::Elsewhere(address)) => {
                        balancer.insert(key, address.to_string())
                    }
                    None => balancer.remove(&key),
                };
            }
            let rows = balancer.iter().map(|(share, address)| format!("{share} {address}"));
            rows.collect::<Vec<_>>()
        };
        let (a, b) = (("a", "tcp:a:1", 10), ("b", "tcp:b:1", 20));
        assert_eq!(after(&[a, b]), ["a 0 tcp:a:1", "b 0 tcp:b:1", "b 1 tcp:b:1"]);
        assert_eq!(after(&[b]), ["b 0 tcp:b:1"]);
        let b = ("b", "tcp:b:2", 30);
        let all = ["a 0 tcp:a:1", "b 0 tcp:b:2", "b 1 tcp:b:2", "b 2 tcp:b:2"];
        assert_eq!(after(&[a, b]), all);
        assert_eq!(after(&[a, ("b", "tcp:b:3", 10)]), ["a 0 tcp:a:1", "b 0 tcp:b:3"]);
        assert_eq!(after(&[a, ("b", "tcp:b:3", 0)]), ["a 0 tcp:a:1"]);
        assert!(after(&[]).is_empty());
    }
}
