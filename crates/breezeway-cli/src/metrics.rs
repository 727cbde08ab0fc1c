//! `breezeway serve --metrics`: figures for Prometheus by HTTP.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use breezeway_os::shortage;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::announce::announce_metrics;
use crate::failure::Failure;

/// Seconds up to which handlers are counted together.
const BUCKETS: [f64; 10] = [1e-7, 3e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0];

/// Time in which a scraper must send its request and take the reply.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum number of scrapers at a time: their descriptors are also those of sessions.
const MOST: usize = 16;

/// Serves the figures of this process at `address` until the process ends. Servers that follow each
/// other share the port.
pub(crate) fn serve(address: SocketAddr, is_shared: bool) -> Result<(), Failure> {
    let handlers = Matcher::Full("breezeway_handler_seconds".to_owned());
    let builder = PrometheusBuilder::new().set_buckets_for_metric(handlers, &BUCKETS)?;
    let prometheus = builder.install_recorder()?;
    breezeway::metrics::describe();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(async { listen(address, is_shared) });
    let listener = listener.map_err(|error| {
        format!("cannot listen at --metrics {address}: {error}{}", shortage::advice(&error))
    })?;
    announce_metrics(listener.local_addr()?);
    shortage::spawn("metrics", move || runtime.block_on(accept(&listener, &prometheus)))?;
    Ok(())
}

fn listen(address: SocketAddr, is_shared: bool) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(is_shared)?;
    socket.bind(address)?;
    socket.listen(128)
}

async fn accept(listener: &TcpListener, prometheus: &PrometheusHandle) {
    let places = Arc::new(Semaphore::new(MOST));
    loop {
        let place = Arc::clone(&places).acquire_owned().await.expect("nobody closes it");
        let Ok((socket, _)) = listener.accept().await else {
            // Descriptors are short, and may be so for a while.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let prometheus = prometheus.clone();
        let service = service_fn(move |request| {
            let reply = answer(&request, &prometheus);
            async move { Ok::<_, Infallible>(reply) }
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false);
        let connection = timeout(PATIENCE, http.serve_connection(TokioIo::new(socket), service));
        tokio::spawn(async move {
            match connection.await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, "a scrape failed"),
                Err(_) => tracing::debug!("a scraper was too slow"),
            }
            drop(place);
        });
    }
}

fn answer(request: &Request<Incoming>, prometheus: &PrometheusHandle) -> Response<Full<Bytes>> {
    if request.uri().path() != "/metrics" {
        let mut reply = Response::new(Full::from("the figures are at /metrics\n"));
        *reply.status_mut() = StatusCode::NOT_FOUND;
        return reply;
    }
    // Records the counts of all sessions up to now.
    breezeway::metrics::record();
    prometheus.run_upkeep();
    let mut reply = Response::new(Full::from(prometheus.render()));
    let kind = "text/plain; version=0.0.4".parse().expect("the text of a header");
    reply.headers_mut().insert(CONTENT_TYPE, kind);
    reply
}
