//! A server with awaited handlers.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use breezeway::{
    Address, AddressError, ErrorCode, ForeignBytes, ForeignConnection, Monitor, OwnedCall,
    ReplyError, ServeError, ServerOptions,
};
use breezeway_os::memory::zeroed;
use breezeway_tokio::Stopper;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::RPC;
use crate::bytes::{copy_of, keep_buffer, take_buffer};
use crate::call::{Call, Exchange};
use crate::context::Context;
use crate::error::Error;
use crate::kitex::tokio::serve_connection;
use crate::metadata;
use crate::method::Method;
use crate::registry::{Collision, Found, Registry};
use crate::spans::CallSpan;
use crate::tokio::stream::serve_stream;

/// Time in which Thrift clients may read the last replies when the server stops. Handlers that
/// still run then are dropped.
const LAST_REPLIES: Duration = Duration::from_secs(1);

/// Dispatches the calls of one service: generated for each implementation of the service's trait.
pub trait AsyncService: Send + Sync + 'static {
    /// Returns the service's name in the IDL.
    fn name(&self) -> &'static str;

    /// Returns its methods, inherited ones included.
    fn methods(&self) -> &'static [Method];

    /// Serves a call of the method with this index. An error fails the call.
    fn dispatch(
        &self,
        method: usize,
        cx: &Context,
        call: &mut Call<'_>,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

/// The services of one server: `()` is none, `(services, service)` one more.
pub trait AsyncServices: Send + Sync + 'static {
    /// Number of services.
    const COUNT: usize;

    /// Serves a call of a method of one of them. An error fails the call.
    fn dispatch(
        &self,
        service: usize,
        method: usize,
        cx: &Context,
        call: &mut Call<'_>,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

impl AsyncServices for () {
    const COUNT: usize = 0;

    async fn dispatch(
        &self,
        _: usize,
        _: usize,
        _: &Context,
        call: &mut Call<'_>,
    ) -> Result<(), Error> {
        call.unknown_method()
    }
}

impl<S: AsyncServices, T: AsyncService> AsyncServices for (S, T) {
    const COUNT: usize = S::COUNT + 1;

    async fn dispatch(
        &self,
        service: usize,
        method: usize,
        cx: &Context,
        call: &mut Call<'_>,
    ) -> Result<(), Error> {
        if service == S::COUNT {
            self.1.dispatch(method, cx, call).await.map_err(Error::of_handler)
        } else {
            self.0.dispatch(service, method, cx, call).await
        }
    }
}

/// Serves any number of services at one address, under tokio.
///
/// A handler is polled on arrival of its call, and becomes a task only if it waits. A handler whose
/// client no longer wants the reply is dropped, at the client's deadline at the latest. For a
/// Thrift client only the deadline does this: when its connection ends, its requests are finished.
pub struct AsyncServer<S = ()> {
    server: breezeway_tokio::Server,
    registry: Registry,
    services: S,
    /// Thrift clients that connected.
    thrift: mpsc::UnboundedReceiver<ForeignConnection>,
    serves_thrift: bool,
}

/// The services of one server, and their registry.
pub(crate) struct Shared<S> {
    pub(crate) registry: Registry,
    pub(crate) services: S,
}

impl<S: AsyncServices> Shared<S> {
    /// Runs the handler of a call or stream.
    pub(crate) fn dispatch(
        &self,
        found: Found,
        cx: &Context,
        call: &mut Call<'_>,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        let span = CallSpan::of_server(|| self.registry.method(found), cx);
        span.run_async(self.services.dispatch(found.service, found.method, cx, call))
    }
}

impl AsyncServer {
    /// Listens at `address` with default options.
    pub fn bind(
        address: impl TryInto<Address, Error: Into<AddressError>>,
    ) -> Result<Self, ServeError> {
        Self::bind_with(address, ServerOptions::new())
    }

    /// Listens at `address`.
    pub fn bind_with(
        address: impl TryInto<Address, Error: Into<AddressError>>,
        options: ServerOptions,
    ) -> Result<Self, ServeError> {
        // At most as many as there may be sessions.
        let (came, thrift) = mpsc::unbounded_channel();
        let session = options.session_options().clone().service(RPC);
        let options = options.session(session).on_foreign_connection(move |connection| {
            // Fails only when nothing is served any more; then the connection is closed.
            let _ = came.send(connection);
        });
        let server = breezeway_tokio::Server::bind_with(address, options)?;
        let registry = Registry::default();
        Ok(Self { server, registry, services: (), thrift, serves_thrift: false })
    }
}

impl<S: AsyncServices> AsyncServer<S> {
    /// Adds this service.
    pub fn add_service<T: AsyncService>(
        mut self,
        service: T,
    ) -> Result<AsyncServer<(S, T)>, Collision> {
        self.registry.add(service.name(), service.methods())?;
        let Self { server, registry, services, thrift, serves_thrift } = self;
        Ok(AsyncServer { server, registry, services: (services, service), thrift, serves_thrift })
    }

    /// Makes the calls of all services added so far, but not their streams, pass this layer of
    /// tower before their handlers. A layer that sheds a call fails it as overloaded; a time-out is
    /// the call's deadline.
    ///
    /// A layer is cloned for each call: if its state is to be shared, it must share it itself, like
    /// [`tower::limit::GlobalConcurrencyLimitLayer`] and a `Buffer`.
    #[cfg(feature = "tower")]
    pub fn layer<L: tower::Layer<crate::governance::Handlers<S>>>(
        self,
        layer: &L,
    ) -> AsyncServer<crate::governance::Layered<S, L::Service>> {
        let Self { server, registry, services, thrift, serves_thrift } = self;
        let services = crate::governance::Layered::new(services, registry.by_index(), layer);
        AsyncServer { server, registry, services, thrift, serves_thrift }
    }

    /// Serves Thrift clients too on the address's sockets, like those of Kitex, Volo and Apache's
    /// libraries: framed, unframed or in TTHeader, distinguished by their first bytes. Each counts
    /// as a session ([`ServerOptions::max_sessions`]).
    pub fn with_thrift_clients(mut self) -> Self {
        self.serves_thrift = true;
        self
    }

    /// Returns the address it listens at.
    pub fn address(&self) -> Address {
        self.server.address()
    }

    /// Returns a handle that stops it from anywhere.
    pub fn stopper(&self) -> Stopper {
        self.server.stopper()
    }

    /// Returns a monitor of its sessions while it serves.
    pub fn monitor(&self) -> Monitor {
        self.server.monitor()
    }

    /// Serves until it is stopped.
    pub async fn serve(self) -> Result<(), ServeError> {
        let Self { server, registry, services, mut thrift, serves_thrift } = self;
        let shared = Arc::new(Shared { registry, services });
        let mut connections = JoinSet::new();
        let (stop, stopped) = watch::channel(());
        let served = Arc::clone(&shared);
        let streaming = Arc::clone(&shared);
        let call = move |call| {
            let shared = Arc::clone(&shared);
            async move { serve(&shared, call).await }
        };
        let stream = move |method, stream| serve_stream(Arc::clone(&streaming), method, stream);
        let mut serving = pin!(server.serve_streams(call, stream));
        loop {
            tokio::select! {
                ended = &mut serving => {
                    drop(stop);
                    last_replies(connections).await;
                    return ended;
                }
                Some(connection) = thrift.recv() => {
                    while connections.try_join_next().is_some() {}
                    if serves_thrift {
                        let stopped = stopped.clone();
                        connections.spawn(serve_connection(
                            Arc::clone(&served), connection, stopped));
                    } else {
                        tracing::debug!(?connection, "no Thrift clients are served here");
                    }
                }
            }
        }
    }
}

/// Waits for a while until the connections end.
pub(crate) async fn last_replies(mut connections: JoinSet<()>) {
    let all = async { while connections.join_next().await.is_some() {} };
    if timeout(LAST_REPLIES, all).await.is_err() {
        tracing::debug!("Thrift clients do not read their last replies, or handlers still run");
    }
}

/// Serves one call, for as long as its client wants the reply.
async fn serve<S: AsyncServices>(shared: &Shared<S>, call: OwnedCall) -> Result<(), ReplyError> {
    let Some((found, called)) = shared.registry.find(call.method()) else {
        let (code, reason) = shared.registry.unknown_number().to_client();
        return call.fail(code, &reason);
    };
    let cx = Context::new(call.peer().clone(), call.carrier(), call.time_left());
    let cx = called.check_call().and_then(|()| cx.with_block(call.message().metadata()));
    let cx = match cx {
        Ok(cx) => cx,
        Err(error) => {
            let (code, reason) = error.to_client();
            return call.fail(code, &reason);
        }
    };
    let mut exchange = Native { call: &call, reply: None };
    let outcome = {
        let mut given = Call::new(&mut exchange);
        let mut dispatch = pin!(shared.dispatch(found, &cx, &mut given));
        poll_fn(|task| match dispatch.as_mut().poll(task) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            // A oneway call is finished even if its client is gone.
            Poll::Pending if call.is_one_way() => Poll::Pending,
            Poll::Pending => call.poll_cancelled(task).map(|()| None),
        })
        .await
    };
    let reply = exchange.reply.take();
    let Some(outcome) = outcome else {
        return call.fail(ErrorCode::Cancelled, "the client no longer wants the reply");
    };
    let reply = reply.unwrap_or_default();
    let replied = match outcome.and_then(|()| metadata::encode(&cx.take_reply_metadata())) {
        Ok(None) => call.reply(&reply),
        Ok(Some(block)) => call.reply_with_metadata(&block, &reply),
        Err(error) => {
            let (code, reason) = error.to_client();
            call.fail(code, &reason)
        }
    };
    keep_buffer(reply);
    replied
}

/// A call of a session.
struct Native<'c> {
    call: &'c OwnedCall,
    reply: Option<Vec<u8>>,
}

impl Exchange for Native<'_> {
    fn buffer(&mut self) -> Option<&mut Vec<u8>> {
        Some(self.reply.insert(take_buffer()))
    }

    fn request(&self) -> ForeignBytes<'_> {
        self.call.request()
    }

    fn reply_with(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.reply = Some(copy_of(ForeignBytes::stable(bytes))?);
        Ok(())
    }

    fn reserve(&mut self, size: usize) -> Result<&mut [u8], Error> {
        Ok(self.reply.insert(zeroed(size).map_err(Error::memory)?))
    }

    fn commit(&mut self, len: usize) -> Result<(), Error> {
        self.reply.get_or_insert_default().truncate(len);
        Ok(())
    }

    fn abandon(&mut self) {
        self.reply = None;
    }
}
