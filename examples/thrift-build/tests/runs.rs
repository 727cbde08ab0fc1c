//! A run of the example, as its comments describe it.

use std::process::Command;

#[test]
fn a_reading_comes_back_as_a_summary() {
    let output = Command::new(env!("CARGO_BIN_EXE_thrift-build")).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Zermatt: 20.00 °C on average\n");
}
