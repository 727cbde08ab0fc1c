//! Pairs of a server and a client whose output is a fixed text.

use crate::programs::{Server, addresses, output};

/// Runs a client beside its server over the first carriers.
#[track_caller]
fn prints(server: &str, client: &str, carriers: usize, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    for (address, carrier) in addresses(folder.path()).into_iter().take(carriers) {
        let server = Server::start(server, &[&address]);
        assert_eq!(output(client, &[&server.address]), expected, "over {carrier}");
    }
}

#[test]
fn streams_client_prints_last_sum_and_count() {
    prints("streams-server", "streams-client", 3, "the sum of 100 numbers is 5050\n");
}

#[test]
fn tokio_client_sees_every_call_in_the_stream() {
    let expected = "100 calls counted to 5050\nthe stream has come to it\n";
    prints("tokio-server", "tokio-client", 3, expected);
}

#[test]
fn kitex_client_calls_both_framings() {
    prints("kitex-server", "kitex-client", 2, "Ada is 36, from kitex and ours\n");
}
