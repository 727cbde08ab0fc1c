//! `breezeway serve --protocol grpc`.

use std::time::Duration;

use breezeway::{Address, ServerOptions};
use breezeway_grpc::Server;
use breezeway_measure::load::awaited::runtime;
use breezeway_os::shortage;
use signal_hook::iterator::Signals;
use tokio::sync::watch;
use tonic::service::Routes;
use tonic::{Request, Response, Status};

use super::pb::echo_server::{Echo, EchoServer};
use super::pb::{DESCRIPTION, EchoMessage};
use super::{LARGEST, ROOM};
use crate::announce::announce;
use crate::failure::Failure;

/// Serves health checks and an echo in both gears, on `threads` threads, until a signal, and after
/// it for at most `drain`.
pub(crate) fn run(
    address: &Address,
    options: ServerOptions,
    drain: Duration,
    threads: usize,
    mut signals: Signals,
) -> Result<(), Failure> {
    let closing = signals.handle();
    runtime(threads)?.block_on(async {
        let router = Server::builder().options(options).add_routes(routes()?);
        let bound = router.bind(address.to_string())?;
        let (stop, stopped) = watch::channel(false);
        shortage::spawn("signals", move || {
            signals.forever().for_each(|_| {
                stop.send_replace(true);
            });
        })?;
        announce(bound.address());
        let until_stopped = || {
            let mut stopped = stopped.clone();
            async move {
                // Its sender lives as long as there are signals.
                let _ = stopped.wait_for(|is_stopped| *is_stopped).await;
            }
        };
        // A client that neither leaves nor sends a request does not keep the server running.
        let drained = async {
            until_stopped().await;
            tokio::time::sleep(drain).await;
        };
        tokio::select! {
            served = bound.serve_with_shutdown(until_stopped()) => served?,
            () = drained => tracing::warn!("connections that had not ended were cut"),
        }
        Ok::<_, Failure>(())
    })?;
    closing.close();
    Ok(())
}

fn routes() -> Result<Routes, Failure> {
    let (_, health) = tonic_health::server::health_reporter();
    let echo = EchoServer::new(Returning)
        .max_decoding_message_size(LARGEST + ROOM)
        .max_encoding_message_size(LARGEST + ROOM);
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(DESCRIPTION)
        .build_v1()?;
    Ok(Routes::new(health).add_service(echo).add_service(reflection))
}

struct Returning;

#[tonic::async_trait]
impl Echo for Returning {
    async fn echo(&self, request: Request<EchoMessage>) -> Result<Response<EchoMessage>, Status> {
        Ok(Response::new(request.into_inner()))
    }
}
