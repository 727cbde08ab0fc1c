//! Makes Rust from the IDL of the examples, into the folder that cargo names for it.

use breezeway_idl::{Builder, Services};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `Services::Blocking` or `Services::Async` where one form is enough.
    Builder::new()
        .services(Services::BlockingAndAsync)
        .compile(&["thrift/users.thrift", "thrift/weather.thrift"])?;
    println!("cargo:rerun-if-changed=grpc/greeter.proto");
    tonic_prost_build::compile_fds(protox::compile(["grpc/greeter.proto"], ["grpc"])?)?;
    Ok(())
}
