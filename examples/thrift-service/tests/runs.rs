//! The examples do what their comments say.

use std::process::Command;

fn output(program: &str) -> String {
    let output = Command::new(program).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn calls_that_block_are_answered() {
    let expected = "Ada is 36\nnobody is called Bob\nAda is still 36\n";
    assert_eq!(output(env!("CARGO_BIN_EXE_blocking")), expected);
}

#[test]
fn calls_that_are_awaited_are_answered() {
    let expected = "Ada is 36\nnobody is called Bob\nborn 1815\n";
    assert_eq!(output(env!("CARGO_BIN_EXE_awaited")), expected);
}
