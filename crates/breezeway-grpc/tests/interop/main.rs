//! gRPC's interoperability cases over every carrier, in both gears, and what goes wrong.

mod cases;
mod deadlines;
mod deaths;
mod extensions;
mod limits;
mod needs_go;
mod restarting;
mod servers;
mod sizes;
mod support;
