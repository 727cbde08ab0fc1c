//! Layers of Volo around calls and handlers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use breezeway::Peer;
use breezeway_rpc::AsyncServer;
use breezeway_tokio::Client;
use breezeway_volo::{CallOver, VoloService};
use motore::layer::Layer;
use motore::service::Service;
use tokio::sync::mpsc::unbounded_channel;
use volo::context::Context;
use volo_interop::volo::{self as volos, ShopClientBuilder, ShopRequestRecv};
use volo_thrift::context::ServerContext;

use super::shop::SHOP;
use crate::shops::Corner;

/// Counts the calls that pass it.
#[derive(Clone, Default)]
struct Counting(Arc<AtomicUsize>);

#[derive(Clone)]
struct Counted<S>(S, Arc<AtomicUsize>);

impl<S> Layer<S> for Counting {
    type Service = Counted<S>;

    fn layer(self, inner: S) -> Counted<S> {
        Counted(inner, self.0)
    }
}

impl<Cx: Send, Req: Send, S: Service<Cx, Req> + Sync> Service<Cx, Req> for Counted<S> {
    type Response = S::Response;
    type Error = S::Error;

    async fn call(&self, cx: &mut Cx, request: Req) -> Result<S::Response, S::Error> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.call(cx, request).await
    }
}

/// Requires that a call has a method and the credentials of its client.
struct Checked<S>(S);

impl<S: Service<ServerContext, ShopRequestRecv> + Sync> Service<ServerContext, ShopRequestRecv>
    for Checked<S>
{
    type Response = S::Response;
    type Error = S::Error;

    async fn call(
        &self,
        cx: &mut ServerContext,
        request: ShopRequestRecv,
    ) -> Result<S::Response, S::Error> {
        assert_eq!(cx.rpc_info().method(), "check");
        let peer = cx.extensions().get::<Peer>().expect("credentials");
        assert_eq!(peer.pid, Some(std::process::id()));
        self.0.call(cx, request).await
    }
}

#[tokio::test]
async fn layers_of_both_sides_see_calls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.sock");
    let (tell, _looks) = unbounded_channel();
    let served = Counting::default();
    let layered = served.clone().layer(Checked(volos::ShopServer::from_handler(Corner::new(tell))));
    let service = VoloService::<_, ShopRequestRecv>::new(layered, SHOP).unwrap();
    let server = AsyncServer::bind(format!("shm:{}", path.display())).unwrap();
    let server = server.add_service(service).unwrap();
    let address = server.address();
    let serving = tokio::spawn(server.serve());

    let (inner, outer) = (Counting::default(), Counting::default());
    let shop = ShopClientBuilder::new("shops")
        .layer_inner(inner.clone())
        .layer_outer(outer.clone())
        .call_over(Client::connect(&address).await.unwrap())
        .build();
    for _ in 0..3 {
        shop.check(1).await.unwrap();
    }
    let counts = [served, inner, outer].map(|layer| layer.0.load(Ordering::Relaxed));
    assert_eq!(counts, [3, 3, 3]);
    serving.abort();
}
