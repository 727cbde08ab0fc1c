//! gRPC's interoperability cases over every carrier, in both gears, and what goes wrong.

mod cases;
mod deadlines;
mod deaths;
mod extensions;
mod limits;
mod needs_go;
#[cfg(feature = "tls")]
mod over_tls;
mod restarting;
mod servers;
mod sizes;
mod support;
