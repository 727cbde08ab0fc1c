//! Code that prost and tonic generate from `proto/greeter.proto`.
#![forbid(unsafe_code)]
#![allow(missing_docs, unreachable_pub, clippy::all)]

tonic::include_proto!("greeter");
