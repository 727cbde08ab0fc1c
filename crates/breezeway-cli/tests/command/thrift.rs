//! `--protocol thrift` of `serve` and `bench`.

use rustix::process::Signal;

use crate::bench::report::{is_consistent, report_of};
use crate::support::{Folder, PROMPT, Running, breezeway, refused, run};

/// A server of Thrift, with the address that it prints.
fn serve(address: &str, arguments: &[&str]) -> (Running, String) {
    let mut command = breezeway(&["serve", "--protocol", "thrift", "--addr", address]);
    command.args(arguments);
    let running = Running::start(command);
    let line = running.line();
    let address = line.strip_prefix("listening on ").expect(&line).to_owned();
    (running, address)
}

#[test]
fn echoes_are_counted_exactly_over_every_carrier() {
    let folder = Folder::new();
    let path = folder.path().display();
    let place = format!("shm:{path}/shm,unix:{path}/unix,tcp:127.0.0.1:0");
    let (serve, places) = serve(&place, &["--workers", "2"]);
    for address in places.split(',') {
        for (size, count) in [("0", 200), ("64", 200), ("300000", 20)] {
            let arguments = ["--size", size, "--count", &count.to_string()];
            let mut command = breezeway(&["bench", "--protocol", "thrift", "--addr", address]);
            command.args(arguments);
            let report = report_of(command, &arguments);
            is_consistent(&report);
            assert_eq!(
                (&report["count"], report["size"].to_string()),
                (&count.into(), size.into())
            );
        }
    }
    serve.signal(Signal::TERM);
    assert!(serve.ends_within(PROMPT).status.success());
}

#[test]
fn echo_idl_of_the_package_calls_the_server() {
    let folder = Folder::new();
    let (_serve, address) = serve(&format!("unix:{}", folder.socket().display()), &[]);
    let idl = concat!(env!("CARGO_MANIFEST_DIR"), "/idl/echo.thrift");
    for framing in [&[][..], &["--framing", "framed"]] {
        let call = ["call", &address, "--idl", idl, "Echo.echo", r#"{"body": "aGk="}"#];
        let output = run(&[&call[..], framing].concat());
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "\"aGk=\"\n", "{framing:?}");
    }
}

#[test]
fn options_of_other_protocols_are_refused() {
    let folder = Folder::new();
    let shm = folder.address().to_string();
    let serve = ["serve", "--protocol", "thrift", "--addr"];
    refused(&[&serve[..], &[&shm, "--runtime", "tokio"]].concat(), &["--runtime tokio"]);
    refused(&[&serve[..], &["shmipc:/tmp/x"]].concat(), &["--protocol thrift", "shmipc:"]);
    let bench = ["bench", "--protocol", "thrift", "--addr", &shm];
    for option in [["--depth", "2"], ["--sessions", "2"], ["--threads", "2"], ["--touch", "none"]] {
        refused(&[&bench[..], &option].concat(), &[option[0], "--protocol thrift"]);
    }
}
