//! The settings of HTTP/2 for one machine, chosen by measurement (`docs/grpc.md`, "Settings of
//! HTTP/2").

use tonic::transport::{Endpoint, server::Server};

/// What may be under way on a stream: two messages of 4 MiB, the most that tonic takes by default.
const STREAM_WINDOW: u32 = 8 << 20;
/// What may be under way on a connection: four full streams.
const CONNECTION_WINDOW: u32 = 32 << 20;
/// The largest frame. Four times as much makes messages of 1 MiB up to eight times slower.
const FRAME: u32 = 64 << 10;

pub(crate) fn client(endpoint: Endpoint) -> Endpoint {
    endpoint
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME)
}

pub(crate) fn server<L>(server: Server<L>) -> Server<L> {
    server
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME)
}
