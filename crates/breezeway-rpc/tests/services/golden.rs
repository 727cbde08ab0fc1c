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

#[test]
fn a_kept_service_that_is_also_served_in_place_generates_what_it_did() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for (name, golden) in [("shelf", "shelf"), ("users", "users_in_place")] {
        let idl = tests.join("idl").join(name).with_extension("thrift");
        let builder = Builder::new().services(Services::Blocking).in_place();
        let text = generate(&builder.read(&[idl]).unwrap()).unwrap();
        compare(&tests, golden, &text);
    }
}

#[test]
fn a_method_that_is_served_in_place_takes_sixty_lines_more_at_most() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let lines = |name: &str, methods: usize, in_place: bool| {
        let dir = tempfile::tempdir().unwrap();
        let idl = fs::read_to_string(tests.join("idl").join(name).with_extension("thrift"));
        // The first methods of the last service only.
        let (before, service) = idl.unwrap().rsplit_once("service").map(own).unwrap();
        let mut lines: Vec<_> = service.lines().collect();
        let declared = lines.iter().filter(|line| is_method(line)).count();
        let mut seen = 0;
        lines.retain(|line| {
            !is_method(line) || {
                seen += 1;
                seen <= methods
            }
        });
        assert!(declared >= methods);
        let file = dir.path().join("some.thrift");
        fs::write(&file, format!("{before}service{}", lines.join("\n"))).unwrap();
        let builder = Builder::new().services(Services::Blocking);
        let builder = if in_place { builder.in_place() } else { builder };
        generate(&builder.read(&[file]).unwrap()).unwrap().lines().count()
    };
    for (name, methods) in [("shelf", 5), ("users", 2), ("shop", 2), ("kinds", 2)] {
        for method in 1..=methods {
            let more = |in_place| lines(name, method, in_place) - lines(name, method - 1, in_place);
            let added = more(true) - more(false);
            println!("{name} {method}: {added}");
            assert!(added <= 60, "{name}: {added} lines for method {method}");
        }
    }
}

fn own((before, service): (&str, &str)) -> (String, String) {
    (before.to_owned(), service.to_owned())
}

fn is_method(line: &str) -> bool {
    line.starts_with(' ') && line.contains('(') && !line.trim_start().starts_with('/')
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
