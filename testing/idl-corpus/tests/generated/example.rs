//! The example of `breezeway-thrift` includes the generator's output for its IDL.
//!
//! `UPDATE_GOLDEN=1 cargo test -p breezeway-idl-corpus --test generated example` writes it again.

use std::fs;
use std::path::Path;

#[test]
fn example_equals_generated_code() {
    let example = "../../crates/breezeway-thrift/examples/round_trip/reading";
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join(example);
    let schema = breezeway_idl::read(&[example.with_extension("thrift")], &[]).unwrap();
    let text = breezeway_idl::generate(&schema).unwrap();
    let kept = example.with_extension("rs");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&kept, text).unwrap();
    } else {
        assert!(text == fs::read_to_string(&kept).unwrap_or_default(), "{}", kept.display());
    }
}
