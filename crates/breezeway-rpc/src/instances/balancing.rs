//! Which instance gets a call.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use breezeway::{CallError, SessionOptions};
use tokio::sync::Mutex;
use tokio::task::unconstrained;
use tokio::time::timeout;
use tower::balance::p2c::Balance;
use tower::layer::util::Identity;
use tower::limit::ConcurrencyLimit;
use tower::load::{CompleteOnResponse, PendingRequests};
use tower::util::BoxService;
use tower::{BoxError, Layer, Service, ServiceExt};

use super::discovery::{Changes, changes, follow};
use super::instance::Way;
use super::{Instance, InstanceService, Resolver, Task};
use crate::error::Error;
use crate::governance::{BoxFuture, CallReply, CallRequest};

/// How often a call goes to another instance that never left, as its session was over.
const RESENDS: u32 = 8;

/// How instances are called.
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
    /// At most 256 calls at one time to an instance, and five seconds until one takes a call.
    pub fn new() -> Self {
        Self::default()
    }

    /// The options of the sessions.
    pub fn session(mut self, options: SessionOptions) -> Self {
        self.session = options;
        self
    }

    /// At most so many calls are in flight to one instance, at least 1; others go elsewhere, or
    /// wait.
    ///
    /// An instance that hangs gets at most two calls more than this before it is left alone.
    pub fn max_in_flight(mut self, calls: usize) -> Self {
        self.max_in_flight = calls.max(1);
        self
    }

    /// How long a call waits for an instance that can take it; then it fails, not having left
    /// ([`Error::NoInstance`]).
    pub fn wait(mut self, time: Duration) -> Self {
        self.wait = time;
        self
    }
}

/// The instances of a service as one [`tower::Service`]. Clones share them; the last one takes the
/// sessions with it.
///
/// It is always ready: a call waits for its instance itself.
#[derive(Clone)]
pub struct Instances {
    balancers: Arc<Mutex<Balancers>>,
    wait: Duration,
    _following: Arc<Task<()>>,
}

type Boxed = BoxService<CallRequest, CallReply, BoxError>;
type Counted = PendingRequests<Boxed, CompleteOnResponse>;
type Balancer = Balance<Changes<Counted>, CallRequest>;

struct Balancers {
    here: Balancer,
    elsewhere: Balancer,
}

impl Instances {
    /// Calls those that the resolver gives, under a runtime of tokio.
    ///
    /// # Panics
    ///
    /// Outside of one.
    pub fn new(resolver: impl Resolver, options: InstanceOptions) -> Self {
        Self::with_layer(resolver, options, Identity::new())
    }

    /// As [`Self::new`], with a layer for each instance, which has its own state for it: such as a
    /// circuit breaker. While what it makes is not ready, calls go to other instances.
    ///
    /// # Panics
    ///
    /// Outside of a runtime of tokio.
    pub fn with_layer<L>(resolver: impl Resolver, options: InstanceOptions, layer: L) -> Self
    where
        L: Layer<ConcurrencyLimit<InstanceService>> + Send + Sync + 'static,
        L::Service: Service<CallRequest, Response = CallReply, Error: Into<BoxError>>,
        L::Service: Service<CallRequest, Future: Send> + Send + 'static,
    {
        let (tell_here, here) = changes();
        let (tell_elsewhere, elsewhere) = changes();
        let InstanceOptions { session, max_in_flight, wait } = options;
        let make = move |instance: &Instance, way: &Way| {
            let (Way::Here(address) | Way::Elsewhere(address)) = way;
            let name = Arc::clone(instance.name());
            let reached = InstanceService::new(name, address.clone(), session.clone());
            let service = layer.layer(ConcurrencyLimit::new(reached, max_in_flight));
            let boxed = BoxService::new(service.map_err(Into::into));
            PendingRequests::new(boxed, CompleteOnResponse::default())
        };
        let following = tokio::spawn(follow(resolver, tell_here, tell_elsewhere, make));
        let balancers = Balancers { here: Balance::new(here), elsewhere: Balance::new(elsewhere) };
        Self {
            balancers: Arc::new(Mutex::new(balancers)),
            wait,
            _following: Arc::new(Task(following)),
        }
    }
}

impl Balancers {
    /// Waits for an instance that can take a call: one here, if there is one.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<&mut Balancer, BoxError>> {
        if self.here.poll_ready(cx)?.is_ready() {
            return Poll::Ready(Ok(&mut self.here));
        }
        ready!(self.elsewhere.poll_ready(cx))?;
        Poll::Ready(Ok(&mut self.elsewhere))
    }
}

/// Gives the call to an instance.
async fn send(
    balancers: &Mutex<Balancers>,
    request: CallRequest,
) -> Result<<Balancer as Service<CallRequest>>::Future, BoxError> {
    let mut balancers = balancers.lock().await;
    let mut request = Some(request);
    // An instance here that seemed not to be ready only as the task's turn is over would be passed
    // by.
    unconstrained(poll_fn(|cx| {
        let balancer = ready!(balancers.poll_ready(cx))?;
        let request = request.take().expect("it is ready once");
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
        let (balancers, wait) = (Arc::clone(&self.balancers), self.wait);
        Box::pin(async move {
            let mut resends = 0;
            loop {
                let sent = timeout(wait, send(&balancers, request.clone())).await;
                let sent = sent.map_err(|_| Error::NoInstance(wait))?.map_err(Error::from_layer)?;
                match sent.await.map_err(Error::from_layer) {
                    Err(error) if resends < RESENDS && was_over(&error) => resends += 1,
                    outcome => return outcome,
                }
            }
        })
    }
}

/// Whether the session was over, or about to be, before the call left.
fn was_over(error: &Error) -> bool {
    let Error::Call(error) = error else { return false };
    matches!(error, CallError::Ended | CallError::GoingAway | CallError::NotSent(_))
}
