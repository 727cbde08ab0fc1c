//! Rust from the .proto file, without protoc, with its description for reflection; and from the
//! .thrift file.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.open_file("echo.proto")?;
    let description = Path::new(&std::env::var("OUT_DIR")?).join("echo.bin");
    std::fs::write(description, compiler.encode_file_descriptor_set())?;
    println!("cargo:rerun-if-changed=idl");
    breezeway_idl::Builder::new()
        .services(breezeway_idl::Services::Blocking)
        .compile(&["idl/echo.thrift"])?;
    tonic_prost_build::configure().bytes(".").compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}
