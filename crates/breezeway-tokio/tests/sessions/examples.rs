//! The examples, run as the programs that newcomers run.

use std::process::Command;

use breezeway_tokio::Address;

use crate::support::addresses;

/// Returns what an example prints at this address.
fn output(example: &str, address: &Address) -> String {
    let tests = std::env::current_exe().unwrap();
    let path = tests.ancestors().nth(2).expect("a target folder").join("examples").join(example);
    assert!(path.exists(), "cargo build -p breezeway-tokio --examples");
    let output = Command::new(&path).arg(address.to_string()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_service_example_counts_and_watches_over_every_carrier() {
    let folder = tempfile::tempdir().unwrap();
    for address in addresses(folder.path()).into_iter().take(3) {
        let sums = "added 1: 1\nadded 2: 3\nadded 3: 6\nadded 4: 10\n";
        let expected = format!("{sums}watched it become 10\n");
        assert_eq!(output("service", &address), expected, "over {address}");
    }
}

#[test]
fn shared_client_example_sums_squares_on_every_carrier() {
    let folder = tempfile::tempdir().unwrap();
    for address in addresses(folder.path()).into_iter().take(3) {
        let expected = "the sum of 8 squares is 204\n";
        assert_eq!(output("shared_client", &address), expected, "over {address}");
    }
}
