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

#[test]
fn calls_below_every_layer_are_answered() {
    let trace = "age for 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n";
    let answers = ["Ada is 36, says here by shared memory\n", "nobody is called Bob\n"];
    let expected = [trace, answers[0], trace, answers[1]].concat();
    assert_eq!(output(env!("CARGO_BIN_EXE_governed")), expected);
}
