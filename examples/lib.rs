//! Code that is generated from the IDL of the examples.
#![forbid(unsafe_code)]
#![allow(missing_docs, unreachable_pub, clippy::all)]

// The modules in it are the namespaces of the .thrift files.
include!(concat!(env!("OUT_DIR"), "/thrift.rs"));

pub mod greeter {
    tonic::include_proto!("greeter");
}
