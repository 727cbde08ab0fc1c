//! Makes `thrift.rs` from the IDL of an example.

use breezeway_idl::{Builder, Services};

fn main() -> Result<(), breezeway_idl::Error> {
    let services = Builder::new().services(Services::Blocking);
    services.compile(&["../../../examples/thrift/users.thrift"])
}
