//! Compares the code generated for the services of `tests/idl` with `tests/golden`.
//!
//! `UPDATE_GOLDEN=1 cargo test -p breezeway-rpc --test services golden` writes the files again.

use std::fs;
use std::path::Path;

use breezeway_idl::{Builder, Services, generate};

#[test]
fn golden_services_are_unchanged() {
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
fn small_strings_and_shared_bytes_code_is_unchanged() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let builder = Builder::new().services(Services::BlockingAndAsync);
    let schema = builder.small_strings().shared_bytes().serde();
    let schema = schema.read(&[tests.join("idl/gallery.thrift")]).unwrap();
    compare(&tests, "gallery", &generate(&schema).unwrap());
}

#[test]
fn in_place_code_is_unchanged() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for (name, golden) in [("shelf", "shelf"), ("users", "users_in_place")] {
        let idl = tests.join("idl").join(name).with_extension("thrift");
        let builder = Builder::new().services(Services::Blocking).in_place();
        let text = generate(&builder.read(&[idl]).unwrap()).unwrap();
        compare(&tests, golden, &text);
    }
}

/// Paths are written out, so that lines break which would have room with short names.
#[test]
fn method_takes_66_lines_at_most_and_another_or_a_stream_74() {
    for (name, methods, most) in [
        ("users", 1..=2, 66),
        ("five", 1..=2, 66),
        ("shelf", 1..=3, 66),
        ("shop", 2..=5, 66),
        ("kinds", 1..=1, 66),
        ("kinds", 3..=4, 66),
        ("room", 4..=4, 66),
        ("shop", 1..=1, 74),
        ("kinds", 2..=2, 74),
        ("kinds", 5..=7, 74),
        ("room", 1..=3, 74),
    ] {
        for method in methods {
            let took = lines_of(name, method, Services::Blocking, false);
            println!("{name} {method}: {took}");
            assert!(took <= most, "{name}: {took} lines for method {method}");
        }
    }
}

#[test]
fn method_served_in_place_takes_97_lines_more_at_most() {
    for (name, methods) in [("shelf", 5), ("users", 2), ("shop", 2), ("kinds", 4)] {
        for method in 1..=methods {
            let lines = |in_place| lines_of(name, method, Services::Blocking, in_place);
            let added = lines(true) - lines(false);
            println!("{name} {method}: {added}");
            assert!(added <= 97, "{name}: {added} lines for method {method}");
        }
    }
}

/// Returns the number of generated lines for a method of the last service of this file: the growth
/// by a second method like it.
fn lines_of(name: &str, method: usize, services: Services, in_place: bool) -> usize {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let idl = fs::read_to_string(tests.join("idl").join(name).with_extension("thrift")).unwrap();
    let (before, service) = idl.rsplit_once("service").map(own).unwrap();
    let head = service.lines().next().unwrap();
    let method = service.lines().filter(|line| is_method(line)).nth(method - 1).unwrap();
    let like_it = method.replacen('(', "2(", 1);
    let generated = |methods: &[&str]| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("some.thrift");
        fs::write(&file, format!("{before}service{head}\n{}\n}}", methods.join("\n"))).unwrap();
        let builder = Builder::new().services(services);
        let builder = if in_place { builder.in_place() } else { builder };
        generate(&builder.read(&[file]).unwrap()).unwrap().lines().count()
    };
    generated(&[method, &like_it]) - generated(&[method])
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
