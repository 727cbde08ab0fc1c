//! Servers and channels of tests.

use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use breezeway_grpc::{Channel, ConnectInfo, Endpoint, Gear, Server, ServerOptions};
use breezeway_grpc_interop::{AnyChannel, server};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptorLayer;
use tonic::{Request, Status};
use tower::ServiceExt;

/// Time limit for events that must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for an event that must come.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("it does not come")
}

/// Runs a test on a runtime of two workers.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(soon(test));
}

/// Record of a layer.
pub(crate) type Recorded<T> = Arc<Mutex<Vec<T>>>;

/// Returns a layer that records a part of each request, and the record.
pub(crate) fn recording<T: Send + 'static>(
    part: fn(&Request<()>) -> T,
) -> (InterceptorLayer<impl Interceptor + Clone + Send + Sync + 'static>, Recorded<T>) {
    let recorded = Recorded::default();
    let layer = InterceptorLayer::new({
        let recorded = Arc::clone(&recorded);
        move |request: Request<()>| {
            recorded.lock().unwrap().push(part(&request));
            Ok(request)
        }
    });
    (layer, recorded)
}

/// Returns the peer and transport of a request.
pub(crate) fn connect_info(request: &Request<()>) -> ConnectInfo {
    request.extensions().get::<ConnectInfo>().expect("a server of Breezeway").clone()
}

/// A server in this process.
pub(crate) struct Serving {
    pub(crate) address: String,
    stop: oneshot::Sender<()>,
    pub(crate) serving: JoinHandle<Result<(), breezeway_grpc::Error>>,
}

impl Serving {
    pub(crate) fn start(address: &str) -> Self {
        Self::with(address, ServerOptions::new())
    }

    pub(crate) fn with(address: &str, options: ServerOptions) -> Self {
        let bound = Server::builder().options(options).add_service(server()).bind(address).unwrap();
        let address = bound.address().to_string();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(bound.serve_with_shutdown(async {
            let _ = stopped.await;
        }));
        Self { address, stop, serving }
    }

    /// Stops the server.
    pub(crate) fn stop(self) -> JoinHandle<Result<(), breezeway_grpc::Error>> {
        drop(self.stop);
        self.serving
    }

    pub(crate) async fn end(self) {
        soon(self.stop()).await.unwrap().unwrap();
    }
}

/// tonic's own server in this process, at addresses of this crate; killed when dropped.
pub(crate) struct Plain {
    pub(crate) address: String,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Plain {
    pub(crate) fn start(address: &str) -> Self {
        let incoming = breezeway_grpc::incoming(address).unwrap();
        let address = incoming.address().to_string();
        let router = tonic::transport::Server::builder().add_service(server());
        Self { address, serving: tokio::spawn(router.serve_with_incoming(incoming)) }
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Returns an address of every carrier; for TLS this process has default certificates.
pub(crate) fn addresses(folder: &Path) -> Vec<String> {
    #[cfg(feature = "tls")]
    crate::over_tls::install_default();
    let tls = cfg!(feature = "tls").then(|| "tls:127.0.0.1:0".to_owned());
    plain_addresses(folder).into_iter().chain(tls).collect()
}

/// Returns the addresses without TLS.
pub(crate) fn plain_addresses(folder: &Path) -> [String; 3] {
    let path = folder.display();
    [format!("shm:{path}/shm"), format!("unix:{path}/unix"), "tcp:127.0.0.1:0".to_owned()]
}

pub(crate) fn any(channel: Channel) -> AnyChannel {
    AnyChannel::new(channel)
}

/// Returns a channel of this gear, which is checked.
pub(crate) async fn connect(address: &str, gear: Gear) -> AnyChannel {
    match gear {
        Gear::Native => {
            let channel = breezeway_grpc::connect(address).await.unwrap();
            assert_eq!(channel.connect_info().unwrap().gear, Gear::Native);
            any(channel)
        }
        Gear::Http2 => {
            let channel = Endpoint::new(address).unwrap().connect_http2().await.unwrap();
            let of_error = |error: tonic::transport::Error| Status::from_error(error.into());
            AnyChannel::new(channel.map_err(of_error))
        }
    }
}

/// Runs a test over every carrier, in both gears.
pub(crate) fn on_every_link<F: Future<Output = ()>>(test: impl Fn(AnyChannel, Gear) -> F) {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        for address in addresses(folder.path()) {
            let serving = Serving::start(&address);
            for gear in [Gear::Http2, Gear::Native] {
                println!("{address} in gear {gear:?}");
                test(connect(&serving.address, gear).await, gear).await;
            }
            serving.end().await;
        }
    });
}
