//! Rust from the .proto file, without protoc; and its description, for reflection.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.open_file("echo.proto")?;
    let description = Path::new(&std::env::var("OUT_DIR")?).join("echo.bin");
    std::fs::write(description, compiler.encode_file_descriptor_set())?;
    tonic_prost_build::configure().bytes(".").compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}
