//! A server with blocking handlers.

use std::sync::Arc;

use breezeway::unstable::reply_from;
use breezeway::{Address, AddressError, Handled, Monitor, ServeError, ServerOptions, Stopper};

use crate::RPC;
use crate::call::{Call, Exchange, Fill};
use crate::context::Context;
use crate::error::Error;
use crate::in_place::Request;
use crate::kitex::Connections;
use crate::method::Method;
use crate::registry::{Collision, Found, Registry};
use crate::spans::CallSpan;
use crate::stream;
use crate::thrift::ExceptionKind;

/// Dispatches the calls of one service: generated for each implementation of the service's trait.
pub trait Service: Send + Sync + 'static {
    /// Returns the service's name in the IDL.
    fn name(&self) -> &'static str;

    /// Returns its methods, inherited ones included.
    fn methods(&self) -> &'static [Method];

    /// Serves a call of the method with this index. An error fails the call.
    fn dispatch(&self, method: usize, cx: &Context, call: &mut Call<'_>) -> Result<(), Error>;
}

/// Serves any number of services at one address.
///
/// Handlers run on the server's workers, which also serve other sessions: run slow ones elsewhere
/// ([`ServerOptions::offload`]). A panic fails the call, not the server.
pub struct Server {
    server: breezeway::Server,
    services: Services,
    thrift: Arc<Connections>,
    serves_thrift: bool,
}

/// The services of one server.
#[derive(Default)]
pub(crate) struct Services {
    pub(crate) registry: Registry,
    services: Vec<Box<dyn Service>>,
}

impl Server {
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
        let thrift: Arc<Connections> = Arc::default();
        let clients = Arc::clone(&thrift);
        let session = options.session_options().clone().service(RPC);
        let options = options
            .session(session)
            .on_foreign_connection(move |connection| clients.serve(connection));
        let server = breezeway::Server::bind_with(address, options)?;
        Ok(Self { server, services: Services::default(), thrift, serves_thrift: false })
    }

    /// Serves Thrift clients too on the address's sockets, like those of Kitex, Volo and Apache's
    /// libraries: framed, unframed or in TTHeader, distinguished by their first bytes.
    ///
    /// Each has a thread, and counts as a session ([`ServerOptions::max_sessions`]). A client in
    /// TTHeader has another thread that reads on while its request is served, and more while
    /// several requests are served, up to 128.
    pub fn with_thrift_clients(mut self) -> Self {
        self.serves_thrift = true;
        self
    }

    /// Adds this service.
    pub fn add_service(mut self, service: impl Service) -> Result<Self, Collision> {
        self.services.add(service)?;
        Ok(self)
    }

    /// Returns the address it listens at.
    pub fn address(&self) -> Address {
        self.server.address()
    }

    /// Returns a handle that stops it from another thread or a signal handler.
    pub fn stopper(&self) -> Stopper {
        self.server.stopper()
    }

    /// Returns a monitor of its sessions while it serves.
    pub fn monitor(&self) -> Monitor {
        self.server.monitor()
    }

    /// Serves until it is stopped.
    pub fn serve(self) -> Result<(), ServeError> {
        let services = Arc::new(self.services);
        if self.serves_thrift {
            self.thrift.open(&services);
        }
        let streaming = Arc::clone(&services);
        let server = self.server.on_stream(move |method, opened| {
            stream::serve(&streaming, method, opened);
            Ok(())
        });
        let outcome = server.serve(move |call: breezeway::Call<'_>| services.handle(call));
        self.thrift.close();
        outcome
    }
}

impl Services {
    pub(crate) fn add(&mut self, service: impl Service) -> Result<(), Collision> {
        self.registry.add(service.name(), service.methods())?;
        self.services.push(Box::new(service));
        Ok(())
    }

    /// Runs the handler of a call or stream.
    #[inline]
    pub(crate) fn dispatch(
        &self,
        found: Found,
        cx: &Context,
        call: &mut Call<'_>,
    ) -> Result<(), Error> {
        let span = CallSpan::of_server(|| self.registry.method(found), cx);
        span.run(|| self.services[found.service].dispatch(found.method, cx, call))
    }

    pub(crate) fn handle(&self, call: breezeway::Call<'_>) -> Handled {
        let Some((found, method)) = self.registry.find(call.method()) else {
            let (code, reason) = self.registry.unknown_number().to_client();
            return call.fail(code, &reason);
        };
        let mut cx = Context::new(call.peer().clone(), call.carrier(), call.patience());
        let block = call.metadata();
        if method.is_stream() || block.is_some() {
            let read = |()| block.map_or(Ok(()), |block| cx.read_block(block));
            if let Err(error) = method.check_call().and_then(read) {
                let (code, reason) = error.to_client();
                return call.fail(code, &reason);
            }
        }
        let mut native = Native { call: Some(call), space: None, handled: None };
        let outcome = self.dispatch(found, &cx, &mut Call::new(&mut native));
        native.abandon();
        // A call with a reply is not moved: it was written in parts, and a move would wait until
        // they are stored, behind the reply.
        if let Some(handled) = native.handled {
            return handled;
        }
        let call = native.call.expect("a call that is gone was replied to");
        match outcome {
            Ok(()) => call.done(),
            Err(error) => {
                let (code, reason) = error.of_handler().to_client();
                call.fail(code, &reason)
            }
        }
    }
}

/// A call of a session.
struct Native<'c> {
    call: Option<breezeway::Call<'c>>,
    /// The call, while there is space for its reply.
    space: Option<breezeway::ReplySpace<'c>>,
    /// Outcome of the reply, once there was one.
    handled: Option<Handled>,
}

impl Exchange for Native<'_> {
    fn request(&self) -> breezeway::ForeignBytes<'_> {
        self.call.as_ref().map_or(breezeway::ForeignBytes::stable(&[]), breezeway::Call::request)
    }

    fn reply_with(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.call.is_some() {
            self.handled = Some(reply_from(&mut self.call, bytes));
        }
        Ok(())
    }

    fn reply(&mut self, size: usize, fill: Fill<'_>) -> Result<(), Error> {
        let Some(call) = self.call.take() else { return Ok(()) };
        let handled = match call.reserve(size) {
            Ok(mut space) => match fill(space.bytes_mut()) {
                Ok(_) => space.commit(),
                Err(error) => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        };
        self.handled = Some(handled);
        Ok(())
    }

    fn take_request(&mut self) -> Request {
        match &mut self.call {
            Some(call) => Request::of(call),
            None => Request::copied(breezeway::ForeignBytes::stable(&[])),
        }
    }

    fn reserve(&mut self, size: usize) -> Result<&mut [u8], Error> {
        self.abandon();
        let failed = |words| Error::new(ExceptionKind::INTERNAL_ERROR, words);
        let call = self.call.take().ok_or_else(|| failed("the call was replied to".to_owned()))?;
        match call.reserve(size) {
            Ok(space) => Ok(self.space.insert(space).bytes_mut()),
            Err(error) => {
                // Without space the session has already been given the call's end.
                let words = breezeway::describe(&error);
                self.handled = Some(Err(error.into()));
                Err(failed(words))
            }
        }
    }

    fn commit(&mut self, len: usize) -> Result<(), Error> {
        if let Some(mut space) = self.space.take() {
            space.truncate(len);
            self.handled = Some(space.commit());
        }
        Ok(())
    }

    fn abandon(&mut self) {
        if let Some(space) = self.space.take() {
            self.call = Some(space.abandon());
        }
    }
}
