//! Rust from the .proto file, without protoc, with its description for reflection; and from the
//! .thrift file.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    println!("cargo:rerun-if-changed=idl");
    #[cfg(feature = "grpc")]
    compile_proto()?;
    #[cfg(feature = "thrift")]
    breezeway_idl::Builder::new()
        .services(breezeway_idl::Services::Blocking)
        .compile(&["idl/echo.thrift"])?;
    Ok(())
}

#[cfg(feature = "grpc")]
fn compile_proto() -> Result<(), Box<dyn std::error::Error>> {
    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.open_file("echo.proto")?;
    let description = std::path::Path::new(&std::env::var("OUT_DIR")?).join("echo.bin");
    std::fs::write(description, compiler.encode_file_descriptor_set())?;
    tonic_prost_build::configure().bytes(".").compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}
