//! The `breezeway` command as scripts and people use it, except for tests that take both CPUs:
//! those are in `tests/measuring`.

mod bench;
mod call;
mod call_grpc;
mod deploy;
mod doctor;
mod grpc;
mod help;
mod idl;
mod inspect;
mod limits;
mod manual;
mod needs_go;
mod serve;
mod settings;
mod thrift;
mod tls;

#[path = "../support/mod.rs"]
mod support;
