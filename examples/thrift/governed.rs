//! A client and a server of `users.thrift` in one process, with all the governance that tower has:
//! time-outs, retries, circuit breaking, limits, load shedding, balancing, metrics, tracing.
#![forbid(unsafe_code)]

use std::time::Duration;

use breezeway_rpc::governance::{CallRequest, RetryPolicy, ServedRequest, ServiceChannel};
use breezeway_rpc::instances::{Fixed, Instance, InstanceOptions, Instances};
use breezeway_rpc::{AsyncServer, CallOptions, Context, Error, Route};
use examples::users::{AsyncUsers, AsyncUsersClient, AsyncUsersServer, NoSuchUser, UsersAgeError};
use metrics_exporter_prometheus::PrometheusBuilder;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::{Layer, ServiceBuilder};
use tower_resilience_circuitbreaker::{CircuitBreakerError, CircuitBreakerLayer};

struct Table;

impl AsyncUsers for Table {
    async fn age(&self, _: &Context, name: String) -> Result<i64, UsersAgeError> {
        if name == "Ada" { Ok(36) } else { Err(NoSuchUser { name }.into()) }
    }
}

/// Prints each call that a server gets, and its trace.
fn trace(request: ServedRequest) -> ServedRequest {
    let parent = request.context.metadata("traceparent").unwrap_or_default();
    println!("{} for {}", request.method.name, String::from_utf8_lossy(parent));
    request
}

#[tokio::main]
async fn main() -> Result<(), breezeway::Report> {
    // Prints the counts of breakers and sessions, as Prometheus would scrape them.
    let figures = PrometheusBuilder::new().install_recorder()?;
    breezeway::metrics::describe();

    // The server refuses calls above its limits, instead of letting them wait.
    let folder = tempfile::tempdir()?;
    let address = format!("shm:{}/users.sock,tcp:127.0.0.1:0", folder.path().display());
    let layers = ServiceBuilder::new()
        .load_shed()
        .layer(GlobalConcurrencyLimitLayer::new(100))
        .timeout(Duration::from_secs(5))
        .map_request(trace);
    let server = AsyncServer::bind(&address)?.add_service(AsyncUsersServer(Table))?.layer(&layers);
    let (address, stopper) = (server.address(), server.stopper());
    let serving = tokio::spawn(server.serve());

    // Each instance has a breaker: while it is open, calls go to others.
    let breaker = CircuitBreakerLayer::builder()
        .name("users")
        .failure_rate_threshold(0.5)
        .minimum_number_of_calls(20)
        .wait_duration_in_open(Duration::from_secs(1))
        .backpressure()
        .failure_classifier(|outcome: &Result<_, Error>| {
            matches!(outcome, Err(Error::Call(error)) if error.may_have_run())
        })
        .build()?;
    let of_each_instance = tower::layer::layer_fn(move |instance| {
        let own =
            |error: CircuitBreakerError<Error>| error.into_inner().unwrap_or(Error::Overloaded);
        ServiceBuilder::new().map_err(own).service(breaker.layer(instance))
    });
    let set = vec![
        Instance::here("here", address)?,
        // No server listens there now.
        Instance::new("elsewhere", "tcp:127.0.0.1:1".parse()?),
    ];
    let options = InstanceOptions::new().max_in_flight(64);
    let instances = Instances::with_layer(Fixed::new(set), options, of_each_instance);

    // From the call on its way down to an attempt: shed, limits, time-out, retries, the attempt's
    // own time-out, its place in the trace.
    let service = ServiceBuilder::new()
        .load_shed()
        .buffer(1024)
        .rate_limit(10_000, Duration::from_secs(1))
        .concurrency_limit(256)
        .timeout(Duration::from_secs(10))
        .retry(RetryPolicy::new(3))
        .map_request(|attempt: CallRequest| {
            let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
            attempt.within(Duration::from_secs(3)).metadata("traceparent", parent)
        })
        .service(instances);
    let users = AsyncUsersClient::new(ServiceChannel::new(service));

    let route = Route::new();
    let options = CallOptions::new().idempotent().receive_route(&route);
    let age = users.with(options).age("Ada".to_owned()).await?;
    println!("Ada is {age}, from {} over shared memory", route.instance().expect("no instance"));
    assert_eq!(route.carrier(), Some(breezeway::Carrier::Shm));
    if let Err(UsersAgeError::Missing(missing)) = users.age("Bob".to_owned()).await {
        println!("no user is called {}", missing.name);
    }

    breezeway::metrics::record();
    let counted = ["circuitbreaker_calls_total", "breezeway_sessions{"];
    let figures = figures.render();
    let shown = |line: &&str| counted.iter().any(|name| line.starts_with(name));
    let mut lines: Vec<_> = figures.lines().filter(shown).collect();
    lines.sort_unstable();
    println!("{}", lines.join("\n"));

    drop(users);
    stopper.stop();
    serving.await??;
    Ok(())
}
