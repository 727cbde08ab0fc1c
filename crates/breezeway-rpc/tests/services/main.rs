//! Services over sessions and sockets: what their generated code promises.

mod awaited;
mod blocking;
mod golden;
mod governance;
mod needs_go;
mod room;
mod shop;
mod streams;
mod streams_blocking;
mod thrift;
mod thrift_awaited;
mod thrift_unhappy;
