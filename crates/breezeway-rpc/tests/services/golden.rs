//! What is generated for the services of `tests/idl` is kept in `tests/golden`.
//!
//! `UPDATE_GOLDEN=1 cargo test -p breezeway-rpc --test services golden` writes the files anew.

use std::fs;
use std::path::Path;

use breezeway_idl::{Builder, Services, generate};

#[test]
fn the_kept_services_generate_what_they_did() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for (name, services) in [
        ("five", Services::Blocking),
        ("kinds", Services::Blocking),
        ("users", Services::Blocking),
        ("shop", Services::BlockingAndAsync),
        ("room", Services::BlockingAndAsync),
    ] {
        let idl = tests.join("idl").join(name).with_extension("thrift");
        let schema = Builder::new().services(services).read(&[idl]).unwrap();
        let text = generate(&schema).unwrap();
        compare(&tests, name, &text);
    }
}

#[test]
fn a_kept_service_with_small_strings_and_shared_bytes_generates_what_it_did() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let builder = Builder::new().services(Services::BlockingAndAsync);
    let schema = builder.small_strings().shared_bytes().serde();
    let schema = schema.read(&[tests.join("idl/gallery.thrift")]).unwrap();
    compare(&tests, "gallery", &generate(&schema).unwrap());
}

fn compare(tests: &Path, name: &str, text: &str) {
    let golden = tests.join("golden").join(name).with_extension("rs");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, text).unwrap();
    } else {
        let kept = fs::read_to_string(&golden).unwrap_or_default();
        assert!(text == kept, "{} differs: set UPDATE_GOLDEN=1, and look", golden.display());
    }
}
