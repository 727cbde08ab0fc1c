//! Channels for generated clients.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use breezeway::describe;
use breezeway_tokio::Session;
use http::{Request, Response};
use tonic::body::Body;
use tonic::{Status, transport};
use tower_service::Service;

use crate::connect_info::ConnectInfo;
use crate::connector::{Connected, Connector, RESENDS, native};
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::http2;
use crate::native::{Failure, exchange};
use crate::timeout::Timeout;

/// A channel to a gRPC service, for the clients that tonic generates.
///
/// It is cheap to clone, and clones share one session. When a server ends or restarts, the calls in
/// flight fail with `UNAVAILABLE`; later ones connect again, as in tonic's own channel. When the
/// last clone is dropped, and the last call is over, the session is closed.
///
/// ```no_run
/// # async fn connect() -> Result<(), breezeway_grpc::Error> {
/// use tonic_health::pb::health_client::HealthClient; // any client that tonic has generated
///
/// let channel = breezeway_grpc::connect("shm:/run/app.sock").await?;
/// let (one, other) = (HealthClient::new(channel.clone()), HealthClient::new(channel));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Channel {
    shared: Arc<Shared>,
}

struct Shared {
    endpoint: Endpoint,
    link: Mutex<Option<Link>>,
    /// Number of connects so far, locked by the call that connects.
    connecting: tokio::sync::Mutex<u64>,
}

/// A connection, with its number among those of a channel.
#[derive(Clone)]
struct Link {
    by: By,
    number: u64,
}

#[derive(Clone)]
enum By {
    Native(Session, ConnectInfo),
    Http2(transport::Channel, Connector),
}

impl Link {
    fn is_usable(&self) -> bool {
        match &self.by {
            By::Native(session, _) => !session.is_going_away(),
            // tonic's channel reconnects without help.
            By::Http2(..) => true,
        }
    }

    fn info(&self) -> Option<ConnectInfo> {
        match &self.by {
            By::Native(_, info) => Some(info.clone()),
            By::Http2(_, connector) => connector.info(),
        }
    }
}

impl Endpoint {
    /// Connects to the first of the address's places that works.
    pub async fn connect(self) -> Result<Channel, Error> {
        let channel = self.connect_lazy();
        channel.shared.connected().await?;
        Ok(channel)
    }

    /// Returns a channel that connects when it is first used. Its calls fail with `UNAVAILABLE`
    /// while no server listens.
    pub fn connect_lazy(self) -> Channel {
        let (link, connecting) = (Mutex::new(None), tokio::sync::Mutex::new(0));
        Channel { shared: Arc::new(Shared { endpoint: self, link, connecting }) }
    }
}

impl Channel {
    /// Returns the server's identity and the carrier of calls; `None` while nothing is connected.
    pub fn connect_info(&self) -> Option<ConnectInfo> {
        self.shared.link().and_then(|link| link.info())
    }

    async fn exchange(self, mut request: Request<Body>) -> Result<Response<Body>, Status> {
        let mut timeout = Timeout::of(request.headers(), self.shared.endpoint.timeout);
        // A session may end just when a call is sent, which is then tried again.
        for attempt in 0..RESENDS {
            let link = match self.shared.usable_link() {
                Some(link) if attempt == 0 => link,
                _ => {
                    let link = self.shared.connected_within(&mut timeout).await?;
                    timeout.renew(request.headers_mut());
                    link
                }
            };
            let outcome = match &link.by {
                By::Native(session, _) => exchange(session, request, timeout).await,
                By::Http2(channel, _) => http2::exchange(channel.clone(), request, timeout)
                    .await
                    .map_err(Failure::Status),
            };
            match outcome {
                Ok(mut response) => {
                    if let Some(info) = link.info() {
                        response.extensions_mut().insert(info);
                    }
                    return Ok(response);
                }
                Err(Failure::Status(status)) => return Err(status),
                Err(Failure::NotSent(unsent, left)) => {
                    self.shared.give_up(&link);
                    (request, timeout) = (*unsent, left);
                }
            }
        }
        Err(Status::unavailable("the server ended each session before the call was sent"))
    }
}

async fn connect(endpoint: &Endpoint) -> Result<By, Error> {
    match native(&endpoint.address, &endpoint.session_options()).await? {
        Connected::Session(session, info) => Ok(By::Native(session, info)),
        Connected::Http2 => {
            let connector = endpoint.connector();
            let channel =
                endpoint.http2_endpoint().connect_with_connector(connector.clone()).await?;
            Ok(By::Http2(channel, connector))
        }
    }
}

impl Shared {
    fn link(&self) -> Option<Link> {
        self.link.lock().expect("no panic under the lock").clone()
    }

    fn usable_link(&self) -> Option<Link> {
        self.link().filter(Link::is_usable)
    }

    /// Returns the connection, connecting if needed, for a call that waits no longer than its time.
    /// A connect that this call does not wait for is available to the next one.
    async fn connected_within(self: &Arc<Self>, timeout: &mut Timeout) -> Result<Link, Status> {
        let unavailable = |error: Error| Status::unavailable(describe(&error));
        if timeout.is_never() {
            return self.connected().await.map_err(unavailable);
        }
        let shared = Arc::clone(self);
        let mut connecting = tokio::spawn(async move { shared.connected().await });
        let connected = poll_fn(|cx| match Pin::new(&mut connecting).poll(cx) {
            Poll::Ready(connected) => Poll::Ready(Ok(connected)),
            Poll::Pending => timeout.poll(cx).map(Err),
        });
        match connected.await? {
            Ok(connected) => connected.map_err(unavailable),
            Err(error) => Err(Status::unavailable(error.to_string())),
        }
    }

    /// Returns the connection, connecting if needed.
    async fn connected(&self) -> Result<Link, Error> {
        if let Some(link) = self.usable_link() {
            return Ok(link);
        }
        let mut connecting = self.connecting.lock().await;
        if let Some(link) = self.usable_link() {
            return Ok(link);
        }
        let by = connect(&self.endpoint).await?;
        *connecting += 1;
        let link = Link { by, number: *connecting };
        *self.link.lock().expect("no panic under the lock") = Some(link.clone());
        Ok(link)
    }

    /// Drops a session that accepts nothing more, unless another one has already replaced it.
    fn give_up(&self, link: &Link) {
        let mut current = self.link.lock().expect("no panic under the lock");
        if current.as_ref().is_some_and(|current| current.number == link.number) {
            *current = None;
        }
    }
}

impl Service<Request<Body>> for Channel {
    type Response = Response<Body>;
    type Error = Status;
    type Future = ResponseFuture;

    /// Always ready: each call waits for its connection, and for room.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> ResponseFuture {
        ResponseFuture(Box::pin(self.clone().exchange(request)))
    }
}

/// The response of a [`Channel`]. Dropping it cancels the call.
pub struct ResponseFuture(Pin<Box<dyn Future<Output = Result<Response<Body>, Status>> + Send>>);

impl Future for ResponseFuture {
    type Output = Result<Response<Body>, Status>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Channel")
            .field("endpoint", &self.shared.endpoint)
            .field("connect_info", &self.connect_info())
            .finish()
    }
}

impl fmt::Debug for ResponseFuture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
