//! Volo's clients on channels of Breezeway.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use breezeway_rpc::thrift::Streaming;
use breezeway_rpc::{AsyncChannel, CallOptions, Error, Method, ReplyMetadata};
use motore::layer::{Identity, Layer, Stack};
use motore::service::Service;
use pilota::thrift::TMessageType;
use volo::FastStr;
use volo::context::Context;
use volo::loadbalance::CustomLayer;
use volo_thrift::client::{ClientBuilder, MessageService};
use volo_thrift::context::{ClientContext, ThriftContext};
use volo_thrift::{ClientError, EntryMessage};

use crate::body::Body;
use crate::{error, metadata};

/// Makes a builder of Volo's clients call over a channel of Breezeway.
pub trait CallOver {
    /// The builder of a client that calls over a channel `C`.
    type Over<C>;

    /// Calls over this channel: a [`breezeway_tokio::Client`](https://docs.rs/breezeway-tokio), a
    /// channel, or the instances of a service. It takes the place of Volo's connections, their
    /// framing and Volo's choice of an instance: the builder's address, discovery, load balance,
    /// transport and codec have no effect. Layers stay. Inner layers are added before this.
    ///
    /// A client and its clones share the channel. A call that is dropped is cancelled.
    fn call_over<C: AsyncChannel + Send + 'static>(self, channel: C) -> Self::Over<C>;
}

/// Load balance of a client that calls over a channel: none.
pub type Direct = CustomLayer<Identity>;

impl<IL, OL, Make, Req, Resp, MkT, MkC, LB> CallOver
    for ClientBuilder<IL, OL, Make, Req, Resp, MkT, MkC, LB>
{
    type Over<C> = ClientBuilder<Stack<Over<C>, IL>, OL, Make, Req, Resp, MkT, MkC, Direct>;

    fn call_over<C: AsyncChannel + Send + 'static>(self, channel: C) -> Self::Over<C> {
        let over = Over(Arc::new(channel));
        self.layer_inner(over).mk_load_balance(CustomLayer(Identity::new()))
    }
}

/// Layer that puts calls over a channel in the place of Volo's transport.
pub struct Over<C>(Arc<C>);

impl<C, Resp, MkT, MkC> Layer<MessageService<Resp, MkT, MkC>> for Over<C>
where
    Resp: EntryMessage + Send + 'static,
    MkT: volo::net::dial::MakeTransport,
    MkC: volo_thrift::codec::MakeCodec<MkT::ReadHalf, MkT::WriteHalf> + Sync,
{
    type Service = Calls<C, Resp>;

    fn layer(self, _: MessageService<Resp, MkT, MkC>) -> Self::Service {
        Calls { channel: self.0, replies: PhantomData }
    }
}

/// Volo's service of calls over a channel. Clones share the channel.
pub struct Calls<C, Resp> {
    channel: Arc<C>,
    replies: PhantomData<fn() -> Resp>,
}

impl<C, Resp> Clone for Calls<C, Resp> {
    fn clone(&self) -> Self {
        Self { channel: Arc::clone(&self.channel), replies: PhantomData }
    }
}

impl<C, Req, Resp> Service<ClientContext, Req> for Calls<C, Resp>
where
    C: AsyncChannel + Send,
    Req: EntryMessage + Send + 'static,
    Resp: EntryMessage + Send + 'static,
{
    type Response = Option<Resp>;
    type Error = ClientError;

    async fn call(
        &self,
        cx: &mut ClientContext,
        request: Req,
    ) -> Result<Option<Resp>, ClientError> {
        let name = cx.rpc_info().method().clone();
        let method = method(cx.idl_service_name().map_or("", FastStr::as_str), &name);
        let body = Body::write(&request)?;
        drop(request);
        let options = CallOptions::new();
        let options = match cx.rpc_info().config().rpc_timeout() {
            Some(time) => options.timeout(time),
            None => options,
        };
        let options = metadata::add_to(options);
        if cx.message_type == TMessageType::OneWay {
            self.post(&method, &body, options).await.map_err(error::of_call)?;
            return Ok(None);
        }
        let values = ReplyMetadata::new();
        let options = options.receive_metadata(&values);
        let reply = self.channel.call(&method, &body, &options).await.map_err(error::of_call)?;
        metadata::received(&values);
        Ok(Some(reply.read(name)?))
    }
}

impl<C: AsyncChannel, Resp> Calls<C, Resp> {
    /// Sends a oneway call. A one-way message carries no metadata: with metadata it is a call whose
    /// reply is empty.
    async fn post(&self, method: &Method, body: &Body, options: CallOptions) -> Result<(), Error> {
        let oneway = Method { oneway: true, ..*method };
        match self.channel.post(&oneway, body, &options).await {
            Err(Error::NoMetadata) => self.channel.call(method, body, &options).await.map(drop),
            posted => posted,
        }
    }
}

/// Returns the method with these names, which generated code passes. Their texts are kept: a
/// program has as many of them as its IDL has methods.
fn method(service: &str, name: &str) -> Method {
    /// The methods of each tag; methods of two services may have the same.
    static KNOWN: LazyLock<RwLock<HashMap<u32, Vec<Method>>>> = LazyLock::new(RwLock::default);
    let tag = Method::number(service, name);
    let find = |known: &[Method]| {
        known.iter().find(|known| known.service == service && known.name == name).copied()
    };
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(&tag).and_then(|known| find(known)) {
        return known;
    }
    drop(known);
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let known = known.entry(tag).or_default();
    find(known).unwrap_or_else(|| {
        let kept = |text: &str| -> &'static str { Box::leak(text.into()) };
        let method = Method::new(kept(service), kept(name), false, Streaming::None);
        known.push(method);
        method
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_of_one_tag_keep_their_names() {
        let names = [("Store", "seal_room"), ("Airport", "free_tea")];
        let [one, other] = names.map(|(service, name)| method(service, name));
        assert_eq!(one.tag, other.tag);
        for ((service, name), first) in names.into_iter().zip([one, other]) {
            let again = method(service, name);
            assert_eq!((again.service, again.name), (service, name));
            // Their texts are kept once.
            assert!(std::ptr::eq(again.name, first.name), "{name}");
        }
    }
}
