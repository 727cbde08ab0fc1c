//! Layers of Volo around calls and handlers.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use breezeway::Peer;
use breezeway_rpc::AsyncServer;
use breezeway_tokio::Client;
use breezeway_volo::{CallOver, VoloService};
use metainfo::{Backward, Forward, METAINFO, MetaInfo};
use motore::layer::Layer;
use motore::service::Service;
use tokio::sync::mpsc::unbounded_channel;
use volo::context::Context;
use volo_interop::volo::{self as volos, ShopClient, ShopClientBuilder, ShopRequestRecv};
use volo_thrift::context::ServerContext;

use super::shop::{Kind, PATIENCE, Running, SHOP};
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
        let left = cx.rpc_info().config().rpc_timeout().expect("the client's deadline");
        // The time on the wire is rounded up.
        assert!((PATIENCE / 2..=PATIENCE + Duration::from_secs(1)).contains(&left), "{left:?}");
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
        .rpc_timeout(Some(PATIENCE))
        .call_over(Client::connect(&address).await.unwrap())
        .build();
    for _ in 0..3 {
        shop.check(1).await.unwrap();
    }
    let counts = [served, inner, outer].map(|layer| layer.0.load(Ordering::Relaxed));
    assert_eq!(counts, [3, 3, 3]);
    serving.abort();
}

/// Calls another shop first, and sends that one's greeting back.
struct Onward<S>(S, ShopClient);

impl<S: Service<ServerContext, ShopRequestRecv> + Sync> Service<ServerContext, ShopRequestRecv>
    for Onward<S>
{
    type Response = S::Response;
    type Error = S::Error;

    async fn call(
        &self,
        cx: &mut ServerContext,
        request: ShopRequestRecv,
    ) -> Result<S::Response, S::Error> {
        self.1.echo("onward".into()).await.unwrap();
        METAINFO.with(|values| {
            let mut values = values.borrow_mut();
            let greeting = values.get_backward_downstream("greeting").unwrap_or_default();
            values.set_backward_transient("greeting", greeting);
        });
        self.0.call(cx, request).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn persistent_metainfo_travels_onward() {
    let last = Running::new(Kind::Awaiting, "shm");
    let (tell, _looks) = unbounded_channel();
    let folder = tempfile::tempdir().unwrap();
    let onward =
        Onward(volos::ShopServer::from_handler(Corner::new(tell)), last.client(PATIENCE).await);
    let service = VoloService::<_, ShopRequestRecv>::new(onward, SHOP).unwrap();
    let server = AsyncServer::bind(format!("shm:{}", folder.path().join("shop.sock").display()));
    let server = server.unwrap().add_service(service).unwrap();
    let address = server.address();
    let serving = tokio::spawn(server.serve());
    let client = Client::connect(&address).await.unwrap();
    let shop = ShopClientBuilder::new("shops").call_over(client).build();
    for (is_persistent, greeting) in [(true, "hello Ada"), (false, "")] {
        let asked = async {
            METAINFO.with(|values| {
                let mut values = values.borrow_mut();
                match is_persistent {
                    true => values.set_persistent("name", "Ada"),
                    false => values.set_transient("name", "Ada"),
                }
            });
            shop.check(1).await.unwrap();
            METAINFO.with(|values| values.borrow().get_backward_downstream("greeting"))
        };
        let answer = METAINFO.scope(RefCell::new(MetaInfo::new()), asked).await;
        assert_eq!(answer.as_deref(), Some(greeting), "persistent: {is_persistent}");
    }
    serving.abort();
}
