//! Errors of an IDL are reported with file, line and column.

use std::fs;
use std::path::PathBuf;

use breezeway_idl::{Builder, Services};

/// Returns the message for `main.thrift`, the first of these files, without the directory.
fn message(files: &[(&str, &str)]) -> String {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let root = dir.path().join(files[0].0);
    let error = breezeway_idl::read(&[root], &[PathBuf::from("nowhere")]).expect_err(files[0].1);
    error.to_string().replace(&format!("{}/", dir.path().display()), "")
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    assert_eq!(message(&[("main.thrift", text)]), format!("main.thrift:{expected}"), "{text}");
}

#[test]
fn syntax_errors_are_located() {
    refused(
        "foo",
        "1:1: unexpected 'foo', expected include, namespace, const, typedef, enum, struct, union, \
         exception or service",
    );
    refused("struct A {\n  1: i32\n}", "3:1: unexpected '}', expected a name");
    refused("struct A { 1: i32 x\n 2: strin<g y }", "2:10: unexpected '<', expected a name");
    refused("struct 1A {}", "1:8: unexpected '1A', expected a name");
    refused("struct A {", "1:11: unexpected end of file, expected '}'");
    refused("struct A { 70000: i32 x }", "1:12: field id does not fit in an i16");
    refused("enum E { A = 99999999999999999999 }", "1:14: integer constant does not fit in an i64");
}

#[test]
fn comments_and_strings_must_end() {
    refused("struct A {}\n /* x", "2:2: this comment is never closed");
    refused("const string X = \"abc", "1:18: this string is never closed");
}

#[test]
fn brackets_may_not_nest_without_end() {
    let text = format!("const list<i32> X = {}", "[".repeat(100_000));
    refused(&text, "1:85: brackets are nested more than 64 deep");
}

#[test]
fn chains_may_not_go_on_without_end() {
    let link = |number| format!("typedef T{} T{number}\n", number + 1);
    let typedefs: String = (0..5000).map(link).collect();
    refused(
        &format!("{typedefs}typedef i32 T5000"),
        "257:9: typedefs are nested more than 256 deep",
    );
    let link = |number| format!("const i32 C{number} = C{}\n", number + 1);
    let constants: String = (0..5000).map(link).collect();
    refused(
        &format!("{constants}const i32 C5000 = 1"),
        "1:16: constants are nested more than 256 deep",
    );
}

#[test]
fn a_long_chain_of_structs_is_fine() {
    let link = |number| format!("struct S{number} {{ 1: S{} next }}\n", number + 1);
    let text: String = (0..2000).map(link).chain(["struct S2000 {}".to_owned()]).collect();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("chain.thrift");
    fs::write(&file, text).unwrap();
    let schema = breezeway_idl::read(&[file], &[]).unwrap();
    assert!(breezeway_idl::generate(&schema).unwrap().contains("pub struct S1999View {"));
}

#[test]
fn unknown_names_are_refused() {
    refused("struct A { 1: i32 a\n 2: Missing b }", "2:5: there is no type 'Missing'");
    refused(
        "struct A { 1: list<map<i32, x.Y>> a }",
        "1:29: there is no include called 'x' for 'x.Y'",
    );
    refused("const i32 A = B", "1:15: there is no constant or enum value 'B'");
    refused("service S extends T {}", "1:19: there is no service 'T'");
    refused("struct T {}\nservice S extends T {}", "2:19: there is no service 'T'");
    refused("const i32 C = 1\nstruct A { 1: C c }", "2:15: 'C' is a constant, not a type");
    refused("service S {}\ntypedef S T", "2:9: 'S' is a service, not a type");
}

#[test]
fn names_and_numbers_are_unique() {
    refused(
        "struct A {}\nenum A {}",
        "2:6: type, constant or service 'A' is defined twice, first at 1:8",
    );
    refused("struct A { 1: i32 a 2: i32 a }", "1:28: field 'a' is defined twice, first at 1:19");
    refused("struct A { 1: i32 a, 1: i32 b }", "1:22: field id 1 is used twice, first by 'a'");
    refused("enum E { A, B, A }", "1:16: enum value 'A' is defined twice, first at 1:10");
    refused("enum E { A = 3000000000 }", "1:14: enum value 3000000000 does not fit in an i32");
    refused("service S { void f() void f() }", "1:27: method 'f' is defined twice, first at 1:18");
    refused(
        "service S { void f() }\nservice T extends S { i32 f() }",
        "2:27: method 'f' is defined twice, first at main:1:18",
    );
}

#[test]
fn values_fit_their_types() {
    refused("const i8 X = 128", "1:14: 128 is not a value of type i8");
    refused("struct A { 1: i32 x = \"a\" }", "1:23: \"a\" is not a value of type i32");
    refused("const list<i32> X = [1, true]", "1:25: true is not a value of type i32");
    refused(
        "const map<string, i16> X = {'a': 1, 'b': 40000}",
        "1:42: 40000 is not a value of type i16",
    );
    refused("const bool X = 2", "1:16: 2 is not a value of type bool");
    refused("const uuid X = '12'", "1:16: \"12\" is not a value of type uuid");
    refused("enum E { A = 1 }\nconst E X = 2", "2:13: 2 is not a value of type E");
    refused("enum E { A }\nenum F { A }\nconst E X = F.A", "3:13: F.A is not a value of type E");
    refused("const string A = 'x'\nconst i32 B = A", "2:15: \"x\" is not a value of type i32");
    refused("struct A {}\nconst A X = {'b': 1}", "2:14: struct 'A' has no field 'b'");
    refused(
        "union U { 1: i32 a }\nstruct A { 1: required U b }\nconst A X = {}",
        "3:13: the value lacks the required field 'b' of struct 'A'",
    );
    refused(
        "enum E { A = 1 }\nstruct A { 1: required E b }\nconst A X = {}",
        "3:13: the value lacks the required field 'b' of struct 'A'",
    );
    refused(
        "struct A { 1: required A a }\nconst A X = {}",
        "2:13: struct 'A' requires itself: no value of it is finite; make a field optional",
    );
    refused(
        "struct A { 1: i32 b }\nconst A X = {b: 1}",
        "2:14: b is not a value of type field name",
    );
}

#[test]
fn nothing_is_defined_by_itself() {
    refused("typedef A B\ntypedef B A", "1:9: typedef 'B' is defined by itself");
    refused("typedef list<A> A", "1:14: typedef 'A' is defined by itself");
    refused("const i32 A = B\nconst i32 B = A", "1:15: constant 'B' is defined by itself");
    refused("service A extends B {}\nservice B extends A {}", "1:9: service 'A' extends itself");
    refused(
        "struct A { 1: required B b }\nstruct B { 1: required A a }",
        "1:8: struct 'A' requires itself: no value of it is finite; make a field optional",
    );
}

#[test]
fn void_is_a_result_only() {
    refused("struct A { 1: void x }", "1:15: void is a result type only");
    refused("typedef list<void> A", "1:14: void is a result type only");
}

#[test]
fn oneway_methods_return_and_throw_nothing() {
    refused("service S { oneway i32 f() }", "1:20: oneway method 'f' cannot have a result");
    refused(
        "exception X {}\nservice S { oneway void f() throws (1: X x) }",
        "2:40: oneway method 'f' cannot throw",
    );
}

#[test]
fn only_exceptions_are_thrown() {
    refused(
        "struct X {}\nservice S { void f() throws (1: X x) }",
        "2:33: 'X' is not an exception: only exceptions can be thrown",
    );
    refused(
        "service S { void f() throws (1: i32 x) }",
        "1:33: 'i32' is not an exception: only exceptions can be thrown",
    );
}

#[test]
fn a_default_that_contains_its_own_struct_is_refused() {
    let endless = |name, at| {
        format!(
            "{at}: the default value of '{name}' contains '{name}' again and has no end; remove a default"
        )
    };
    refused("struct S { 1: optional S s = {} }", &endless("S", "1:8"));
    refused("struct S { 1: optional S s = {}, 2: i32 a = 1 }", &endless("S", "1:8"));
    refused("struct S { 1: list<S> s = [{}] }", &endless("S", "1:8"));
    refused(
        "struct A { 1: required B b = {} }\nstruct B { 1: optional A a = {} }",
        &endless("A", "1:8"),
    );
    refused(
        "struct S { 1: optional S s = {'s': {'n': 1}}, 2: optional i32 n }",
        &endless("S", "1:8"),
    );
    for fine in [
        "struct S { 1: optional S s, 2: list<S> many = [] }",
        "struct A { 1: B b }\nstruct B { 1: optional A a = {} }",
        "struct A { 1: B b = {'n': 1} }\nstruct B { 1: i32 n, 2: optional A a }",
        "union U { 1: i32 n, 2: S s }\nstruct S { 1: optional U u = {'n': 1} }",
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("main.thrift"), fine).unwrap();
        breezeway_idl::read(&[dir.path().join("main.thrift")], &[]).unwrap();
    }
}

#[test]
fn a_field_is_given_one_value() {
    refused(
        "struct P { 1: i32 x }\nconst P p = {'x': 1, 'x': 2}",
        "2:22: the value of field 'x' is defined twice, first at 2:14",
    );
}

#[test]
fn a_union_constant_sets_one_field() {
    let union = "union U { 1: i32 a, 2: string b }\n";
    refused(
        &format!("{union}const U u = {{}}"),
        "2:13: a value of union 'U' sets one field, this one sets 0",
    );
    refused(
        &format!("{union}const U u = {{'a': 1, 'b': 'x'}}"),
        "2:13: a value of union 'U' sets one field, this one sets 2",
    );
    refused(
        &format!("{union}struct S {{ 1: U u = {{}} }}"),
        "2:21: a value of union 'U' sets one field, this one sets 0",
    );
}

#[test]
fn a_unions_fields_are_not_required() {
    refused("union U { 1: required i32 a }", "1:27: field 'a' of a union cannot be required");
}

#[test]
fn streaming_modes_are_kitexs() {
    refused(
        "service S { i32 f(1: i32 a) (streaming.mode = 'both') }",
        "1:17: streaming.mode 'both' is none of bidirectional, client, server, unary",
    );
}

#[test]
fn streaming_method_requires_one_argument_and_a_struct() {
    let dir = tempfile::tempdir().unwrap();
    let idl = dir.path().join("main.thrift");
    let builder = Builder::new().services(Services::Blocking);
    for (method, is_good) in [
        ("A f(1: A a)", true),
        ("A f(1: i32 a)", true),
        ("A f(1: A a, 2: A b)", false),
        ("A f()", false),
        ("i32 f(1: A a)", false),
        ("void f(1: A a)", false),
        ("oneway void f(1: A a)", false),
    ] {
        for mode in ["client", "server", "bidirectional", "unary"] {
            let text = format!(
                "struct A {{ 1: i32 x }} service S {{ {method} (streaming.mode = '{mode}') }}"
            );
            fs::write(&idl, &text).unwrap();
            match builder.read(std::slice::from_ref(&idl)) {
                Ok(_) => assert!(is_good || mode == "unary", "{text}"),
                Err(error) => {
                    let error = error.to_string();
                    assert!(!is_good && error.starts_with("'S.f' streams:"), "{text}: {error}");
                }
            }
        }
    }
}

#[test]
fn includes_are_found_and_acyclic() {
    let of = "is of 'a/no.thrift', which is neither beside this file nor in an include directory";
    for (text, place, name) in [
        ("struct S { 1: no.A a }", "2:15", "no.A"),
        ("service S extends no.A {}", "2:19", "no.A"),
        ("const i32 C = no.A", "2:15", "no.A"),
        ("enum E { A }\nconst E C = no.E.A", "3:13", "no.E"),
    ] {
        refused(&format!("include 'a/no.thrift'\n{text}"), &format!("{place}: '{name}' {of} (-I)"));
    }
    refused("\ninclude 'main.thrift'", "2:9: files include each other: main.thrift → main.thrift");
    let cycle = [("a.thrift", "include 'b.thrift'"), ("b.thrift", "//\ninclude 'a.thrift'")];
    assert_eq!(
        message(&cycle),
        "b.thrift:2:9: files include each other: a.thrift → b.thrift → a.thrift"
    );
}

#[test]
fn an_error_in_an_included_file_names_that_file() {
    let files = [("a.thrift", "include 'b.thrift'"), ("b.thrift", "struct A { 1: B b }")];
    assert_eq!(message(&files), "b.thrift:1:15: there is no type 'B'");
}

#[test]
fn a_missing_file_is_named() {
    let error = breezeway_idl::read(&["no.thrift".into()], &[]).unwrap_err().to_string();
    assert!(error.starts_with("cannot read no.thrift: "), "{error}");
}

#[test]
fn strings_are_bytes_or_text() {
    refused(
        "struct A { 1: string a (strings = 'latin1') }",
        "1:22: strings = 'latin1' is neither bytes nor text",
    );
}
