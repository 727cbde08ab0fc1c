//! Makes `thrift.rs` from the IDL, into the folder that cargo names for it.

use breezeway_idl::{Builder, Services};

fn main() -> Result<(), breezeway_idl::Error> {
    // `Services::Blocking` or `Services::Async` where one form is enough.
    Builder::new().services(Services::BlockingAndAsync).compile(&["idl/users.thrift"])
}
