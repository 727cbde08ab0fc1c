//! Calls below tower's layers, of clients and of servers.

use std::collections::VecDeque;
use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use breezeway::{Address, CallError, Carrier, ErrorCode};
use breezeway_rpc::governance::{
    CallReply, CallRequest, ChannelService, RetryPolicy, ServedRequest, ServiceChannel,
};
use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{
    AsyncChannel, AsyncServer, AsyncServices, AsyncStreamChannel, AsyncThriftClient, CallOptions,
    Error, ReplyMetadata, Route,
};
use breezeway_tokio::{Session, Stopper};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tower::layer::layer_fn;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::retry::Retry;
use tower::retry::budget::TpsBudget;
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::room::{AsyncRoomClient, line};
use crate::shop::{AsyncShopClient, AsyncShopServer, Corner, Item, ShopBuyError};
use crate::streams;

/// Time limit for events that must come.
const PATIENCE: Duration = Duration::from_secs(30);

struct Running {
    address: Address,
    looks: UnboundedReceiver<String>,
    slow: Arc<Notify>,
    stopper: Stopper,
    serving: JoinHandle<()>,
    _folder: TempDir,
}

impl Running {
    /// Starts a shop on a server made from one without layers.
    fn new<S: AsyncServices>(
        layered: impl FnOnce(AsyncServer<((), AsyncShopServer<Corner>)>) -> AsyncServer<S>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        let address: Address = format!("shm:{path}/shm,unix:{path}/unix").parse().unwrap();
        let (tell, looks) = unbounded_channel();
        let shop = Corner::new(tell);
        let slow = Arc::clone(&shop.slow);
        let server = AsyncServer::bind(&address).unwrap().with_thrift_clients();
        let server = layered(server.add_service(AsyncShopServer(shop)).unwrap());
        let (address, stopper) = (server.address(), server.stopper());
        let serving = tokio::spawn(async move { server.serve().await.unwrap() });
        Self { address, looks, slow, stopper, serving, _folder: folder }
    }

    fn plain() -> Self {
        Self::new(|server| server)
    }

    async fn channel(&self) -> Session {
        Session::connect(&self.address).await.unwrap()
    }

    async fn told(&mut self) -> String {
        timeout(PATIENCE, self.looks.recv()).await.unwrap().unwrap()
    }

    async fn end(self) {
        self.stopper.stop();
        self.serving.await.unwrap();
    }
}

fn tea(count: i32) -> Item {
    Item { name: "tea".to_owned(), count, picture: None }
}

/// All that goes through layers as without them.
async fn trade(running: &mut Running, channel: impl AsyncChannel) {
    let shop = AsyncShopClient::new(channel);
    assert_eq!(shop.buy(tea(2), None).await.unwrap(), tea(2));
    assert!(matches!(shop.buy(tea(2), None).await, Err(ShopBuyError::Empty(_))));
    assert!(shop.ready().await.unwrap(), "inherited");
    shop.look("Ada".to_owned()).await.unwrap();
    assert_eq!(running.told().await, "Ada");
    let reply = ReplyMetadata::new();
    let options = CallOptions::new().metadata("name", "Ada").receive_metadata(&reply);
    let long = "long ".repeat(50_000);
    assert_eq!(shop.with(options).echo(long.clone()).await.unwrap(), long);
    assert_eq!(reply.get("greeting").unwrap(), b"hello Ada");
    match shop.buy(tea(1), Some("expired".to_owned())).await {
        Err(ShopBuyError::Rpc(Error::Business(error))) => assert_eq!(error.status, 410),
        other => panic!("{other:?}"),
    }
}

fn layers<C: AsyncStreamChannel + Send + 'static>(channel: C) -> impl AsyncStreamChannel {
    let service = ServiceBuilder::new()
        .buffer(8)
        .load_shed()
        .rate_limit(1_000_000, Duration::from_secs(1))
        .concurrency_limit(8)
        .timeout(PATIENCE)
        .retry(RetryPolicy::new(3))
        .map_request(|request: CallRequest| request.within(PATIENCE))
        .service(ChannelService::new(channel));
    ServiceChannel::new(service)
}

#[tokio::test]
async fn a_client_below_layers_calls_as_one_without() {
    let mut running = Running::plain();
    let channel = running.channel().await;
    trade(&mut running, layers(channel)).await;
    running.end().await;
}

#[tokio::test]
async fn a_client_of_thrift_servers_takes_the_same_layers() {
    let mut running = Running::plain();
    let unix = running.address.places()[1].clone();
    trade(&mut running, layers(AsyncThriftClient::new(unix.into()))).await;
    running.end().await;
}

#[tokio::test]
async fn streams_of_every_form_are_opened_below_layers() {
    let running = streams::Running::new("unix");
    let native = Session::connect(&running.address).await.unwrap();
    let thrift = AsyncThriftClient::new(running.address.clone());
    timeout(PATIENCE, streams::every_form(&AsyncRoomClient::new(layers(native)))).await.unwrap();
    timeout(PATIENCE, streams::every_form(&AsyncRoomClient::new(layers(thrift)))).await.unwrap();
    running.end().await;
}

#[tokio::test]
async fn a_layer_that_answers_a_stream_itself_fails_it_in_words() {
    let service = service_fn(|_: CallRequest| ready(Ok::<_, Error>(CallReply::default())));
    let room = AsyncRoomClient::new(ServiceChannel::new(service));
    let failed = room.talk().await.err().unwrap();
    assert!(matches!(failed, Error::Layer(_)), "{failed:?}");
}

#[tokio::test]
async fn the_time_of_an_attempt_is_not_that_of_a_stream() {
    let running = streams::Running::new("shm");
    let service = ServiceBuilder::new()
        .map_request(|request: CallRequest| request.within(Duration::from_nanos(1)))
        .service(ChannelService::new(Session::connect(&running.address).await.unwrap()));
    let room = AsyncRoomClient::new(ServiceChannel::new(service));
    let mut talk = room.talk().await.unwrap();
    talk.send(&line("Ada", "hi")).await.unwrap();
    assert_eq!(talk.receive().await.unwrap(), Some(line("Ada", "hi")));
    drop((talk, room));
    running.end().await;
}

#[tokio::test]
async fn a_server_below_layers_serves_as_one_without() {
    for framing in ["native", "thrift"] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let names = Arc::clone(&seen);
        let see = move |request: ServedRequest| {
            names.lock().unwrap().push((request.method.name, request.context.carrier()));
            request
        };
        let layers = ServiceBuilder::new().load_shed().timeout(PATIENCE).map_request(see);
        let mut running = Running::new(|server| server.layer(&layers));
        if framing == "native" {
            let channel = running.channel().await;
            trade(&mut running, channel).await;
        } else {
            let unix = running.address.places()[1].clone();
            trade(&mut running, AsyncThriftClient::new(unix.into())).await;
        }
        let carrier = if framing == "native" { Carrier::Shm } else { Carrier::Unix };
        let names = ["buy", "buy", "ready", "look", "echo", "buy"];
        assert_eq!(*seen.lock().unwrap(), names.map(|name| (name, carrier)), "{framing}");
        running.end().await;
    }
}

#[tokio::test]
async fn a_time_out_of_a_layer_is_a_deadline_and_cancels_the_call() {
    let mut running = Running::plain();
    let service = ServiceBuilder::new()
        .timeout(Duration::from_millis(50))
        .service(ChannelService::new(running.channel().await));
    let shop = AsyncShopClient::new(ServiceChannel::new(service));
    let failed = shop.echo("never".to_owned()).await;
    assert!(matches!(failed, Err(Error::Call(CallError::DeadlinePassed))), "{failed:?}");
    assert_eq!(running.told().await, "dropped");
    drop(shop);
    running.end().await;
}

#[tokio::test]
async fn a_call_over_the_limit_is_shed_and_never_leaves() {
    let mut running = Running::plain();
    let service = ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(1)
        .service(ChannelService::new(running.channel().await));
    let shop = AsyncShopClient::new(ServiceChannel::new(service));
    // The shop reports a call that never returns once it is dropped.
    let mut first = Box::pin(shop.echo("never".to_owned()));
    assert!(timeout(Duration::from_millis(20), &mut first).await.is_err());
    let shed = shop.echo("second".to_owned()).await.unwrap_err();
    assert!(matches!(shed, Error::Overloaded) && !shed.may_have_run(), "{shed:?}");
    drop(first);
    assert_eq!(shop.echo("third".to_owned()).await.unwrap(), "third");
    drop(shop);
    // It began in time, or was cancelled before.
    running.stopper.stop();
    running.serving.await.unwrap();
    running.looks.close();
}

#[tokio::test]
async fn a_server_over_its_limit_refuses_before_the_handler_runs() {
    let layers = ServiceBuilder::new().load_shed().layer(GlobalConcurrencyLimitLayer::new(1));
    let mut running = Running::new(|server| server.layer(&layers));
    let shop = AsyncShopClient::new(running.channel().await);
    shop.look("slow".to_owned()).await.unwrap();
    let refused = shop.echo("second".to_owned()).await.unwrap_err();
    assert!(!refused.may_have_run(), "{refused:?}");
    assert!(
        matches!(refused, Error::Call(CallError::Failed { code: ErrorCode::Overloaded, .. })),
        "{refused:?}"
    );
    running.slow.notify_one();
    assert_eq!(running.told().await, "slow");
    // Its permit is given back just after.
    let free = async { while shop.echo("third".to_owned()).await.is_err() {} };
    timeout(PATIENCE, free).await.unwrap();
    drop(shop);
    running.end().await;
}

#[tokio::test]
async fn a_handler_whose_own_call_was_shed_has_run() {
    let shed = |coupon: Result<Item, ShopBuyError>| match coupon {
        Err(ShopBuyError::Rpc(error)) => assert!(error.may_have_run(), "{error:?}"),
        other => panic!("{other:?}"),
    };
    let crowded = Some("crowded".to_owned());
    let running = Running::plain();
    let shop = AsyncShopClient::new(running.channel().await);
    shed(shop.buy(tea(1), crowded.clone()).await);
    drop(shop);
    running.end().await;
    let layers = ServiceBuilder::new().load_shed().concurrency_limit(8);
    let running = Running::new(|server| server.layer(&layers));
    let shop = AsyncShopClient::new(running.channel().await);
    shed(shop.buy(tea(1), crowded).await);
    drop(shop);
    running.end().await;
}

#[tokio::test]
async fn a_time_out_of_a_servers_layer_is_the_calls_deadline() {
    let layers = ServiceBuilder::new().timeout(Duration::from_millis(50));
    let mut running = Running::new(|server| server.layer(&layers));
    let shop = AsyncShopClient::new(running.channel().await);
    match shop.echo("never".to_owned()).await.unwrap_err() {
        Error::Call(CallError::Failed { code: ErrorCode::DeadlinePassed, .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(running.told().await, "dropped");
    drop(shop);
    running.end().await;
}

#[tokio::test]
async fn a_layer_that_fails_a_call_fails_it_with_its_own_words() {
    let refuse = layer_fn(|_| {
        service_fn(|_: ServedRequest| async {
            Err::<_, tower::BoxError>("closed on Sundays".into())
        })
    });
    let running = Running::new(|server| server.layer(&refuse));
    let shop = AsyncShopClient::new(running.channel().await);
    match shop.count().await.unwrap_err() {
        Error::Application(error) => {
            assert_eq!(error.kind, ExceptionKind::INTERNAL_ERROR);
            assert!(error.message.ends_with("closed on Sundays"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    drop(shop);
    running.end().await;
}

#[tokio::test]
async fn the_carrier_of_a_call_is_reported() {
    let running = Running::plain();
    for (place, carrier) in running.address.places().iter().zip([Carrier::Shm, Carrier::Unix]) {
        let shop = AsyncShopClient::new(Session::connect(place.clone()).await.unwrap());
        let route = Route::new();
        assert_eq!(route.carrier(), None);
        shop.with(CallOptions::new().receive_route(&route)).count().await.unwrap();
        assert_eq!(route.carrier(), Some(carrier));
    }
    running.end().await;
}

/// Returns the number of attempts of a call at a service with these outcomes in turn.
async fn attempts(
    policy: RetryPolicy,
    idempotent: bool,
    outcomes: Vec<Result<(), Error>>,
) -> usize {
    let left = Arc::new(Mutex::new(VecDeque::from(outcomes)));
    let outcomes = Arc::clone(&left);
    let before = left.lock().unwrap().len();
    let service = service_fn(move |_: CallRequest| {
        let outcome = outcomes.lock().unwrap().pop_front().expect("no more attempts");
        ready(outcome.map(|()| CallReply::default()))
    });
    let options = CallOptions::new();
    let options = if idempotent { options.idempotent() } else { options };
    let method = breezeway_rpc::Method {
        service: "S",
        name: "m",
        tag: 1,
        oneway: false,
        streaming: breezeway_rpc::thrift::Streaming::None,
    };
    let request = CallRequest { method, arguments: Default::default(), options };
    let _ = Retry::new(policy, service).oneshot(request).await;
    before - left.lock().unwrap().len()
}

fn never_left() -> Result<(), Error> {
    Err(CallError::Ended.into())
}

fn may_have_run() -> Result<(), Error> {
    Err(CallError::PeerDied.into())
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_left_is_made_again_a_few_times() {
    let outcomes = vec![never_left(), never_left(), Ok(())];
    assert_eq!(attempts(RetryPolicy::new(5), false, outcomes).await, 3);
    let outcomes = vec![never_left(), never_left(), never_left()];
    assert_eq!(attempts(RetryPolicy::new(2), false, outcomes).await, 2);
    assert_eq!(attempts(RetryPolicy::new(0), false, vec![never_left()]).await, 1);
}

#[tokio::test(start_paused = true)]
async fn possibly_run_call_is_retried_only_if_idempotent() {
    assert_eq!(attempts(RetryPolicy::new(5), false, vec![may_have_run(), Ok(())]).await, 1);
    assert_eq!(attempts(RetryPolicy::new(5), true, vec![may_have_run(), Ok(())]).await, 2);
    let late = || vec![Err(CallError::DeadlinePassed.into()), Ok(())];
    assert_eq!(attempts(RetryPolicy::new(5), false, late()).await, 1);
    assert_eq!(attempts(RetryPolicy::new(5), true, late()).await, 2);
}

#[tokio::test(start_paused = true)]
async fn answered_call_is_not_retried() {
    let answers = [
        Ok(()),
        Err(Error::new(ExceptionKind::INTERNAL_ERROR, "no")),
        Err(Error::new(ExceptionKind::UNKNOWN_METHOD, "no such method")),
        Err(Error::Overloaded),
        Err(CallError::TooLarge { len: 2, cap: 1 }.into()),
    ];
    for answer in answers {
        assert_eq!(attempts(RetryPolicy::new(5), true, vec![answer, Ok(())]).await, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn spent_budget_ends_attempts_of_all_policies() {
    // In ten seconds ten times one, and nothing for calls.
    let budget = Arc::new(TpsBudget::new(Duration::from_secs(10), 1, 0.0));
    let policy = RetryPolicy::new(100).budget(budget);
    let made = attempts(policy.clone(), false, (0..100).map(|_| never_left()).collect()).await;
    assert!(made < 20, "{made}");
    assert_eq!(attempts(policy, false, vec![never_left(), Ok(())]).await, 1);
}
