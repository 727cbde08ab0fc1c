//! The sample's types, with small strings and shared bytes.

fn main() -> Result<(), breezeway_idl::Error> {
    breezeway_idl::Builder::new()
        .small_strings()
        .shared_bytes()
        .compile(&["../../crates/breezeway-idl/tests/corpus/sample.thrift"])
}
