//! Makes `thrift.rs` from the IDL.

use breezeway_idl::{Builder, Services};

fn main() -> Result<(), breezeway_idl::Error> {
    Builder::new().services(Services::BlockingAndAsync).compile(&["matrix.thrift"])
}
