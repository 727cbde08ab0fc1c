//! `tls:` addresses, with certificates from files.

use std::path::Path;

use breezeway_adversary::certificates::{Authority, Issued, Valid};

use crate::bench::report::report_of;
use crate::support::{Folder, Running, breezeway, is_one_line_of_failure, refused};
use crate::support::{PROMPT, refused_command};

const ANY: &str = "tls:127.0.0.1:0";

/// An authority, and a server's certificate.
struct Files {
    folder: Folder,
    authority: Authority,
    server: Issued,
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

impl Files {
    fn new() -> Self {
        let folder = Folder::new();
        let authority = Authority::new(folder.path());
        let server = authority.issue(&["localhost", "127.0.0.1"], Valid::Now);
        Self { folder, authority, server }
    }

    fn roots(&self) -> [String; 2] {
        ["--roots".to_owned(), text(&self.authority.root()).to_owned()]
    }

    fn client(&self) -> [String; 4] {
        own(&self.authority.issue(&["client.test"], Valid::Now))
    }

    /// A server, with where it listens.
    fn serve(&self, arguments: &[&str]) -> (Running, String) {
        let mut command = breezeway(&["serve", "--addr", ANY]);
        command.args(own(&self.server)).args(arguments);
        let running = Running::start(command);
        let line = running.line();
        let address = line.strip_prefix("listening on ").expect(&line).to_owned();
        (running, address)
    }
}

fn own(issued: &Issued) -> [String; 4] {
    let [chain, key] = [&issued.chain, &issued.key].map(|path| text(path).to_owned());
    ["--certificate".to_owned(), chain, "--key".to_owned(), key]
}

#[test]
fn serve_and_bench_speak_tls_with_each_runtime_and_protocol() {
    let files = Files::new();
    for (serve, benches) in [
        (&[][..], &[&["--size", "1MiB"][..], &["--pattern", "cold"], &["--threads", "2"]][..]),
        (&["--runtime", "tokio"], &[&["--runtime", "tokio"], &["--size", "300000"]]),
        (&["--protocol", "grpc"], &[&["--protocol", "grpc", "--gear", "native"]]),
    ] {
        let (_serve, address) = files.serve(serve);
        assert!(address.starts_with("tls:127.0.0.1:"), "{address}");
        for arguments in benches {
            let mut command = breezeway(&["bench", "--addr", &address, "--count", "20"]);
            command.args(files.roots()).args(*arguments);
            assert_eq!(report_of(command, arguments)["count"], 20, "{arguments:?}");
        }
    }
}

#[test]
fn the_environment_may_name_the_files() {
    let files = Files::new();
    let mut command = breezeway(&["serve", "--addr", ANY]);
    command.env("BREEZEWAY_CERTIFICATE", &files.server.chain);
    command.env("BREEZEWAY_KEY", &files.server.key);
    let serve = Running::start(command);
    let line = serve.line();
    let address = line.strip_prefix("listening on ").expect(&line);
    let mut command = breezeway(&["bench", "--addr", address, "--count", "20"]);
    command.env("BREEZEWAY_ROOTS", files.authority.root());
    assert_eq!(report_of(command, &[])["count"], 20);
}

#[test]
fn a_server_with_roots_serves_only_clients_with_a_certificate() {
    let files = Files::new();
    let [option, roots] = files.roots();
    let (_serve, address) = files.serve(&[&option, &roots, "--log", "off"]);
    let bench = || {
        let mut command = breezeway(&["bench", "--addr", &address, "--count", "20"]);
        command.args(files.roots());
        command
    };
    refused_command(bench(), &["certificate_required"]);
    let mut command = bench();
    command.args(files.client());
    assert_eq!(report_of(command, &[])["count"], 20);
    let others = Files::new();
    let mut command = bench();
    command.args(others.client());
    refused_command(command, &["unknown_ca"]);
}

#[test]
fn server_with_untrusted_certificate_is_refused_in_one_line() {
    let (files, others) = (Files::new(), Files::new());
    let (_serve, address) = files.serve(&["--log", "off"]);
    let [option, roots] = others.roots();
    let addressed = ["--addr", &address, &option, &roots];
    refused(&[&["bench"], &addressed[..]].concat(), &["no root that this side trusts"]);
    let idl = concat!(env!("CARGO_MANIFEST_DIR"), "/../breezeway-rpc/tests/idl/kinds.thrift");
    let call = ["call", &address, &option, &roots, "--idl", idl, "Kinds.nothing"];
    let output = Running::start(breezeway(&call)).ends_within(PROMPT);
    // It is not tried in another framing: the server's certificate would prevent that as well.
    is_one_line_of_failure(&output, "call", &["no root that this side trusts"]);
    assert!(!String::from_utf8(output.stderr).unwrap().contains("framing"));
}

#[test]
fn files_that_are_absent_or_do_not_belong_together_are_named() {
    let files = Files::new();
    let other = files.authority.issue(&["other.test"], Valid::Now);
    let absent = files.folder.path().join("absent.pem");
    let (chain, key, absent) = (text(&files.server.chain), text(&files.server.key), text(&absent));
    let serve = ["serve", "--addr", ANY];
    let certificate = |chain, key| ["--certificate", chain, "--key", key];
    for (arguments, words) in [
        (&[][..], &["needs --certificate and --key"][..]),
        (&["--certificate", chain], &["--certificate goes with --key"]),
        (&["--key", key], &["--key goes with --certificate"]),
        (&certificate(absent, key), &[absent, "No such file"]),
        (&certificate(chain, absent), &[absent, "No such file"]),
        (&certificate(text(files.folder.path()), key), &[text(files.folder.path()), "directory"]),
        (&certificate(key, key), &[key, "is not PEM with a certificate"]),
        (&certificate(chain, text(&other.key)), &[chain, text(&other.key), "is not that of"]),
        (
            &["--roots", chain, "--certificate", chain, "--key", key],
            &[chain, "is not an authority"],
        ),
    ] {
        refused(&[&serve[..], arguments].concat(), words);
    }
    let bench = ["bench", "--addr", "tls:127.0.0.1:1"];
    refused(&bench, &["needs --roots"]);
    refused(&[&bench[..], &certificate(chain, key)].concat(), &["needs --roots"]);
    refused(&[&bench[..], &["--roots", absent]].concat(), &[absent, "No such file"]);
}

#[test]
fn certificates_for_an_unencrypted_address_are_refused() {
    let files = Files::new();
    let [option, roots] = files.roots();
    let chain = text(&files.server.chain);
    let words = ["--roots goes with a tls: address only"];
    for address in ["tcp:127.0.0.1:1", "shm:/tmp/x", "shmipc:/tmp/x"] {
        refused(&["bench", "--addr", address, &option, &roots], &words);
    }
    refused(
        &["serve", "--addr", "tcp:127.0.0.1:0", "--certificate", chain],
        &["--certificate goes with a tls: address only"],
    );
}

#[test]
fn certificates_for_a_mixed_address_are_refused() {
    let files = Files::new();
    let [option, roots] = files.roots();
    let words = ["--roots goes with tls:", "the tcp: place", "is not encrypted"];
    let idl = concat!(env!("CARGO_MANIFEST_DIR"), "/../breezeway-rpc/tests/idl/kinds.thrift");
    for address in ["tls:127.0.0.1:1,tcp:127.0.0.1:1", "tcp:127.0.0.1:1,tls:127.0.0.1:1"] {
        refused(&["bench", "--addr", address, &option, &roots], &words);
        refused(&["call", address, &option, &roots, "--idl", idl, "Kinds.nothing"], &words);
    }
    let own = own(&files.server);
    let own = own.each_ref().map(String::as_str);
    let serve = ["serve", "--addr", "tls:127.0.0.1:0,tcp:127.0.0.1:0"];
    refused(&[&serve[..], &own].concat(), &["--certificate goes with tls:", "the tcp: place"]);

    // A session that stays on this host is never encrypted.
    let (_serve, address) = files.serve(&[]);
    for local in ["shm", "unix"] {
        let absent = files.folder.path().join("absent.sock");
        let address = format!("{local}:{},{address}", text(&absent));
        let mut command = breezeway(&["bench", "--addr", &address, "--count", "20"]);
        command.args(files.roots());
        assert_eq!(report_of(command, &[])["count"], 20, "{address}");
    }
}

#[test]
fn unneeded_certificates_of_the_environment_are_ignored() {
    let files = Files::new();
    let absent = files.folder.path().join("absent.pem");
    let with_environment = |arguments: &[&str]| {
        let mut command = breezeway(arguments);
        for name in ["CERTIFICATE", "KEY", "ROOTS"] {
            command.env(format!("BREEZEWAY_{name}"), &absent);
        }
        command
    };
    let serve = Running::start(with_environment(&["serve", "--addr", "tcp:127.0.0.1:0"]));
    let line = serve.line();
    let address = line.strip_prefix("listening on ").expect(&line);
    let bench = ["bench", "--addr", address, "--count", "20"];
    assert_eq!(report_of(with_environment(&bench), &[])["count"], 20);
    // With a flag beside them, this command's address needs them.
    let [option, roots] = files.roots();
    let command = with_environment(&[&bench[..], &[&option, &roots]].concat());
    refused_command(command, &["--roots goes with a tls: address only"]);
}
