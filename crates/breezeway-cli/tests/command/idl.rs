//! The `gen` and `thrift dump` commands, run as a user runs them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const ECHO: &str = "
enum Mood { GOOD = 1 }
struct Request { 1: string message, 2: Mood mood, 3: list<i32> numbers, 4: map<string, binary> more }
struct Reply { 1: string message }
exception Refused { 1: string reason }
service Echo { Reply echo(1: Request request) throws (1: Refused refused) }
";

/// The facts that other implementations agree on: `echo` with a struct `{1: \"hi\", 2: -2}`.
const CALL: &str = "80010001000000046563686f000000010c00010b0001000000026869080002fffffffe0000";

fn run(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_breezeway"));
    command.current_dir(dir).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// A directory with `echo.thrift` and a message.
fn directory(message: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("echo.thrift"), ECHO).unwrap();
    fs::write(dir.path().join("message"), bytes(message)).unwrap();
    dir
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let pairs = hexadecimal.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[track_caller]
fn dumped(message: &str, arguments: &[&str], expected: &str) {
    let dir = directory(message);
    let output = run(dir.path(), &[&["thrift", "dump", "message"], arguments].concat());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[track_caller]
fn refused(message: &str, arguments: &[&str], expected: &str) {
    let dir = directory(message);
    let output = run(dir.path(), arguments);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text, format!("breezeway: {expected}\n"));
}

#[test]
fn a_message_is_dumped_with_numbers_and_types() {
    let expected = "call \"echo\", sequence 1\n{\n  1 struct: {\n    1 string: \"hi\"\n    2 i32: -2\n  }\n}\n";
    dumped(CALL, &[], expected);
}

#[test]
fn the_idl_gives_names() {
    let expected = "call \"echo\", sequence 1\n{\n  1 request: Request {\n    1 message: \"hi\"\n    2 mood: -2\n  }\n}\n";
    dumped(CALL, &["--idl", "echo.thrift"], expected);
    let reply = "80010002000000046563686f000000010c00010b0001000000036261640000";
    let expected =
        "reply \"echo\", sequence 1\n{\n  1 refused: Refused {\n    1 reason: \"bad\"\n  }\n}\n";
    dumped(reply, &["--idl", "echo.thrift"], expected);
}

#[test]
fn a_bare_struct_has_the_type_that_is_named() {
    let message = [
        "08000200000001",
        "0f00030800000003000000010000000200000003",
        "0d00040b0b00000001000000016b00000002ff00",
        "08000700000005",
        "0b006300000000",
        "00",
    ];
    let expected = "{\n  2 mood: GOOD (1)\n  3 numbers: [1, 2, 3]\n  4 more: {\n    \"k\": 2 bytes 0xff00\n  }\n  7 i32: 5\n  99 string: \"\"\n}\n";
    dumped(&message.concat(), &["--idl", "echo.thrift", "--type", "Request"], expected);
}

#[test]
fn frames_and_tt_headers_are_opened() {
    dumped(
        &format!("00000025{CALL}"),
        &[],
        "frame of 37 bytes\ncall \"echo\", sequence 1\n{\n  1 struct: {\n    1 string: \"hi\"\n    2 i32: -2\n  }\n}\n",
    );
    let tt_header = format!("000000331000000000000001000100000000{CALL}");
    dumped(
        &tt_header,
        &[],
        "TTHeader, sequence 1, flags 0x0000\ncall \"echo\", sequence 1\n{\n  1 struct: {\n    1 string: \"hi\"\n    2 i32: -2\n  }\n}\n",
    );
}

#[test]
fn standard_input_is_read() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_breezeway"))
        .args(["thrift", "dump", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&bytes("0200010100")).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"{\n  1 bool: true\n}\n");
}

#[test]
fn invalid_message_is_refused_with_its_offset() {
    for (message, expected) in [
        ("050001", "message: at byte 0: 5 is not a Thrift type"),
        ("0b00017fffffff", "message: at byte 3: a length of 2147483647 bytes, but only 0 are left"),
        ("0f00010affffffff", "message: at byte 4: the negative length -1"),
        ("02000102", "message: at byte 3: 2 is not a bool"),
        ("0000", "message: at byte 1: 1 bytes follow the end of the message"),
        ("000000ff80010001", "message: at byte 8: the frame ends here, too early"),
        ("0000001080010001000000000000000005000100", "message: at byte 16: 5 is not a Thrift type"),
    ] {
        refused(message, &["thrift", "dump", "message"], expected);
    }
}

#[test]
fn endless_nesting_is_refused() {
    let dir = directory(&"0c0001".repeat(100_000));
    let output = run(dir.path(), &["thrift", "dump", "message"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("nested deeper than the limit"), "{text}");
}

#[test]
fn every_message_cut_anywhere_ends_in_one_line() {
    let dir = directory("");
    let message = bytes(CALL);
    for end in 0..message.len() {
        fs::write(dir.path().join("message"), &message[..end]).unwrap();
        let output = run(dir.path(), &["thrift", "dump", "message"]);
        assert_eq!(output.status.code(), Some(1), "cut at {end}: {output:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), 1);
    }
}

#[test]
fn missing_file_or_struct_is_named() {
    refused(
        "00",
        &["thrift", "dump", "no"],
        "cannot read no: No such file or directory (os error 2)",
    );
    let arguments = ["thrift", "dump", "message", "--idl", "echo.thrift", "--type", "No"];
    refused("00", &arguments, "the IDL has no struct 'No'");
}

#[test]
fn rust_is_printed_or_written() {
    let dir = directory("");
    let printed = run(dir.path(), &["gen", "echo.thrift"]);
    assert!(printed.status.success(), "{printed:?}");
    let text = String::from_utf8(printed.stdout).unwrap();
    assert!(text.contains("pub struct Request {") && text.contains("pub trait Echo {"), "{text}");
    let written = run(dir.path(), &["gen", "echo.thrift", "--out", "echo.rs"]);
    assert!(written.status.success() && written.stdout.is_empty(), "{written:?}");
    assert_eq!(fs::read_to_string(dir.path().join("echo.rs")).unwrap(), text);
}

#[test]
fn included_files_are_found_in_the_directories_named() {
    let dir = directory("");
    fs::create_dir(dir.path().join("idl")).unwrap();
    fs::rename(dir.path().join("echo.thrift"), dir.path().join("idl/echo.thrift")).unwrap();
    let text = "include 'echo.thrift'\nstruct A { 1: echo.Request request }";
    fs::write(dir.path().join("a.thrift"), text).unwrap();
    assert!(run(dir.path(), &["gen", "a.thrift", "-I", "idl"]).status.success());
    let output = run(dir.path(), &["gen", "a.thrift"]);
    let error = "breezeway: a.thrift:2:15: 'echo.Request' is of 'echo.thrift', which is neither \
                 beside this file nor in an include directory (-I)\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), error);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn missing_and_unneeded_include_is_a_warning() {
    let dir = directory("");
    fs::write(dir.path().join("a.thrift"), "include 'no.thrift'\nstruct A {}").unwrap();
    let output = run(dir.path(), &["gen", "a.thrift"]);
    assert!(output.status.success(), "{output:?}");
    let warning =
        "breezeway: a.thrift includes 'no.thrift', which is not there; it uses nothing of it\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), warning);
}

#[test]
fn bad_idl_is_one_line_with_its_place() {
    let dir = directory("");
    fs::write(dir.path().join("bad.thrift"), "struct A {\n  1: Missing a\n}").unwrap();
    let output = run(dir.path(), &["gen", "bad.thrift"]);
    let error = "breezeway: bad.thrift:2:6: there is no type 'Missing'\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), error);
    assert!(output.stdout.is_empty());
}

#[test]
fn file_that_is_not_thrift_is_named_with_expected_content() {
    let dir = directory("");
    for (content, expected) in [
        (&b"hello"[..], "it.thrift:1:1: unexpected 'hello', expected include, namespace, const, "),
        (b"\x7fELF\xff", "cannot read it.thrift: "),
        (b"\x7fELF\xff", "; a .thrift file is text in UTF-8\n"),
    ] {
        fs::write(dir.path().join("it.thrift"), content).unwrap();
        let error = String::from_utf8(run(dir.path(), &["gen", "it.thrift"]).stderr).unwrap();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn every_option_of_the_generator_is_a_flag() {
    let dir = directory("");
    let common = "namespace rs common\nstruct Page { 1: i32 limit }";
    fs::write(dir.path().join("common.thrift"), common).unwrap();
    let idl = "include 'common.thrift'\n\
        struct A { 1: string text, 2: i32 number, 3: common.Page page, 4: binary bytes }";
    fs::write(dir.path().join("a.thrift"), idl).unwrap();
    let text = |flags: &str| {
        let arguments: Vec<_> = ["gen", "a.thrift"].into_iter().chain(flags.split(' ')).collect();
        let output = run(dir.path(), &arguments);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let fixed_first = text("--order fixed-first");
    let (number, string) = ("to.put(2, self.number)", "to.field(1, &self.text)");
    assert!(fixed_first.find(number).unwrap() < fixed_first.find(string).unwrap());
    assert!(text("--order ids").find(number).unwrap() > text("--order ids").find(string).unwrap());
    assert!(text("--strings text").contains("pub text: ::std::string::String,"));
    assert!(text("--strings bytes").contains("pub text: ::std::vec::Vec<u8>,"));
    assert!(text("--strings small").contains("pub text: ::breezeway_thrift::SmallString,"));
    assert!(text("--binary owned").contains("pub bytes: ::std::vec::Vec<u8>,"));
    assert!(text("--binary shared").contains("pub bytes: ::breezeway_thrift::Bytes,"));
    assert!(
        text("--ordered").contains("PartialEq, Eq, PartialOrd, Ord, Hash)]\n    pub struct A {")
    );
    assert!(text("--serde").contains("::serde::Serialize)]\n    #[serde(default)]\n"));
    assert!(text("--runtime ::my_rpc::thrift").contains("impl ::my_rpc::thrift::Encode for A {"));
    let external = text("--extern common.thrift=::common_idl::common");
    assert!(external.contains("pub page: ::common_idl::common::Page,"), "{external}");
    assert!(!external.contains("pub mod common {"));
}

#[test]
fn an_extern_without_a_path_or_of_no_file_is_refused() {
    let dir = directory("");
    let output = run(dir.path(), &["gen", "echo.thrift", "--extern", "common.thrift"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("such as common.thrift=::common_idl::common"), "{error}");
    let output = run(dir.path(), &["gen", "echo.thrift", "--extern", "no.thrift=::common"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("no.thrift") && output.status.code() == Some(1), "{error}");
}

#[test]
fn go_packages_lie_in_folder_of_a_module() {
    let dir = directory(CALL);
    fs::write(dir.path().join("go.mod"), "module example.com/app // the app\n").unwrap();
    let include =
        "include 'echo.thrift'\nnamespace go acme.more\nstruct More { 1: echo.Reply reply }";
    fs::write(dir.path().join("more.thrift"), include).unwrap();
    let arguments = ["gen", "more.thrift", "--lang", "go", "--out", "gen/idl"];
    assert!(run(dir.path(), &arguments).status.success());
    let read = |path| fs::read_to_string(dir.path().join("gen/idl").join(path)).unwrap();
    assert!(read("echo/echo.go").contains("\npackage echo\n"));
    let more = read("acme/more/more.go");
    assert!(more.contains("\npackage more\n"), "{more}");
    assert!(more.contains("\t\"example.com/app/gen/idl/echo\"\n"), "{more}");
}

/// A directory with a Go module, and with two files `user.thrift` in `a` and `b`.
fn twins(a: &str, b: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("go.mod"), "module example.com/app\n").unwrap();
    for (folder, text) in [("a", a), ("b", b)] {
        fs::create_dir(dir.path().join(folder)).unwrap();
        fs::write(dir.path().join(folder).join("user.thrift"), text).unwrap();
    }
    dir
}

/// Generates Go from a file into the folder `gen` of the directory.
fn to_go(dir: &Path, cwd: &str, file: &str) -> Output {
    let out = dir.join("gen").display().to_string();
    run(&dir.join(cwd), &["gen", file, "--lang", "go", "--out", &out])
}

#[test]
fn go_file_of_another_source_is_not_replaced() {
    let dir = twins("struct A {}", "struct B {}");
    let includes = "include 'b/user.thrift'\nnamespace go first\nstruct C {}";
    fs::write(dir.path().join("includes.thrift"), includes).unwrap();
    for (cwd, file) in
        [("", "a/user.thrift"), ("a", "user.thrift"), ("a", "../gen/../a/user.thrift")]
    {
        let output = to_go(dir.path(), cwd, file);
        assert!(output.status.success(), "{output:?}");
    }
    for (cwd, file, expected) in [
        ("", "b/user.thrift", "generated from a/user.thrift, and b/user.thrift would replace it"),
        ("b", "user.thrift", "generated from ../a/user.thrift, and user.thrift would replace it"),
        ("", "includes.thrift", "generated from a/user.thrift, and b/user.thrift would replace it"),
    ] {
        let output = to_go(dir.path(), cwd, file);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        let remedy = "; give one of them another `namespace go`, or another folder\n";
        assert!(error.ends_with(&format!("user.go was {expected}{remedy}")), "{error}");
        let kept = fs::read_to_string(dir.path().join("gen/user/user.go")).unwrap();
        assert!(kept.contains("type A struct"), "{kept}");
        assert!(!dir.path().join("gen/first").exists());
    }
}

#[test]
fn go_file_of_a_moved_or_equal_source_is_replaced() {
    let dir = twins("struct A {}", "struct A {}");
    let gen_of = |file| {
        let output = to_go(dir.path(), "", file);
        assert!(output.status.success(), "{output:?}");
        fs::read_to_string(dir.path().join("gen/user/user.go")).unwrap()
    };
    let first = "// Code generated by breezeway gen from ../../a/user.thrift. DO NOT EDIT.\n";
    assert!(gen_of("a/user.thrift").starts_with(first));
    assert!(gen_of("b/user.thrift").starts_with(&first.replace("/a/", "/b/")));
    fs::rename(dir.path().join("b/user.thrift"), dir.path().join("user.thrift")).unwrap();
    fs::write(dir.path().join("user.thrift"), "struct B {}").unwrap();
    assert!(gen_of("user.thrift").contains("type B struct"));
}

#[test]
fn go_has_views_if_asked_and_rust_without() {
    let dir = directory(CALL);
    fs::write(dir.path().join("go.mod"), "module example.com/app\n").unwrap();
    for (option, is_there) in [("--order=ids", false), ("--views", true)] {
        let arguments = ["gen", "echo.thrift", "--lang", "go", "--out", ".", option];
        assert!(run(dir.path(), &arguments).status.success());
        let text = fs::read_to_string(dir.path().join("echo/echo.go")).unwrap();
        assert_eq!(text.contains("func ViewReply("), is_there, "{text}");
    }
    let expected = "--views is for Go: the text in Rust has views without it";
    refused(CALL, &["gen", "echo.thrift", "--views"], expected);
}

#[test]
fn go_without_folder_or_with_options_of_rust_is_refused() {
    let base = ["gen", "echo.thrift", "--lang", "go"];
    refused(CALL, &base, "Go is a folder of packages: name it with --out");
    for option in ["--serde", "--ordered", "--services=both", "--strings=small"] {
        let expected =
            "of these options, Go has --order, --strings bytes, --extern and --views alone";
        refused(CALL, &[&base[..], &[option]].concat(), expected);
    }
    let dir = directory(CALL);
    let output = run(dir.path(), &[&base[..], &["--out", "."]].concat());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("lies in no module of Go: run `go mod init` there"), "{text}");
}
