//! The `breezeway` command as scripts and people use it, but for what takes both CPUs: that is in
//! `tests/measuring`.

mod bench;
mod call;
mod deploy;
mod doctor;
mod grpc;
mod help;
mod idl;
mod inspect;
mod limits;
mod serve;
mod settings;
mod thrift;
mod tls;

#[path = "../support/mod.rs"]
mod support;
