//! The build script API.

use std::fs;

use breezeway_idl::Builder;
use breezeway_idl::model::Order;

#[test]
fn several_files_become_one_text() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("idl")).unwrap();
    fs::write(dir.path().join("idl/common.thrift"), "struct Page { 1: i32 size }").unwrap();
    let include = "include 'common.thrift'\n";
    fs::write(dir.path().join("a.thrift"), format!("{include}struct A {{ 1: common.Page a }}"))
        .unwrap();
    fs::write(dir.path().join("b.thrift"), format!("{include}struct B {{ 1: common.Page b }}"))
        .unwrap();
    let builder = Builder::new().include_dir(dir.path().join("idl")).out_dir(dir.path());
    let files = [dir.path().join("a.thrift"), dir.path().join("b.thrift")];
    builder.file_name("idl.rs").compile(&files).unwrap();
    let text = fs::read_to_string(dir.path().join("idl.rs")).unwrap();
    assert_eq!(text.matches("pub struct Page {").count(), 1);
    for module in ["pub mod common {", "pub mod a {", "pub mod b {"] {
        assert!(text.contains(module), "{text}");
    }
}

#[test]
fn files_of_one_namespace_cannot_define_one_name() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        let text = "namespace rs shared\nstruct Same {}";
        fs::write(dir.path().join(name).with_extension("thrift"), text).unwrap();
    }
    let files = [dir.path().join("a.thrift"), dir.path().join("b.thrift")];
    let error = Builder::new().out_dir(dir.path()).compile(&files).unwrap_err().to_string();
    let words = "b.thrift:2:8: 'Same' is also defined by";
    assert!(error.contains(words) && error.ends_with("shares the namespace shared"), "{error}");
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.thrift"), "struct A {}").unwrap();
    let builder = Builder::new().out_dir(dir.path().join("missing"));
    let error = builder.compile(&[dir.path().join("a.thrift")]).unwrap_err().to_string();
    assert!(error.starts_with("cannot write ") && error.contains("missing/thrift.rs"), "{error}");
}

#[test]
fn fields_are_written_by_number_or_those_of_fixed_size_first() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.thrift");
    fs::write(&file, "struct A { 3: string last, 1: string first, 2: i32 size }").unwrap();
    let written = |order| {
        Builder::new().out_dir(dir.path()).order(order).compile(&[&file]).unwrap();
        let text = fs::read_to_string(dir.path().join("thrift.rs")).unwrap();
        let lines = text.lines().map(str::trim);
        let writes =
            lines.filter(|line| line.starts_with("to.put") || line.starts_with("to.field"));
        writes.take(3).map(str::to_owned).collect::<Vec<_>>()
    };
    let [first, size, last] =
        ["to.field(1, &self.first);", "to.put(2, self.size);", "to.field(3, &self.last);"];
    assert_eq!(written(Order::Ids), [first, size, last]);
    assert_eq!(written(Order::FixedFirst), [size, last, first]);
}
