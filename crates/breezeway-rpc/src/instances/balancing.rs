//! Choice of the instance for a call.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use breezeway::{CallError, SessionOptions};
use tokio::sync::Mutex;
use tokio::task::unconstrained;
use tokio::time::timeout;
use tower::balance::p2c::Balance;
use tower::layer::util::Identity;
use tower::limit::ConcurrencyLimit;
use tower::load::{CompleteOnResponse, PendingRequests};
use tower::util::BoxCloneService;
use tower::{BoxError, Layer, Service, ServiceExt};

use super::discovery::{Changes, changes, follow};
use super::instance::Way;
use super::reach::To;
use super::{Instance, InstanceService, Resolver, Task};
use crate::RPC;
use crate::error::Error;
use crate::governance::{BoxFuture, CallReply, CallRequest};

/// Maximum number of times a call that was never sent, because its session was over, goes to
/// another instance.
const RESENDS: u32 = 8;

/// Options for calling instances.
#[derive(Clone, Debug)]
pub struct InstanceOptions {
    session: SessionOptions,
    max_in_flight: usize,
    wait: Duration,
}

impl Default for InstanceOptions {
    fn default() -> Self {
        let (session, wait) = (SessionOptions::new(), Duration::from_secs(5));
        Self { session, max_in_flight: 256, wait }
    }
}

impl InstanceOptions {
    /// Creates the default options: at most 256 concurrent calls per instance, and a wait of up to
    /// five seconds for an instance.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the options of the sessions. Connections to instances without sessions
    /// ([`Instance::with_framing`]) use the certificates, the handshake timeout, for each of their
    /// addresses, and the call timeout.
    pub fn session(mut self, options: SessionOptions) -> Self {
        self.session = options;
        self
    }

    /// Sets the maximum number of calls in flight to one instance, at least 1; further calls go to
    /// other instances, or wait. An instance with a weight larger than this may get fewer calls
    /// than its weight implies.
    ///
    /// An instance that hangs gets at most two calls more than this before it is left alone.
    pub fn max_in_flight(mut self, calls: usize) -> Self {
        self.max_in_flight = calls.max(1);
        self
    }

    /// Sets the longest wait of a call for an instance that can take it, within the call's own
    /// timeout ([`CallOptions::timeout`](crate::CallOptions::timeout)). A call that waits longer
    /// fails without having left ([`Error::NoInstance`]).
    pub fn wait(mut self, time: Duration) -> Self {
        self.wait = time;
        self
    }
}

/// The instances of a service as one [`tower::Service`]. Clones share them; dropping the last one
/// closes the sessions.
///
/// It is always ready: each call waits for an instance itself.
#[derive(Clone)]
pub struct Instances {
    balancers: Arc<Mutex<Balancers>>,
    wait: Duration,
    /// Number of instances without a way from here.
    unreached: Arc<AtomicUsize>,
    _following: Arc<Task<()>>,
}

type Boxed = BoxCloneService<CallRequest, CallReply, BoxError>;
type Counted = PendingRequests<Boxed, CompleteOnResponse>;
type Balancer = Balance<Changes<Counted>, CallRequest>;

struct Balancers {
    here: Balancer,
    elsewhere: Balancer,
}

impl Instances {
    /// Calls the instances from the resolver, under a runtime of tokio.
    ///
    /// # Panics
    ///
    /// Outside of a runtime of tokio.
    pub fn new(resolver: impl Resolver, options: InstanceOptions) -> Self {
        Self::with_layer(resolver, options, Identity::new())
    }

    /// Creates instances like [`new`](Self::new), with a layer for each instance, which has its own
    /// state: such as a circuit breaker. Clones of the layered service share the state; an instance
    /// has as many clones as its weight requires. While they are not ready, calls go to other
    /// instances.
    ///
    /// # Panics
    ///
    /// Outside of a runtime of tokio.
    pub fn with_layer<L>(resolver: impl Resolver, options: InstanceOptions, layer: L) -> Self
    where
        L: Layer<ConcurrencyLimit<InstanceService>> + Send + Sync + 'static,
        L::Service: Service<CallRequest, Response = CallReply, Error: Into<BoxError>>,
        L::Service: Service<CallRequest, Future: Send> + Clone + Send + 'static,
    {
        let (tell_here, here) = changes();
        let (tell_elsewhere, elsewhere) = changes();
        let InstanceOptions { session, max_in_flight, wait } = options;
        let session = session.service(RPC);
        let make = move |instance: &Instance, way: &Way| {
            let (Way::Here(address) | Way::Elsewhere(address)) = way;
            let reached = InstanceService::new(To {
                name: Arc::clone(instance.name()),
                address: address.clone(),
                options: session.clone(),
                framing: instance.framing(),
            });
            let service = layer.layer(ConcurrencyLimit::new(reached, max_in_flight));
            let boxed = BoxCloneService::new(service.map_err(Into::into));
            // Calls in flight are counted for each share, so that a heavy instance may be busier.
            move || PendingRequests::new(boxed.clone(), CompleteOnResponse::default())
        };
        let unreached = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&unreached);
        let following = tokio::spawn(follow(resolver, tell_here, tell_elsewhere, make, count));
        let balancers = Balancers { here: Balance::new(here), elsewhere: Balance::new(elsewhere) };
        Self {
            balancers: Arc::new(Mutex::new(balancers)),
            wait,
            unreached,
            _following: Arc::new(Task(following)),
        }
    }
}

impl Balancers {
    /// Waits for an instance that can take a call, preferring instances on this host.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<&mut Balancer, BoxError>> {
        if self.here.poll_ready(cx)?.is_ready() {
            return Poll::Ready(Ok(&mut self.here));
        }
        ready!(self.elsewhere.poll_ready(cx))?;
        Poll::Ready(Ok(&mut self.elsewhere))
    }
}

/// Sends the call to an instance, with the time that is left then.
async fn send(
    balancers: &Mutex<Balancers>,
    request: &CallRequest,
    deadline: Option<Instant>,
) -> Result<<Balancer as Service<CallRequest>>::Future, BoxError> {
    let mut balancers = balancers.lock().await;
    // Without this, an instance here that seems not ready only because the task's budget is used up
    // would be passed over.
    unconstrained(poll_fn(|cx| {
        let balancer = ready!(balancers.poll_ready(cx))?;
        let mut request = request.clone();
        if let Some(deadline) = deadline {
            request.options.timeout = Some(deadline.saturating_duration_since(Instant::now()));
        }
        Poll::Ready(Ok(balancer.call(request)))
    }))
    .await
}

impl Service<CallRequest> for Instances {
    type Response = CallReply;
    type Error = Error;
    type Future = BoxFuture<Result<CallReply, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: CallRequest) -> Self::Future {
        let balancers = Arc::clone(&self.balancers);
        let unreached = Arc::clone(&self.unreached);
        // The call's own timeout includes the wait for an instance, and all resends.
        let deadline = request.options.deadline();
        let longest = request.options.timeout.map_or(self.wait, |given| given.min(self.wait));
        Box::pin(async move {
            let mut resends = 0;
            loop {
                let left =
                    deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                let wait = left.map_or(longest, |left| left.min(longest));
                let sent = timeout(wait, send(&balancers, &request, deadline)).await;
                let sent = sent.map_err(|_| Error::NoInstance {
                    waited: longest,
                    unreached: unreached.load(Ordering::Relaxed),
                })?;
                let sent = sent.map_err(Error::from_layer)?;
                match sent.await.map_err(Error::from_layer) {
                    Err(error) if resends < RESENDS && was_over(&error) => resends += 1,
                    outcome => return outcome,
                }
            }
        })
    }
}

/// Returns true if the session was over, or about to be, before the call was sent.
fn was_over(error: &Error) -> bool {
    matches!(
        error,
        Error::Connecting(..)
            | Error::Call(CallError::Ended | CallError::GoingAway | CallError::NotSent(_))
    )
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::hash::{BuildHasherDefault, DefaultHasher};
    use std::sync::atomic::AtomicU32;

    use tower::service_fn;
    use tower::util::rng::HasherRng;

    use super::*;
    use crate::CallOptions;
    use crate::instances::Fixed;
    use crate::method::Method;
    use crate::thrift::Streaming;

    fn request() -> CallRequest {
        let method = Method::new("S", "m", false, Streaming::None);
        CallRequest { method, arguments: vec![0].into(), options: CallOptions::new() }
    }

    /// Instances of these weights, which count their calls and answer them or never do. The random
    /// source is the same in each run.
    struct Weighed<const N: usize> {
        balancers: Mutex<Balancers>,
        counts: [Arc<AtomicU32>; N],
        _following: Task<()>,
    }

    impl<const N: usize> Weighed<N> {
        fn new(weights: [u32; N], answer: bool) -> Self {
            let counts: [Arc<AtomicU32>; N] = std::array::from_fn(|_| Arc::default());
            let name = |index: usize| index.to_string();
            let set = weights.iter().enumerate().map(|(index, weight)| {
                Instance::new(&name(index), "tcp:host:1".parse().unwrap()).with_weight(*weight)
            });
            let resolver = Fixed::new(set.collect());
            let (tell_here, here) = changes();
            let (tell_elsewhere, elsewhere) = changes();
            let counting = counts.clone();
            let reach = move |instance: &Instance, _: &Way| {
                let count = Arc::clone(&counting[instance.name().parse::<usize>().unwrap()]);
                let service = BoxCloneService::new(service_fn(move |_: CallRequest| {
                    count.fetch_add(1, Ordering::Relaxed);
                    async move {
                        if !answer {
                            pending::<()>().await;
                        }
                        Ok(CallReply::default())
                    }
                }));
                move || PendingRequests::new(service.clone(), CompleteOnResponse::default())
            };
            let following = Task(tokio::spawn(follow(
                resolver,
                tell_here,
                tell_elsewhere,
                reach,
                Arc::default(),
            )));
            let chance = HasherRng::with_hasher(BuildHasherDefault::<DefaultHasher>::default());
            let balancers = Balancers {
                here: Balance::new(here),
                elsewhere: Balance::from_rng(elsewhere, chance),
            };
            Self { balancers: Mutex::new(balancers), counts, _following: following }
        }

        fn counts(&self) -> [u32; N] {
            std::array::from_fn(|index| self.counts[index].load(Ordering::Relaxed))
        }
    }

    #[tokio::test]
    async fn instance_of_triple_weight_gets_triple_calls() {
        let weighed = Weighed::new([10, 30], true);
        for _ in 0..8_000 {
            send(&weighed.balancers, &request(), None).await.unwrap().await.unwrap();
        }
        let [light, heavy] = weighed.counts();
        assert!(light.abs_diff(2_000) < 200 && light + heavy == 8_000, "{light}, {heavy}");
    }

    #[tokio::test]
    async fn calls_that_take_long_are_shared_out_by_weight_too() {
        let weighed = Weighed::new([1, 3, 4], false);
        let mut under_way = Vec::new();
        for _ in 0..800 {
            under_way.push(send(&weighed.balancers, &request(), None).await.unwrap());
        }
        let counts = weighed.counts();
        let near =
            counts.iter().zip([100, 300, 400]).all(|(count, fair)| count.abs_diff(fair) < 20);
        assert!(near && counts.iter().sum::<u32>() == 800, "{counts:?}");
    }

    #[tokio::test]
    async fn an_instance_of_no_weight_gets_no_call() {
        let weighed = Weighed::new([0, 2, 2], true);
        for _ in 0..1_000 {
            send(&weighed.balancers, &request(), None).await.unwrap().await.unwrap();
        }
        let counts = weighed.counts();
        assert!(counts[0] == 0 && counts[1] > 400 && counts[2] > 400, "{counts:?}");
    }
}
