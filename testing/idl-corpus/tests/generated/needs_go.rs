//! Messages of every struct as Apache Thrift for Go reads and writes them
//! (`bench/thrift-peers/go`).

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use super::round_trip::each_message;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Returns the messages that Apache Thrift for Go writes after reading these, one line each.
fn through_apache(messages: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("messages");
    std::fs::write(&file, messages).unwrap();
    let mut go = Command::new("go");
    go.args(["run", ".", "pass"]).stdin(File::open(file).unwrap()).stderr(Stdio::inherit());
    go.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/thrift-peers/go"));
    let output = go.output().unwrap();
    assert!(output.status.success(), "{go:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[ignore = "needs Go"]
fn apache_thrift_for_go_reads_and_writes_the_same_bytes() {
    let (mut written, mut names) = (String::new(), Vec::new());
    each_message(8, 20, |case, _, message| {
        let encoded = (case.owned)(message).unwrap().encoded.unwrap();
        writeln!(written, "{}", hex(&encoded)).unwrap();
        names.push((case, message.to_vec()));
    });
    let passed = through_apache(&written);
    assert_eq!(passed.lines().count(), names.len());
    for (line, (case, message)) in passed.lines().zip(&names) {
        assert_eq!(line, hex(message), "{}.{}", case.file, case.name);
    }
}
