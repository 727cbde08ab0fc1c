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
fn strings_may_have_short_text_in_place() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.thrift");
    let fields = "1: string a, 2: optional string b = 'x', 3: map<string, list<string>> c";
    fs::write(&file, format!("struct A {{ {fields} }}")).unwrap();
    Builder::new().out_dir(dir.path()).small_strings().compile(&[file]).unwrap();
    let text = fs::read_to_string(dir.path().join("thrift.rs")).unwrap();
    for line in [
        "pub a: ::breezeway_thrift::SmallString,",
        "pub b: ::std::option::Option<::breezeway_thrift::SmallString>,",
        "::std::vec::Vec<::breezeway_thrift::SmallString>,",
        "::std::option::Option::Some(::breezeway_thrift::SmallString::from(\"x\")),",
        "pub b: ::std::option::Option<&'a str>,",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn binaries_may_be_parts_of_the_message() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.thrift");
    let fields = "1: binary a, 2: optional binary b = 'x', 3: map<binary, list<binary>> c, \
        4: string text, 5: string d (strings = 'bytes')";
    let constant = "const binary FIRST = 'y'";
    fs::write(&file, format!("{constant}\nstruct A {{ {fields} }}\nstruct Bytes {{}}")).unwrap();
    Builder::new().out_dir(dir.path()).shared_bytes().compile(&[file]).unwrap();
    let text = fs::read_to_string(dir.path().join("thrift.rs")).unwrap();
    for line in [
        "pub a: ::breezeway_thrift::Bytes,",
        "pub b: ::std::option::Option<::breezeway_thrift::Bytes>,",
        "::std::vec::Vec<::breezeway_thrift::Bytes>",
        "pub text: ::std::string::String,",
        "pub d: ::breezeway_thrift::Bytes,",
        "a: ::breezeway_thrift::Bytes::new(),",
        "::std::option::Option::Some(::breezeway_thrift::Bytes::from_static(b\"x\")),",
        "pub b: ::std::option::Option<&'a [u8]>,",
        "pub const FIRST: &[u8] = b\"y\";",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

/// Returns the text for the first of these files.
fn of_files(files: &[(&str, &str)]) -> Result<String, breezeway_idl::Error> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Builder::new().out_dir(dir.path()).compile(&[dir.path().join(files[0].0)])?;
    Ok(fs::read_to_string(dir.path().join("thrift.rs")).unwrap())
}

#[test]
fn equal_names_in_a_namespace_are_numbered() {
    let root = "include 'b.thrift'\nnamespace rs shared\nstruct Same { 1: b.Same b }";
    let text = of_files(&[("a.thrift", root), ("b.thrift", "namespace rs shared\nstruct Same {}")]);
    let text = text.unwrap();
    assert!(text.contains("pub struct Same2 {\n        pub b: Same,\n"), "{text}");
    assert!(text.contains("pub struct Same {}"), "{text}");
}

/// Returns the text for a file that includes two files called `types.thrift`.
fn with_two_types(text: &str) -> Result<String, breezeway_idl::Error> {
    let root = format!("include 'x/types.thrift'\ninclude 'y/types.thrift'\n{text}");
    let x = "namespace rs x\nstruct X {}\nstruct Both {}\nconst i32 ONE = 1";
    let y = "namespace rs y\nstruct Y {}\nenum Both { A }\nservice Base {}";
    of_files(&[("root.thrift", &root), ("x/types.thrift", x), ("y/types.thrift", y)])
}

#[test]
fn an_included_file_that_nothing_is_used_of_need_not_be_there() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.thrift");
    fs::write(&file, "include 'x/no.thrift'\nstruct A { 1: i32 a }").unwrap();
    let schema = Builder::new().read(&[&file]).unwrap();
    let warnings: Vec<_> = schema.missing_includes().collect();
    let said = "includes 'x/no.thrift', which is not there; it uses nothing of it";
    assert_eq!(warnings, [format!("{} {said}", file.display())]);
    assert!(breezeway_idl::generate(&schema).unwrap().contains("pub struct A {"));
}

#[test]
fn a_name_is_not_looked_for_past_a_missing_file_of_that_name() {
    let y = "struct T {}\nconst i32 N = 1\nservice Base {}";
    for text in [
        "struct A { 1: types.T t }",
        "struct A { 1: i32 a = types.N }",
        "service A extends types.Base {}",
    ] {
        let root = format!("include 'x/types.thrift'\ninclude 'y/types.thrift'\n{text}");
        let error = of_files(&[("root.thrift", &root), ("y/types.thrift", y)]).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("root.thrift:3:") && error.contains("x/types.thrift"), "{error}");
    }
}

#[test]
fn two_included_files_may_have_one_name() {
    let text = with_two_types(
        "struct A { 1: types.X x = {}, 2: types.Y y, 3: i32 n = types.ONE }\n\
         service S extends types.Base {}",
    );
    let text = text.unwrap();
    for line in ["pub x: x::X,", "pub y: y::Y,", "pub trait S: y::Base {}"] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn a_name_that_two_included_files_of_one_name_define_is_refused() {
    for (text, column) in [
        ("struct A { 1: types.Both both }", 15),
        ("struct A { 1: i32 a = types.Both.A }", 23),
        ("service A extends types.Both {}", 19),
    ] {
        let error = with_two_types(text).unwrap_err().to_string();
        let words = format!("root.thrift:3:{column}: 'types.Both' may be that of ");
        assert!(error.contains(&words), "{error}");
        assert!(error.ends_with("y/types.thrift; rename one of the files"), "{error}");
    }
}

#[test]
fn types_may_be_called_like_type_parameters() {
    let text = generated("a.thrift", "enum S { A }\nconst S W = S.A\nconst i32 I = 1");
    for line in ["pub struct S(pub i32);", "pub const W: S = S::A;", "pub const I: i32 = 1;"] {
        assert!(text.contains(line), "{text}");
    }
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

/// Returns the text generated for one file of this name.
fn generated(name: &str, text: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(name);
    fs::write(&file, text).unwrap();
    Builder::new().out_dir(dir.path()).compile(&[&file]).unwrap();
    fs::read_to_string(dir.path().join("thrift.rs")).unwrap()
}

#[test]
fn module_name_replaces_invalid_characters() {
    assert!(generated("my-service.thrift", "struct A {}").contains("pub mod my_service {"));
    assert!(generated("a.b.thrift", "struct A {}").contains("pub mod a_b {"));
    assert!(generated("2nd one.thrift", "struct A {}").contains("pub mod _2nd_one {"));
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.b.thrift"), "struct A {}").unwrap();
    let root = dir.path().join("root.thrift");
    fs::write(&root, "include 'a.b.thrift'\nstruct B { 1: a.b.A a }").unwrap();
    Builder::new().out_dir(dir.path()).compile(&[&root]).unwrap();
    let text = fs::read_to_string(dir.path().join("thrift.rs")).unwrap();
    assert!(text.contains("pub a: a_b::A,"), "{text}");
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    assert!(generated("a.thrift", "\u{feff}struct A {}").contains("pub struct A {}"));
}

#[test]
fn enum_values_may_share_a_number() {
    let text = generated("a.thrift", "enum E { A = 1, B = 1, C }");
    for value in ["A: Self = Self(1)", "B: Self = Self(1)", "C: Self = Self(2)"] {
        assert!(text.contains(&format!("pub const {value};")), "{text}");
    }
}

#[test]
fn enum_value_resolves_by_file_or_enum_name() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("inc.thrift"), "enum E { A = 1, B = 2 }").unwrap();
    let root = dir.path().join("root.thrift");
    let values = ["inc.E.B", "inc.B", "E.B"];
    let constants: String = values
        .iter()
        .enumerate()
        .map(|(index, value)| format!("const inc.E C{index} = {value}\n"))
        .collect();
    fs::write(&root, format!("include 'inc.thrift'\n{constants}")).unwrap();
    Builder::new().out_dir(dir.path()).compile(&[&root]).unwrap();
    let text = fs::read_to_string(dir.path().join("thrift.rs")).unwrap();
    assert_eq!(text.matches("inc::E = inc::E::B;").count(), 3, "{text}");
}

#[test]
fn all_strings_can_be_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.thrift");
    fs::write(&file, "const string C = 'c'\nstruct A { 1: string s = 'd', 2: list<string> l }")
        .unwrap();
    Builder::new().out_dir(dir.path()).strings_as_bytes().compile(&[&file]).unwrap();
    let text = fs::read_to_string(dir.path().join("thrift.rs")).unwrap();
    for line in [
        "pub const C: &[u8] = b\"c\";",
        "pub s: ::std::vec::Vec<u8>,",
        "pub l: ::std::vec::Vec<::std::vec::Vec<u8>>,",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn an_extern_path_is_for_one_file_that_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.thrift");
    fs::write(&file, "struct A {}").unwrap();
    let builder = Builder::new().out_dir(dir.path()).extern_path("b.thrift", "::other::b");
    let error = builder.compile(&[&file]).unwrap_err().to_string();
    assert_eq!(
        error,
        "extern_path() names b.thrift, which is not exactly one of the files and what they include"
    );
}
