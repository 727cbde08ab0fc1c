//! gRPC's interoperability cases over every carrier, in both gears, and failures.

mod cases;
mod connect_info;
mod deadlines;
mod deaths;
mod http2_peers;
mod limits;
mod needs_go;
mod needs_python;
#[cfg(feature = "tls")]
mod over_tls;
mod raw_http2;
mod restarting;
mod servers;
mod sizes;
mod support;
