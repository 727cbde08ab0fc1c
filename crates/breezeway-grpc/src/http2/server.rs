//! A server of HTTP/2: the connections of its clients, until each has ended.

use std::convert::Infallible;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use breezeway_tokio::Stopper;
use breezeway_tokio::unstable::is_draining;
use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tonic::Status;
use tonic::body::Body;
use tower_service::Service;

use super::calls;
use super::keepalive::StopTimer;
use super::progress::Progress;
use super::settings;
use crate::connection::{Connection, close};
use crate::error::BoxError;
use crate::native::{Serving, status_trailers};
use crate::timeout::Timeout;

/// Time for which connections are still served that arrive while clients go to a successor.
const LATE: Duration = Duration::from_secs(3);
/// Time that a client has for the beginning of HTTP/2: its preface and its settings.
const BEGINNING: Duration = Duration::from_secs(10);
/// Shortest time between two PINGs of a stopping server.
const SHORTEST: Duration = Duration::from_millis(1);

/// The limits of a server's connections.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Maximum number of concurrent calls of a connection.
    pub(crate) max_streams: u16,
    /// Time that a client has once the server stops.
    pub(crate) drain_timeout: Duration,
}

/// Serves connections until the server ends, and the remaining ones until they end. Dropping the
/// future cuts all of them.
pub(crate) async fn serve<S, B>(
    serving: Serving<S>,
    mut connections: mpsc::Receiver<Connection>,
    stopper: &Stopper,
    limits: Limits,
) where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Future: Send,
    S::Error: Into<BoxError> + Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let mut tasks = JoinSet::new();
    let serve_until = |stop: &watch::Sender<()>| {
        let (serving, stop) = (serving.clone(), stop.subscribe());
        move |connection| serve_connection(serving.clone(), connection, stop.clone(), limits)
    };
    let early = watch::Sender::new(());
    take_until(stopper.ending(), &mut connections, &mut tasks, serve_until(&early)).await;
    drop(early);
    // Connections of sessions that existed when the successor came: their clients are notified a
    // little later, because a connection that ends at its beginning fails a call.
    if is_draining(stopper) {
        let late = watch::Sender::new(());
        take_until(sleep(LATE), &mut connections, &mut tasks, serve_until(&late)).await;
    }
    close(&mut connections);
    while tasks.join_next().await.is_some() {}
}

async fn take_until<F: Future<Output = ()> + Send + 'static>(
    end: impl Future<Output = ()>,
    connections: &mut mpsc::Receiver<Connection>,
    tasks: &mut JoinSet<()>,
    serve: impl Fn(Connection) -> F,
) {
    let mut end = pin!(end);
    loop {
        tokio::select! {
            () = &mut end => return,
            Some(connection) = connections.recv() => {
                tasks.spawn(serve(connection));
            }
            Some(_) = tasks.join_next() => {}
        }
    }
}

/// Serves one connection until its client closes it. Once the sender of `stop` is dropped, it sends
/// GOAWAY to its client. The connection then ends with the running calls, and by the drain timeout
/// if none runs. It is also cut if the client sends nothing for that time, during which it gets
/// PINGs.
async fn serve_connection<S, B>(
    serving: Serving<S>,
    connection: Connection,
    mut stop: watch::Receiver<()>,
    limits: Limits,
) where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Future: Send,
    S::Error: Into<BoxError> + Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let info = connection.info();
    let peer = info.peer.clone();
    // Each call has a receiver of it.
    let calls = Arc::new(watch::Sender::new(()));
    let running = Arc::clone(&calls);
    let begun = Arc::new(AtomicUsize::new(0));
    let beginning = Arc::clone(&begun);
    let service = service_fn(move |request: Request<Incoming>| {
        beginning.fetch_add(1, Ordering::Release);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(info.clone());
        call(serving.clone(), request, running.subscribe())
    });
    let progress = Progress::new();
    let io = TokioIo::new(connection.in_turns(progress.clone()));
    let mut http2 = settings::server(limits.max_streams.into());
    http2
        .timer(StopTimer::new(stop.clone()))
        .keep_alive_interval((limits.drain_timeout / 2).max(SHORTEST))
        .keep_alive_timeout(limits.drain_timeout);
    let mut http2 = pin!(http2.serve_connection(io, service));

    let begins = async {
        sleep(BEGINNING).await;
        if progress.has_begun() {
            pending().await
        }
    };
    tokio::select! {
        ended = turns(http2.as_mut(), &progress) => return log(ended),
        _ = stop.changed() => {}
        () = begins => return tracing::warn!(?peer, "a client has not begun to speak HTTP/2"),
    }
    http2.as_mut().graceful_shutdown();
    let idle = async {
        // A request that was in flight at the stop is served as well.
        let mut before = None;
        while before != Some(begun.load(Ordering::Acquire)) {
            calls.closed().await;
            before = Some(begun.load(Ordering::Acquire));
            sleep(limits.drain_timeout).await;
        }
    };
    let silent = async {
        // hyper cannot end a connection while its client does not read.
        let mut before = None;
        while before != Some(progress.bytes()) {
            before = Some(progress.bytes());
            sleep(limits.drain_timeout).await;
        }
    };
    tokio::select! {
        ended = turns(http2.as_mut(), &progress) => log(ended),
        () = idle => tracing::debug!(?peer, "an idle connection is cut"),
        () = silent => tracing::warn!(?peer, "a connection is cut, as its client does not answer"),
    }
}

/// Drives a connection, turn by turn.
async fn turns<C: Future>(mut http2: Pin<&mut C>, progress: &Progress) -> C::Output {
    poll_fn(|cx| {
        progress.begin_turn();
        http2.as_mut().poll(cx)
    })
    .await
}

fn log(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(error = &error as &dyn std::error::Error, "a connection has failed");
    }
}

/// Answers a call.
async fn call<S, B>(
    mut serving: Serving<S>,
    request: Request<Body>,
    running: watch::Receiver<()>,
) -> Result<Response<CallBody>, Infallible>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    calls::set_timeout(Timeout::of(request.headers(), serving.timeout));
    let mut answer = pin!(serving.answer(request));
    let response = poll_fn(|cx| match answer.as_mut().poll(cx) {
        Poll::Ready(response) => Poll::Ready(response),
        Poll::Pending => calls::poll_timeout(cx).map(|status| status.into_http()),
    });
    let response = response.await;
    Ok(response.map(|body| CallBody { body: Some(body), _running: running }))
}

/// The body of a response, which breaks off at the call's deadline.
struct CallBody {
    /// Present until the deadline.
    body: Option<Body>,
    _running: watch::Receiver<()>,
}

impl http_body::Body for CallBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        // Checked first, because a body may always have a frame.
        if let Poll::Ready(status) = calls::poll_timeout(cx) {
            this.body = None;
            return Poll::Ready(Some(Ok(Frame::trailers(status_trailers(&status)))));
        }
        Pin::new(body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, http_body::Body::size_hint)
    }
}
