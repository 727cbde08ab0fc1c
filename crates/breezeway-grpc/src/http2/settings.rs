//! The settings and limits of HTTP/2 for peers on one machine (`docs/grpc-reference.md`,
//! "Settings of HTTP/2").

use hyper::server::conn::http2;
use tonic::transport::Endpoint;

use super::calls::Calls;

/// Window of a stream: two messages of 4 MiB, tonic's default maximum.
const STREAM_WINDOW: u32 = 8 << 20;
/// Window of a connection: four full streams.
const CONNECTION_WINDOW: u32 = 32 << 20;
/// Largest frame. Larger ones make messages of 1 MiB slower.
const FRAME: u32 = 64 << 10;
/// Maximum size of headers or trailers, as HPACK counts it: that of the native gear.
pub(crate) const HEADER_LIST: u32 = 64 << 10;
/// Maximum number of bytes that a server reads in one turn of a connection's task. Requests that
/// are cancelled in the same turn are dropped at its end.
pub(crate) const TURN: usize = 128 << 10;
/// Size of the shortest request with its cancellation: two heads, three indexed fields, and a code.
const SHORTEST_CANCELLED: usize = 2 * 9 + 3 + 4;
/// Maximum number of requests that are cancelled before they are accepted: more than one turn can
/// bring, so that they never end a connection.
const CANCELLED: usize = (TURN / SHORTEST_CANCELLED).next_power_of_two();
/// Maximum number of frames, in the life of a connection, that break a rule of one stream. Late
/// frames of cancelled calls that are no longer remembered count too. Each one may hold 1 KiB for a
/// peer that does not read.
const STREAM_ERRORS: usize = 16 << 10;
/// Maximum number of cancelled calls that a client remembers; their late responses are dropped.
const REMEMBERED: usize = 16 << 10;
/// Time for which a client remembers them.
const REMEMBERED_FOR: std::time::Duration = std::time::Duration::from_secs(30);

pub(crate) fn client(endpoint: Endpoint) -> Endpoint {
    endpoint
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME)
        .http2_max_header_list_size(HEADER_LIST)
        .http2_max_concurrent_reset_streams(REMEMBERED)
        .http2_reset_stream_duration(REMEMBERED_FOR)
        .http2_max_local_error_reset_streams(STREAM_ERRORS)
}

pub(crate) fn server(max_streams: u32) -> http2::Builder<Calls> {
    let mut builder = http2::Builder::new(Calls);
    builder
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME)
        .max_header_list_size(HEADER_LIST)
        .max_concurrent_streams(max_streams)
        .max_pending_accept_reset_streams(CANCELLED)
        .max_local_error_reset_streams(STREAM_ERRORS);
    builder
}
