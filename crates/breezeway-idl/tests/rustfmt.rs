//! The text of the whole corpus is laid out as rustfmt would.

use std::fs;
use std::path::Path;
use std::process::Command;

fn rustfmt() -> Option<Command> {
    let found =
        Command::new("rustfmt").arg("--version").output().is_ok_and(|out| out.status.success());
    found.then(|| Command::new("rustfmt"))
}

#[test]
fn rustfmt_has_nothing_to_change() {
    let Some(mut rustfmt) = rustfmt() else {
        eprintln!("SKIPPED: there is no rustfmt here");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    // Its defaults, whatever this workspace has.
    fs::write(dir.path().join("rustfmt.toml"), "").unwrap();
    rustfmt
        .args(["--check", "--edition", "2024", "--color", "never", "--config-path"])
        .arg(dir.path());
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    for entry in fs::read_dir(corpus).unwrap() {
        let file = entry.unwrap().path();
        let schema = breezeway_idl::read(std::slice::from_ref(&file), &[]).unwrap();
        let text = dir.path().join(file.with_extension("rs").file_name().unwrap());
        fs::write(&text, breezeway_idl::generate(&schema).unwrap()).unwrap();
        rustfmt.arg(text);
    }
    let output = rustfmt.output().unwrap();
    let difference = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{difference}{}", String::from_utf8_lossy(&output.stderr));
}
