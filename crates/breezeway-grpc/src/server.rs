//! A server of both gears.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::io;
use std::time::Duration;

use crate::error::BoxError;
use breezeway::{Address, ServerOptions};
use breezeway_tokio::unstable::is_draining;
use bytes::Bytes;
use http::{Request, Response};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::service::Routes;
use tower_layer::{Identity, Layer, Stack};
use tower_service::Service;

use crate::connection::Connection;
use crate::error::Error;
use crate::http2;
use crate::listening::{GRPC, Listening, listen};
use crate::native::Serving;

/// Builds a server of tonic services at any address, in both gears.
///
/// ```no_run
/// # async fn serve(routes: tonic::service::Routes) -> Result<(), breezeway_grpc::Error> {
/// use breezeway_grpc::Server;
///
/// Server::builder().add_routes(routes).serve("shm:/run/app.sock,tcp:0.0.0.0:7000").await
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Server<L = Identity> {
    options: ServerOptions,
    timeout: Option<Duration>,
    layer: L,
}

/// A server with its services.
#[derive(Clone, Debug)]
pub struct Router<L = Identity> {
    server: Server<L>,
    routes: Routes,
}

impl Server {
    /// Creates a server without layers, with default options.
    pub fn builder() -> Self {
        Self { options: ServerOptions::new(), timeout: None, layer: Identity::new() }
    }
}

impl<L> Server<L> {
    /// Wraps all services in one more layer, inside those before it: the first one added sees a
    /// call first. Layers are applied once, and both gears use the one resulting service.
    pub fn layer<N>(self, layer: N) -> Server<Stack<N, L>> {
        Server {
            options: self.options,
            timeout: self.timeout,
            layer: Stack::new(layer, self.layer),
        }
    }

    /// Sets the maximum time of a handler up to its response; a call's own `grpc-timeout` counts if
    /// it is shorter. By default it is not bounded.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Sets the options of the sockets and sessions: the mode of the socket file, allowed clients,
    /// limits.
    pub fn options(self, options: ServerOptions) -> Self {
        Self { options, ..self }
    }

    /// Adds a first service.
    pub fn add_service<S, B>(self, service: S) -> Router<L>
    where
        S: Service<Request<Body>, Response = Response<B>, Error = Infallible>
            + NamedService
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.add_routes(Routes::new(service))
    }

    /// Adds services that tonic has assembled.
    pub fn add_routes(self, routes: Routes) -> Router<L> {
        Router { server: self, routes }
    }
}

impl<L> Router<L> {
    /// Adds one more service.
    pub fn add_service<S, B>(self, service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>, Error = Infallible>
            + NamedService
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self { routes: self.routes.add_service(service), ..self }
    }

    /// Serves at all places of an address.
    pub async fn serve<B>(self, address: impl AsRef<str>) -> Result<(), Error>
    where
        L: Layer<Routes>,
        L::Service: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request<Body>>>::Future: Send,
        <L::Service as Service<Request<Body>>>::Error: Into<BoxError> + Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.bind(address)?.serve().await
    }

    /// Serves like [`serve`](Self::serve), until `signal` is ready: then no client is accepted any
    /// more, and running calls are awaited while their clients are there. A connection of HTTP/2
    /// ends within [`ServerOptions::drain_timeout`] if it has no call, or if its client answers no
    /// PING for that time.
    pub async fn serve_with_shutdown<B>(
        self,
        address: impl AsRef<str>,
        signal: impl Future<Output = ()>,
    ) -> Result<(), Error>
    where
        L: Layer<Routes>,
        L::Service: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request<Body>>>::Future: Send,
        <L::Service as Service<Request<Body>>>::Error: Into<BoxError> + Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.bind(address)?.serve_with_shutdown(signal).await
    }

    /// Listens at all places of an address. Clients may connect from now on; native calls are
    /// served already, and those of HTTP/2 once the result is awaited.
    pub fn bind<B>(self, address: impl AsRef<str>) -> Result<Bound<L::Service>, Error>
    where
        L: Layer<Routes>,
        L::Service: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request<Body>>>::Future: Send,
        <L::Service as Service<Request<Body>>>::Error: Into<BoxError> + Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let address: Address = address.as_ref().parse()?;
        let Server { options, timeout, layer } = self.server;
        let service = layer.layer(self.routes.prepare());
        let serving = Serving { service, timeout };
        let native = serving.clone();
        let call = move |stream| native.clone().serve(stream);
        let (listening, connections) = listen(&address, options, GRPC, call)?;
        Ok(Bound { listening, connections, serving })
    }
}

/// A server that listens.
pub struct Bound<S> {
    listening: Listening,
    connections: mpsc::Receiver<Connection>,
    serving: Serving<S>,
}

impl<S, B> Bound<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Future: Send,
    S::Error: Into<BoxError> + Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    /// Returns the address it listens at, with the actual ports in place of 0.
    pub fn address(&self) -> &Address {
        &self.listening.address
    }

    /// Serves until an error occurs.
    pub async fn serve(self) -> Result<(), Error> {
        self.serve_with_shutdown(std::future::pending()).await
    }

    /// Serves until `signal` is ready: then no client is accepted any more, and running calls are
    /// awaited while their clients are there. The same happens once a successor has [taken
    /// over](ServerOptions::take_over), for no longer than the options' drain timeout.
    pub async fn serve_with_shutdown(self, signal: impl Future<Output = ()>) -> Result<(), Error> {
        let Self { mut listening, connections, serving } = self;
        let (stopper, limits) = (listening.stopper.clone(), listening.limits);
        let cut = async {
            stopper.ending().await;
            match is_draining(&stopper) {
                true => sleep(limits.drain_timeout).await,
                false => pending().await,
            }
        };
        let http2 = async {
            tokio::select! {
                () = http2::serve(serving, connections, &stopper, limits) => {}
                () = cut => {}
            }
        };
        let serving = &mut listening.serving;
        let sessions = async {
            let ended = tokio::select! {
                () = signal => None,
                ended = &mut *serving => Some(ended),
            };
            stopper.stop();
            let ended = match ended {
                Some(ended) => ended,
                None => serving.await,
            };
            ended.unwrap_or_else(|error| Err(io::Error::from(error).into()))
        };
        let ((), sessions) = tokio::join!(http2, sessions);
        Ok(sessions?)
    }
}
