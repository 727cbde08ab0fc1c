//! Makes `thrift.rs` from the IDL.

use breezeway_idl::{Builder, Services};

fn main() -> Result<(), breezeway_idl::Error> {
    let builder = Builder::new().services(Services::BlockingAndAsync).in_place();
    builder.compile(&["idl/echo.thrift"])
}
