//! The programs of each job, run in two processes as README.md starts them.

mod frames;
mod grpc;
mod metrics;
mod programs;
mod readme;
mod restart;
mod sync;
mod thrift;
mod twins;
