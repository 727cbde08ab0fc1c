//! `breezeway bench --protocol grpc`.

use breezeway::describe;
use breezeway_grpc::Endpoint;
use breezeway_measure::load::{Load, Measurement, awaited};
use breezeway_measure::pattern;
use clap::ValueEnum;
use tonic::body::Body;
use tonic::client::GrpcService;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use super::pb::{EchoMessage, echo_client::EchoClient};
use super::{LARGEST, ROOM};
use crate::failure::Failure;

/// Mode in which gRPC runs on a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Gear {
    /// Streams of a session, between two sides that are both Breezeway's
    #[default]
    Native,
    /// HTTP/2, with any gRPC server
    Http2,
}

/// Runs `load`, as many calls in parallel as it has, on one channel: health checks with `is_check`,
/// echoes otherwise.
pub(crate) fn run(
    load: &Load,
    is_check: bool,
    gear: Gear,
    threads: u32,
    endpoint: Endpoint,
    progress: impl FnMut(),
) -> Result<Measurement, Failure> {
    if load.size > LARGEST {
        let size = load.size;
        return Err(format!("--size {size} exceeds the {LARGEST} bytes of an echo in gRPC").into());
    }
    let size = (!is_check).then_some(load.size);
    let (depth, threads) = (load.depth as usize, threads as usize);
    match gear {
        Gear::Native => {
            let callers = async move { callers(native(endpoint).await?, size, depth) };
            awaited::run(load, threads, callers, progress)
        }
        Gear::Http2 => {
            let callers = async move { callers(endpoint.connect_http2().await?, size, depth) };
            awaited::run(load, threads, callers, progress)
        }
    }
}

/// A channel in the native gear; an error if the server has none.
async fn native(endpoint: Endpoint) -> Result<breezeway_grpc::Channel, Failure> {
    let channel = endpoint.connect().await.map_err(|error| match error {
        breezeway_grpc::Error::Http2(_) => {
            let error = describe(&error);
            format!("{error}; measure a server of gRPC, such as breezeway serve --protocol grpc")
        }
        other => describe(&other),
    })?;
    match channel.connect_info() {
        Some(info) if info.gear == breezeway_grpc::Gear::Native => Ok(channel),
        _ => Err("the server speaks gRPC as HTTP/2 only; measure it with --gear http2".into()),
    }
}

/// A channel of either gear.
trait Channel:
    GrpcService<Body, ResponseBody = Body, Error: Into<Failure>, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<T> Channel for T where
    T: GrpcService<Body, ResponseBody = Body, Error: Into<Failure>, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}

fn callers<T: Channel>(
    channel: T,
    size: Option<usize>,
    depth: usize,
) -> Result<Vec<Caller<T>>, Failure> {
    let caller = || match size {
        None => Caller::Checks(HealthClient::new(channel.clone())),
        Some(size) => {
            let client = EchoClient::new(channel.clone())
                .max_decoding_message_size(LARGEST + ROOM)
                .max_encoding_message_size(LARGEST + ROOM);
            Caller::Echoes(client, size)
        }
    };
    Ok((0..depth).map(|_| caller()).collect())
}

enum Caller<T> {
    Checks(HealthClient<T>),
    /// Echoes of this many bytes.
    Echoes(EchoClient<T>, usize),
}

impl<T: Channel> awaited::Caller for Caller<T> {
    async fn call(&mut self, round: u64) -> Result<(), Failure> {
        match self {
            Self::Checks(client) => {
                let reply = client.check(HealthCheckRequest::default()).await?.into_inner();
                match reply.status() {
                    ServingStatus::Serving => Ok(()),
                    other => Err(format!("the server's health is {}", other.as_str_name()).into()),
                }
            }
            Self::Echoes(client, size) => {
                let mut body = vec![0; *size];
                pattern::fill(&mut body, pattern::seed(round));
                let reply = client.echo(EchoMessage { body: body.into() }).await?.into_inner();
                let same = reply.body.len() == *size
                    && pattern::matches(&reply.body, pattern::seed(round));
                if same {
                    return Ok(());
                }
                let received = reply.body.len();
                Err(format!(
                    "reply {round} ({received} bytes) differs from its request ({size} bytes)"
                )
                .into())
            }
        }
    }
}
