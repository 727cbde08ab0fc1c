//! Names in generated Go.

use std::fs;

use breezeway_idl::Builder;

/// Returns the Go of a file, beside which `base.thrift` lies. The other package is external if it
/// has a path.
fn generated(text: &str, base: &str, external: Option<&str>) -> String {
    let mut builder = Builder::new();
    if let Some(path) = external {
        builder = builder.extern_path("base.thrift", path);
    }
    generated_with(builder, text, base)
}

fn generated_with(builder: Builder, text: &str, base: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file.thrift");
    fs::write(dir.path().join("base.thrift"), base).unwrap();
    fs::write(&file, text).unwrap();
    let schema = builder.read(&[&file]).unwrap_or_else(|error| panic!("{error}"));
    let files = breezeway_idl::generate_go(&schema, dir.path(), "example.com/gen").unwrap();
    let is_own = |file: &&breezeway_idl::GoFile| file.path.ends_with("file.go");
    files.iter().find(is_own).unwrap().text.clone()
}

#[track_caller]
fn assert_has(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.contains(line), "{line} is missing in:\n{text}");
    }
}

#[test]
fn derived_names_make_way_for_those_of_the_idl() {
    let idl = "struct User {} struct NewUser {} enum Mode { A } struct ModeFromString {}
        service Users { User get(1: User user) } struct UsersClient {} struct NewUsersClient {}
        struct RegisterUsers {}";
    let text = generated(idl, "", None);
    let lines = [
        "func NewUser2() *User {",
        "func ModeFromString2(name string) (Mode, error) {",
        "type UsersClient2 struct {",
        "func NewUsersClient2(client *rpc.Client) *UsersClient2 {",
        "func (c *UsersClient2) Get(",
        "func RegisterUsers2(",
        "args.User = NewUser2()",
        "success = NewUser2()",
    ];
    assert_has(&text, &lines);
}

#[test]
fn views_make_way_and_their_methods_too() {
    let idl = "struct User { 1: i32 read, 2: optional i32 x, 3: i32 has_x }
        struct UserView {} struct ViewUser {}";
    let lines = [
        "type UserView2 struct {",
        "func ViewUser2(message []byte) (v UserView2, err error) {",
        "func NextUserView(b []byte) (v UserView2, n int) {",
        "func (p UserView2) Read2() (v int32) {",
        "func (p UserView2) HasX() (v int32) {",
        "func (p UserView2) HasX2() bool {",
        "type UserViewView struct {\n\tbuf []byte\n}",
    ];
    assert_has(&generated_with(Builder::new().views(), idl, ""), &lines);
}

#[test]
fn default_of_a_view_has_required_fields() {
    let idl = "struct A { 1: i32 x, 2: required i32 y = 5 } struct B { 1: list<A> all = [{}] }";
    let bytes = r"\x0c\x00\x00\x00\x01\x08\x00\x02\x00\x00\x00\x05\x00";
    let line = format!("var defaultBView_All = []byte(\"{bytes}\")");
    assert_has(&generated_with(Builder::new().views(), idl, ""), &[&line]);
}

#[test]
fn parameters_hide_no_package() {
    let idl = "include 'base.thrift'
        service S { base.Reply f(1: base.Request base, 2: base.Request other) }";
    let text = generated(idl, "struct Request {} struct Reply {}", None);
    assert_has(&text, &["base_2 *base.Request, other *base.Request) (success *base.Reply, err"]);
}

#[test]
fn external_packages_are_imported_by_name() {
    let idl = "include 'base.thrift'\nstruct A { 1: base.Request request }";
    let text = generated(idl, "struct Request {}", Some("github.com/acme/base/v2"));
    assert_has(&text, &["\tv2 \"github.com/acme/base/v2\"\n", "*v2.Request"]);
}

#[test]
fn keys_of_one_number_are_one_pair() {
    let idl = "enum E { A = 1, B = 1, C = 2 } const map<E, i32> M = { E.A: 1, E.B: 2, E.C: 3 }";
    assert_has(&generated(idl, "", None), &["var M = map[E]int32{E_B: 2, E_C: 3}"]);
}

#[test]
fn exceptions_show_values_and_no_pointers() {
    let idl = "exception X { 1: i32 code, 2: optional string why }";
    let line = "return thrift.ErrorText(\"X\", \"code\", p.Code, \"why\", p.GetWhy())";
    assert_has(&generated(idl, "", None), &[line]);
}

#[test]
fn getters_are_those_of_kitex() {
    let idl = "struct Base {}
        struct A { 1: i64 id, 2: optional string name = 'new', 3: optional Base base,
            4: optional list<i32> list = [1], 5: list<string> names }";
    let lines = [
        "func (p *A) GetID() (v int64) {\n\tif p != nil {\n\t\treturn p.ID\n\t}\n\treturn v\n}",
        "if p != nil && p.Name != nil {\n\t\treturn *p.Name\n\t}\n\treturn \"new\"\n}",
        "func (p *A) GetBase() (v *Base) {\n\tif p != nil {\n\t\treturn p.Base\n",
        "if p != nil && p.List != nil {\n\t\treturn p.List\n\t}\n\treturn []int32{1}\n}",
        "func (p *A) GetNames() (v []string) {",
    ];
    assert_has(&generated(idl, "", None), &lines);
}

/// Returns the Go files of `a/user.thrift` and `b/user.thrift`, which another file includes.
fn twins(a: &str, b: &str) -> Result<Vec<breezeway_idl::GoFile>, String> {
    let dir = tempfile::tempdir().unwrap();
    for (folder, text) in [("a", a), ("b", b)] {
        fs::create_dir(dir.path().join(folder)).unwrap();
        fs::write(dir.path().join(folder).join("user.thrift"), text).unwrap();
    }
    let file = dir.path().join("file.thrift");
    fs::write(&file, "include 'a/user.thrift'\ninclude 'b/user.thrift'").unwrap();
    let schema = Builder::new().read(&[&file]).unwrap();
    breezeway_idl::generate_go(&schema, dir.path(), "example.com/gen")
        .map_err(|error| error.to_string())
}

#[test]
fn name_of_two_files_of_one_package_is_an_error() {
    let error = twins("struct User {}", "struct user {}").unwrap_err();
    assert!(
        error.contains("a/user.thrift and ")
            && error.ends_with(
                "b/user.thrift both define 'user' in the Go package 'user'; give one of them \
                 another `namespace go`"
            ),
        "{error}"
    );
}

#[test]
fn files_of_one_stem_have_packages_by_their_namespaces() {
    let files = twins("namespace go acme.a\nstruct User {}", "struct User {}").unwrap();
    let paths: Vec<_> = files.iter().map(|file| file.path.to_str().unwrap()).collect();
    assert_eq!(paths, ["acme/a/user.go", "user/user.go", "file/file.go"]);
}
