//! A server of HTTP/2: the connections of its clients, until each has ended.

use std::convert::Infallible;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use breezeway_tokio::Stopper;
use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use tonic::Status;
use tonic::body::Body;
use tower_service::Service;

use super::settings;
use super::transport::{Progress, Transport};
use crate::connection::{Connection, close};
use crate::error::BoxError;
use crate::native::{Serving, status_trailers};
use crate::timeout::Timeout;

/// For so long a connection is served that comes while clients go to a successor.
const LATE: Duration = Duration::from_secs(3);
/// The time that a client has for the beginning of HTTP/2: its preface and its settings.
const BEGINNING: Duration = Duration::from_secs(10);

/// The limits of a server's connections.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// The most calls of a connection at one time.
    pub(crate) max_streams: u16,
    /// The time that a client has once the server stops.
    pub(crate) drain_timeout: Duration,
}

/// Serves connections until the server ends, and those that are there then until they end.
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
    // Each connection has a receiver of it.
    let open = watch::Sender::new(());
    let serve_until = |connection, stop: &watch::Sender<()>| {
        let (serving, stop, open) = (serving.clone(), stop.subscribe(), open.subscribe());
        tokio::spawn(async move {
            serve_connection(serving, connection, stop, limits).await;
            drop(open);
        });
    };
    let early = watch::Sender::new(());
    take_until(stopper.ending(), &mut connections, |connection| serve_until(connection, &early))
        .await;
    drop(early);
    // Connections of sessions that were there when the successor came: their clients are told of it
    // a little later, as a connection that ends at its beginning fails a call.
    if stopper.is_draining() {
        let late = watch::Sender::new(());
        take_until(sleep(LATE), &mut connections, |connection| serve_until(connection, &late))
            .await;
    }
    close(&mut connections);
    open.closed().await;
}

async fn take_until(
    end: impl Future<Output = ()>,
    connections: &mut mpsc::Receiver<Connection>,
    take: impl Fn(Connection),
) {
    let mut end = pin!(end);
    loop {
        tokio::select! {
            () = &mut end => return,
            Some(connection) = connections.recv() => take(connection),
        }
    }
}

/// Serves one connection until its client closes it. Once the sender of `stop` is dropped, its
/// client is told to go. Then the connection ends with the calls that run, and by the drain timeout
/// if none runs. It is cut too if the client has not answered and sends nothing for that time.
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
    let io = TokioIo::new(Transport::new(connection, progress.clone()));
    let mut http2 = pin!(settings::server(limits.max_streams.into()).serve_connection(io, service));

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
        // A request that was on its way at the stop is served as well.
        let mut before = None;
        while before != Some(begun.load(Ordering::Acquire)) {
            calls.closed().await;
            before = Some(begun.load(Ordering::Acquire));
            sleep(limits.drain_timeout).await;
        }
    };
    let silent = async {
        // Bytes that the client sent before the stop may be read after it.
        let mut before = None;
        while before != Some(progress.bytes()) {
            before = Some(progress.bytes());
            sleep(limits.drain_timeout).await;
            if progress.has_answered() {
                pending().await
            }
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
    let mut timeout = Timeout::of(request.headers(), serving.timeout);
    let mut answer = pin!(serving.answer(request));
    let response = poll_fn(|cx| match answer.as_mut().poll(cx) {
        Poll::Ready(response) => Poll::Ready(response),
        Poll::Pending => timeout.poll(cx).map(|status| status.into_http()),
    });
    let response = response.await;
    Ok(response.map(|body| CallBody { body: Some(body), timeout, _running: running }))
}

/// The body of a response, which breaks off at the call's deadline.
struct CallBody {
    /// There until the deadline.
    body: Option<Body>,
    timeout: Timeout,
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
        if let Poll::Ready(frame) = Pin::new(body).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        this.timeout.poll(cx).map(|status| {
            this.body = None;
            Some(Ok(Frame::trailers(status_trailers(&status))))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, http_body::Body::size_hint)
    }
}
