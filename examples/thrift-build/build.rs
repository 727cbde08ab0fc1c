//! Makes `thrift.rs` from the IDL, into the folder that cargo names for it.

fn main() -> Result<(), breezeway_idl::Error> {
    breezeway_idl::Builder::new().compile(&["idl/weather.thrift"])
}
