//! The example, run as the program that newcomers run.

use std::process::Command;

use crate::support::addresses;

#[test]
fn the_service_example_counts_and_watches_over_every_carrier() {
    let tests = std::env::current_exe().unwrap();
    let example = tests.ancestors().nth(2).expect("a target folder").join("examples/service");
    assert!(example.exists(), "cargo build -p breezeway-tokio --examples");
    let folder = tempfile::tempdir().unwrap();
    for address in addresses(folder.path()).into_iter().take(3) {
        let output = Command::new(&example).arg(address.to_string()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8(output.stdout).unwrap();
        let sums = "added 1: 1\nadded 2: 3\nadded 3: 6\nadded 4: 10\n";
        assert_eq!(said, format!("{sums}watched it become 10\n"), "over {address}");
    }
}
