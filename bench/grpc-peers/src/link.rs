//! The ways to call a server of `serve`.

use anyhow::Result;
use breezeway_grpc::Endpoint;
use breezeway_grpc_interop::AnyChannel;
use tonic::{Status, transport};
use tower::{Service, ServiceExt};

use crate::server::{Places, routes};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// tonic's own, on a kind of socket.
    Tonic(&'static str),
    /// Ours without HTTP/2, by a carrier.
    Native(&'static str),
    /// Ours with HTTP/2, by a carrier.
    Http2(&'static str),
}

impl Link {
    pub(crate) const ALL: [Self; 8] = [
        Self::Tonic("unix"),
        Self::Tonic("tcp"),
        Self::Http2("unix"),
        Self::Http2("tcp"),
        Self::Http2("shm"),
        Self::Native("unix"),
        Self::Native("tcp"),
        Self::Native("shm"),
    ];

    pub(crate) fn name(self) -> String {
        match self {
            Self::Tonic(socket) => format!("tonic {socket}"),
            Self::Native(carrier) => format!("native {carrier}"),
            Self::Http2(carrier) => format!("HTTP/2 {carrier}"),
        }
    }

    pub(crate) async fn connect(self, places: &Places) -> Result<AnyChannel> {
        Ok(match self {
            Self::Tonic(socket) => {
                let endpoint = transport::Endpoint::from_shared(places.of_tonic(socket))?;
                any(endpoint.tcp_nodelay(true).connect().await?)
            }
            Self::Native(carrier) => {
                AnyChannel::new(breezeway_grpc::connect(places.of_ours(carrier)).await?)
            }
            Self::Http2(carrier) => {
                any(Endpoint::new(places.of_ours(carrier))?.connect_http2().await?)
            }
        })
    }
}

/// Returns a channel without a link: the services, called in this task. Its time is tonic's and
/// prost's on both sides, without a transport.
pub(crate) fn none() -> AnyChannel {
    let routes = routes().prepare();
    let routes =
        tower::service_fn(move |request: tonic::codegen::http::Request<tonic::body::Body>| {
            let mut routes = routes.clone();
            async move { routes.call(request).await.map_err(|never| match never {}) }
        });
    AnyChannel::new(routes)
}

fn any(channel: transport::Channel) -> AnyChannel {
    AnyChannel::new(channel.map_err(|error| Status::from_error(error.into())))
}
