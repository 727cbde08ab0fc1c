use crate::programs::{Server, addresses, output};

#[test]
fn both_clients_are_answered_by_one_server() {
    let folder = tempfile::tempdir().unwrap();
    for (address, carrier) in addresses(folder.path()) {
        let server = Server::start("thrift-server", &[&address]);
        let expected = "Ada is 36\nno user is called Bob\n";
        assert_eq!(output("thrift-async-client", &[&server.address]), expected, "over {carrier}");
        let expected = format!("{expected}Ada is still 36, as of 1851\n");
        assert_eq!(output("thrift-client", &[&server.address]), expected, "over {carrier}");
    }
}

#[test]
fn message_in_place_comes_back_as_a_summary() {
    assert_eq!(output("thrift-message", &[]), "Zermatt: 20.00 °C on average\n");
}

#[test]
fn calls_below_every_layer_are_answered() {
    let trace = "age for 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n";
    let answers = ["Ada is 36, from here over shared memory\n", "no user is called Bob\n"];
    let figures = "breezeway_sessions{role=\"client\"} 1\nbreezeway_sessions{role=\"server\"} 1\n\
                   breezeway_sessions{role=\"worker\"} 0\n\
                   circuitbreaker_calls_total{circuitbreaker=\"users\",outcome=\"success\"} 2\n";
    let expected = [trace, answers[0], trace, answers[1], figures].concat();
    assert_eq!(output("thrift-governed", &[]), expected);
}

mod needs_go {
    use std::io::{BufRead, BufReader};
    use std::path::Path;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// Kitex's server, which ends with this.
    struct Kitex(Child);

    impl Drop for Kitex {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    #[test]
    #[ignore = "needs Go"]
    fn a_client_calls_kitexs_server_and_ours() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testing/peers/kitex-peers");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kitex-peers");
        let program = program.to_str().unwrap();
        for step in [&["generate", "./..."][..], &["build", "-o", program, "."]] {
            let done = Command::new("go").args(step).current_dir(&folder).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
        let mut server = Command::new(program);
        server.args(["serve-users", "tcp:127.0.0.1:0"]).stdout(Stdio::piped());
        let mut kitex = Kitex(server.spawn().unwrap());
        let mut address = String::new();
        BufReader::new(kitex.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let volume = tempfile::tempdir().unwrap();
        let ours = Server::start("kitex-server", &[&addresses(volume.path())[2].0]);
        let printed = output("kitex-client", &[&ours.address, address.trim()]);
        assert_eq!(printed, "Ada is 36, from kitex and ours\n");
    }
}
