//! Volo's services on servers of Breezeway.

use std::cell::RefCell;
use std::marker::PhantomData;

use breezeway_rpc::{AsyncService, Call, Context, Error, Method};
use metainfo::METAINFO;
use motore::service::Service;
use pilota::thrift::{ApplicationExceptionKind, TMessageType, ThriftException};
use volo::FastStr;
use volo::context::Context as _;
use volo_thrift::context::{ServerContext, ThriftContext};
use volo_thrift::{EntryMessage, ServerError};

use crate::body::Body;
use crate::error::UnknownMethod;
use crate::{error, metadata};

/// The methods of a service, by their names in the IDL: [`methods!`](crate::methods).
#[derive(Clone, Copy, Debug)]
pub struct Methods {
    service: &'static str,
    methods: &'static [Method],
}

impl Methods {
    /// Returns the methods of this service, inherited ones included.
    pub const fn new(service: &'static str, methods: &'static [Method]) -> Self {
        Self { service, methods }
    }
}

/// Lists the methods of a service by their names in the IDL, inherited ones included, and behind
/// them those that are oneway. A number on the wire means a method of this list: a method that is
/// missing here is unknown to clients.
///
/// ```
/// use breezeway_volo::{Methods, methods};
///
/// const SHOP: Methods = methods!(Shop: check, buy, count, echo; oneway: look);
/// const LOG: Methods = methods!(Log: ; oneway: write);
/// ```
#[macro_export]
macro_rules! methods {
    ($service:ident : $($name:ident),* $(; oneway : $($oneway:ident),+)?) => {{
        const METHODS: &[$crate::Method] = &[
            $($crate::methods!(@ $service $name false),)*
            $($($crate::methods!(@ $service $oneway true),)+)?
        ];
        const _: () = $crate::Method::check(METHODS);
        $crate::Methods::new(stringify!($service), METHODS)
    }};
    (@ $service:ident $name:ident $oneway:literal) => {
        $crate::Method::new(
            stringify!($service), stringify!($name), $oneway, $crate::Streaming::None,
        )
    };
}

/// A service of Volo for a [`breezeway_rpc::AsyncServer`].
///
/// `S` is the dispatcher that Volo generated, `ShopServer::from_handler(handler)`, alone or within
/// layers, and `Req` the requests that it takes, `ShopRequestRecv`.
///
/// Handlers find the client's metadata and set theirs in `METAINFO` as with Volo's own server, the
/// client's remaining time in the context's `rpc_timeout`, and its credentials among the context's
/// extensions ([`Peer`](https://docs.rs/breezeway)). A handler whose client no longer wants the
/// reply is dropped where it awaits, as every handler of that server is.
pub struct VoloService<S, Req> {
    service: S,
    methods: Methods,
    requests: PhantomData<fn(Req)>,
}

impl<S, Req> VoloService<S, Req>
where
    S: Service<ServerContext, Req, Error = ServerError>,
    Req: EntryMessage,
{
    /// Creates the service of these methods. Fails if the generated code does not have one of them.
    pub fn new(service: S, methods: Methods) -> Result<Self, UnknownMethod> {
        let is_unknown = |method: &&Method| {
            // The struct without fields: a method that is known may lack a required one.
            let empty = Body::Whole(vec![0].into());
            let read = empty.read::<Req>(FastStr::from_static_str(method.name));
            let unknown = ApplicationExceptionKind::UNKNOWN_METHOD;
            matches!(read, Err(ThriftException::Application(error)) if error.kind() == unknown)
        };
        match methods.methods.iter().find(is_unknown) {
            Some(&Method { service, name, .. }) => Err(UnknownMethod { service, name }),
            None => Ok(Self { service, methods, requests: PhantomData }),
        }
    }
}

impl<S, Req> AsyncService for VoloService<S, Req>
where
    S: Service<ServerContext, Req, Error = ServerError> + Send + Sync + 'static,
    S::Response: EntryMessage + Send,
    Req: EntryMessage + Send + 'static,
{
    fn name(&self) -> &'static str {
        self.methods.service
    }

    fn methods(&self) -> &'static [Method] {
        self.methods.methods
    }

    async fn dispatch(
        &self,
        method: usize,
        cx: &Context,
        call: &mut Call<'_>,
    ) -> Result<(), Error> {
        let method = self.methods.methods[method];
        let request = read(&method, call)?;
        let mut volos = context(&method, cx);
        let values = RefCell::new(metadata::of_request(cx));
        let serving = async {
            let response = self.service.call(&mut volos, request).await;
            metadata::send_back(cx);
            response
        };
        let response = METAINFO.scope(values, serving).await.map_err(error::of_handler)?;
        if method.oneway {
            return Ok(());
        }
        let body = Body::write(&response).map_err(|error| error::of_handler(error.into()))?;
        call.reply::<Body>(Ok(body))
    }
}

/// Reads the arguments of a call.
fn read<Req: EntryMessage>(method: &Method, call: &Call<'_>) -> Result<Req, Error> {
    let arguments: Body = call.arguments()?;
    let read = arguments.read(FastStr::from_static_str(method.name));
    read.map_err(|error| error::of_handler(error.into()))
}

/// Returns Volo's context of a call.
fn context(method: &Method, cx: &Context) -> ServerContext {
    let mut volos = ServerContext::default();
    volos.set_idl_service_name(FastStr::from_static_str(method.service));
    let kind = if method.oneway { TMessageType::OneWay } else { TMessageType::Call };
    volos.req_msg_type = Some(kind);
    volos.extensions_mut().insert(cx.peer().clone());
    let about = volos.rpc_info_mut();
    about.set_method(FastStr::from_static_str(method.name));
    about.config_mut().set_rpc_timeout(cx.time_left());
    volos
}
