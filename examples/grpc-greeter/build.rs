//! Rust from the .proto file, without protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    tonic_prost_build::compile_fds(protox::compile(["proto/greeter.proto"], ["proto"])?)?;
    Ok(())
}
