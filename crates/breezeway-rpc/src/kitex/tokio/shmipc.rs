//! A server of Thrift clients whose connections are streams of shmipc.

use std::sync::Arc;
use std::time::Duration;

use breezeway::Carrier;
use breezeway_shmipc::Stopper;
use breezeway_shmipc::asynchronous::{Server, Session};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::connection::serve_bytes;
use crate::kitex::shmipc_server::{MOST_CONNECTIONS, UNKNOWN};
use crate::registry::{Collision, Registry};
use crate::tokio::{AsyncService, AsyncServices, Shared, last_replies};

/// Serves Thrift over shmipc like [`ShmipcServer`](crate::ShmipcServer), for tasks. Handlers are
/// awaited, like those of an [`AsyncServer`](crate::AsyncServer).
///
/// ```no_run
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// use breezeway_rpc::AsyncShmipcServer;
/// use breezeway_shmipc::asynchronous::Server;
/// use breezeway_shmipc::{ServerOptions, Trust};
///
/// let address = "shmipc:/run/users.sock".parse()?;
/// let server = Server::bind(&address, ServerOptions::new(Trust::SameUser))?;
/// AsyncShmipcServer::new(server).serve().await; // with services that were added
/// # Ok(())
/// # }
/// ```
pub struct AsyncShmipcServer<S = ()> {
    server: Arc<Server>,
    registry: Registry,
    services: S,
}

impl AsyncShmipcServer {
    /// Serves the clients of this server, which already listens: another owner of it can announce a
    /// hot restart, and read its counters.
    pub fn new(server: impl Into<Arc<Server>>) -> Self {
        Self { server: server.into(), registry: Registry::default(), services: () }
    }
}

impl<S: AsyncServices> AsyncShmipcServer<S> {
    /// Adds this service.
    pub fn add_service<T: AsyncService>(
        mut self,
        service: T,
    ) -> Result<AsyncShmipcServer<(S, T)>, Collision> {
        self.registry.add(service.name(), service.methods())?;
        let Self { server, registry, services } = self;
        Ok(AsyncShmipcServer { server, registry, services: (services, service) })
    }

    /// Adds a layer; see [`AsyncServer::layer`](crate::AsyncServer::layer).
    #[cfg(feature = "tower")]
    pub fn layer<L: tower::Layer<crate::governance::Handlers<S>>>(
        self,
        layer: &L,
    ) -> AsyncShmipcServer<crate::governance::Layered<S, L::Service>> {
        let Self { server, registry, services } = self;
        let services = crate::governance::Layered::new(services, registry.by_index(), layer);
        AsyncShmipcServer { server, registry, services }
    }

    /// Returns a handle that stops it from anywhere: nothing more is accepted or read, and requests
    /// that were read are answered. A client that takes more than a second for that is cut off.
    pub fn stopper(&self) -> Stopper {
        self.server.get().stopper()
    }

    /// Serves until it is stopped, then ends all sessions.
    pub async fn serve(self) {
        let Self { server, registry, services } = self;
        let shared = Arc::new(Shared { registry, services });
        let (stop, stopped) = watch::channel(());
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let patience = server.get().handshake_timeout();
        let mut sessions = JoinSet::new();
        while let Some(session) = server.accept().await {
            while sessions.try_join_next().is_some() {}
            let (shared, places) = (Arc::clone(&shared), Arc::clone(&places));
            sessions.spawn(serve_session(shared, session, places, patience, stopped.clone()));
        }
        drop(stop);
        last_replies(sessions).await;
        server.get().close_sessions();
    }
}

/// Serves the streams of a session until its client closes it or the server stops.
async fn serve_session<S: AsyncServices>(
    shared: Arc<Shared<S>>,
    session: Session,
    places: Arc<Semaphore>,
    patience: Duration,
    mut stopped: watch::Receiver<()>,
) {
    let peer = session.get().peer().unwrap_or(UNKNOWN);
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = session.accept() => accepted,
            // An error means that its sender is gone: the server stops.
            _ = stopped.changed() => break,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok(stream) => {
                let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                    tracing::debug!(?peer, "a connection too many: {MOST_CONNECTIONS} are served");
                    continue;
                };
                let (shared, client) = (Arc::clone(&shared), (Carrier::Shmipc, peer.clone()));
                let serving = serve_bytes(shared, stream, client, Some(patience), stopped.clone());
                connections.spawn(async move {
                    serving.await;
                    drop(place);
                });
            }
            Err(end) => {
                tracing::debug!(?peer, %end, "a Thrift client's session of shmipc is over");
                break;
            }
        }
    }
    while connections.join_next().await.is_some() {}
}
