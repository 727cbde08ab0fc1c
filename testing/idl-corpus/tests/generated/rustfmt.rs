//! The text of the whole corpus is laid out as rustfmt would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Asserts that rustfmt, with its defaults, has nothing to change in what is generated for `files`.
fn unchanged(files: &[PathBuf]) {
    let dir = tempfile::tempdir().unwrap();
    // Its defaults, whatever this workspace has.
    fs::write(dir.path().join("rustfmt.toml"), "").unwrap();
    let mut rustfmt = Command::new("rustfmt");
    rustfmt
        .args(["--check", "--edition", "2024", "--color", "never", "--config-path"])
        .arg(dir.path());
    for file in files {
        let schema = breezeway_idl::read(std::slice::from_ref(file), &[]).unwrap();
        let text = dir.path().join(file.with_extension("rs").file_name().unwrap());
        fs::write(&text, breezeway_idl::generate(&schema).unwrap()).unwrap();
        rustfmt.arg(text);
    }
    let output = rustfmt.output().unwrap();
    let difference = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{difference}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[cfg_attr(no_rustfmt, ignore = "there was no rustfmt when this was built")]
fn rustfmt_has_nothing_to_change() {
    let corpus =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/breezeway-idl/tests/corpus");
    let files = fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path());
    unchanged(&files.collect::<Vec<_>>());
}

#[test]
#[cfg_attr(no_rustfmt, ignore = "there was no rustfmt when this was built")]
fn names_of_any_usual_length_break_lines_where_rustfmt_does() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = 11;
    let files = (0..20).map(|number| {
        let file = dir.path().join(format!("names{number}.thrift"));
        fs::write(&file, named(&mut state)).unwrap();
        file
    });
    unchanged(&files.collect::<Vec<_>>());
}

/// A reproducible number below `limit` (splitmix64).
fn below(state: &mut u64, limit: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((number ^ (number >> 31)) % limit as u64).unwrap()
}

/// One to five words, and at the end what makes the name another one.
fn name(state: &mut u64, different: &str) -> String {
    let words = ["a", "of", "the", "user", "order", "state", "record", "x1"];
    let count = 1 + below(state, 5);
    let chosen: Vec<_> = (0..count).map(|_| words[below(state, words.len())]).collect();
    format!("{}_{different}", chosen.join("_"))
}

/// Structs of every kind of field, a union, an exception, constants and a service.
fn named(state: &mut u64) -> String {
    let [kind, first, second, fault] =
        ["kind", "first", "second", "fault"].map(|end| name(state, end));
    let types = [
        "i32",
        "bool",
        "double",
        "string",
        "binary",
        "list<i64>",
        "set<i32>",
        "list<string>",
        &kind,
        &format!("list<{first}>"),
        &format!("map<string, list<{first}>>"),
        &first,
    ];
    let fields: String = (0..16)
        .map(|index| {
            let id = if index < 12 { index + 1 } else { index + 400 };
            let requiredness = ["required", "optional", ""][below(state, 3)];
            let ty = types[below(state, types.len())];
            format!("  {id}: {requiredness} {ty} {}\n", name(state, &format!("f{index}")))
        })
        .collect();
    let [left, right, method, argument, constant] =
        ["left", "right", "method", "argument", "constant"].map(|end| name(state, end));
    format!(
        "enum {kind} {{ {left} = 1 }}
        struct {first} {{ 1: i32 {left}, 2: optional string {right} }}
        exception {fault} {{ 1: string {left} }}
        struct {second} {{\n{fields}}}
        union {second}_u {{ 1: {first} {left}, 2: list<{first}> {right} }}
        const list<string> {constant} = ['{left}', '{right}', '{method}']
        service {method}_s {{
            {first} {method}(1: {second} {argument}, 2: i32 {left}) throws (1: {fault} {right})
        }}"
    )
}
