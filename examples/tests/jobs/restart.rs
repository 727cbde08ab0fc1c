use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::programs::{Server, output, program};

#[test]
fn client_moves_to_second_process_without_a_failed_call() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("shm:{}/hello.sock", folder.path().display());
    let mut first = Server::start("restart-server", &[&address]);
    let mut client = Command::new(program("restart-client"));
    let mut client = client.arg(&address).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
    let greeting = |server: &Server| format!("hello world, by process {}", server.process.id());
    assert_eq!(lines.next().unwrap().unwrap(), greeting(&first));
    let second = Server::start("restart-server", &[&address]);
    let line = lines.next().unwrap().unwrap();
    assert!(line.starts_with(&format!("{}, in call ", greeting(&second))), "{line}");
    assert!(client.wait().unwrap().success());
    // No client is left, so it ends at once.
    assert!(first.process.wait().unwrap().success());
    assert_eq!(output("sync-client", &[&address]), format!("{}\n", greeting(&second)));
}
