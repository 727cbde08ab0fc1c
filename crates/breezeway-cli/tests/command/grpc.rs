//! `--protocol grpc` of `serve` and `bench`.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use breezeway_grpc::Endpoint;
use rustix::process::Signal;
use serde_json::Value;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use tonic_reflection::pb::v1 as reflection;

use crate::bench::report::{is_consistent, report_of};
use crate::support::{
    Folder, PATIENCE, Running, Serve, breezeway, eventually, is_one_line_of_failure, refused,
};

const GEARS: [&str; 2] = ["native", "http2"];

/// Starts a server of gRPC, and returns the address that it printed.
pub(crate) fn serve(address: &str, arguments: &[&str]) -> (Running, String) {
    let mut command = breezeway(&["serve", "--protocol", "grpc", "--addr", address]);
    command.args(arguments);
    let running = Running::start(command);
    let line = running.line();
    let address = line.strip_prefix("listening on ").expect(&line).to_owned();
    (running, address)
}

fn in_folder(folder: &Folder) -> String {
    folder.address().to_string()
}

fn bench(address: &str, arguments: &[&str]) -> Value {
    let mut command = breezeway(&["bench", "--protocol", "grpc", "--addr", address]);
    command.args(arguments);
    report_of(command, arguments)
}

#[test]
fn health_checks_and_echoes_are_counted_on_every_carrier() {
    let folder = Folder::new();
    let path = folder.path().display();
    let place = format!("shm:{path}/shm,unix:{path}/unix,tcp:127.0.0.1:0");
    let (_serve, places) = serve(&place, &["--workers", "2"]);
    for address in places.split(',') {
        for gear in GEARS {
            let gear = ["--gear", gear];
            let checks = bench(address, &[&gear[..], &["--count", "300"]].concat());
            is_consistent(&checks);
            assert_eq!((&checks["count"], &checks["size"]), (&300.into(), &0.into()));
            assert_eq!((&checks["addr"], &checks["runtime"]), (&address.into(), &"tokio".into()));
            for (size, depth, count) in [("0", "1", 200), ("64", "64", 200), ("300000", "3", 20)] {
                let echoes = ["--size", size, "--depth", depth, "--count", &count.to_string()];
                let echoes = bench(address, &[&gear[..], &echoes].concat());
                is_consistent(&echoes);
                assert_eq!(
                    (&echoes["count"], echoes["size"].to_string()),
                    (&count.into(), size.into())
                );
            }
        }
        let threads = bench(address, &["--threads", "2", "--depth", "8", "--count", "300"]);
        assert_eq!((&threads["count"], &threads["threads"]), (&300.into(), &2.into()));
    }
}

#[test]
fn echo_beyond_tonics_default_passes_and_beyond_the_cap_fails() {
    let folder = Folder::new();
    let (_serve, address) = serve(&in_folder(&folder), &[]);
    for gear in GEARS {
        let report = bench(&address, &["--gear", gear, "--size", "5MiB", "--count", "1"]);
        assert_eq!(report["count"], 1);
        let arguments = ["bench", "--protocol", "grpc", "--addr", &address, "--gear", gear];
        refused(&[&arguments[..], &["--size", "67108865"]].concat(), &["--size 67108865"]);
    }
}

#[test]
fn health_and_reflection_describe_the_services() {
    let folder = Folder::new();
    let (_serve, address) = serve(&in_folder(&folder), &[]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let asked = async {
        let channel = Endpoint::new(&address).unwrap().connect().await.unwrap();
        let health = HealthCheckRequest::default();
        let reply = HealthClient::new(channel.clone()).check(health).await.unwrap();
        assert_eq!(reply.into_inner().status, 1);
        let asked = reflection::server_reflection_request::MessageRequest::ListServices("*".into());
        let request = reflection::ServerReflectionRequest {
            message_request: Some(asked),
            ..Default::default()
        };
        let mut client = reflection::server_reflection_client::ServerReflectionClient::new(channel);
        let request = tokio_stream::iter([request]);
        let mut replies = client.server_reflection_info(request).await.unwrap().into_inner();
        replies.message().await.unwrap().unwrap().message_response.unwrap()
    };
    let response = runtime.block_on(async { tokio::time::timeout(PATIENCE, asked).await.unwrap() });
    use reflection::server_reflection_response::MessageResponse;
    let MessageResponse::ListServicesResponse(list) = response else { panic!("{response:?}") };
    let names: Vec<_> = list.service.iter().map(|service| service.name.as_str()).collect();
    for name in ["grpc.health.v1.Health", "breezeway.echo.v1.Echo"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[test]
fn signal_ends_server_with_clients_with_status_0() {
    for signal in [Signal::TERM, Signal::INT] {
        for gear in GEARS {
            let folder = Folder::new();
            let (running, address) = serve(&in_folder(&folder), &[]);
            let client = long_bench(&address, gear);
            running.signal(signal);
            let output = running.ends_within(PATIENCE);
            assert!(output.status.success(), "{signal:?} {gear}: {output:?}");
            assert!(!folder.socket().exists());
            let output = client.ends_within(PATIENCE);
            is_one_line_of_failure(&output, gear, &[]);
        }
    }
}

#[test]
fn silent_client_does_not_keep_a_stopped_server() {
    let folder = Folder::new();
    let (running, _) = serve(&in_folder(&folder), &["--drain", "100ms"]);
    let mut client = UnixStream::connect(folder.socket()).unwrap();
    client.write_all(b"PRI * HTTP/2.0\r\n\r\n").unwrap();
    let shown = eventually_served(&in_folder(&folder));
    assert_eq!(shown["count"], 1);
    running.signal(Signal::TERM);
    assert!(running.ends_within(PATIENCE).status.success());
    drop(client);
}

/// Another client is served, so that the server has seen those before it.
fn eventually_served(address: &str) -> Value {
    bench(address, &["--count", "1"])
}

#[test]
fn a_server_killed_during_a_bench_ends_it_with_one_line() {
    for gear in GEARS {
        let folder = Folder::new();
        let (running, address) = serve(&in_folder(&folder), &[]);
        let client = long_bench(&address, gear);
        running.signal(Signal::KILL);
        let output = client.ends_within(PATIENCE);
        assert!(output.stdout.is_empty(), "{gear}: {output:?}");
        is_one_line_of_failure(&output, gear, &[]);
    }
}

/// A bench of a minute that has connected.
fn long_bench(address: &str, gear: &str) -> Running {
    let mut command = breezeway(&["bench", "--protocol", "grpc", "--addr", address]);
    command.args(["--gear", gear, "--seconds", "60", "--depth", "8"]);
    let running = Running::start(command);
    // Once there is a session, it maps the server's segments.
    let maps = || std::fs::read_to_string(format!("/proc/{}/maps", running.pid()));
    eventually("a session", || {
        maps().unwrap().lines().filter(|line| line.contains("memfd:")).count() >= 2
    });
    running
}

#[test]
fn server_without_grpc_or_native_gear_is_named() {
    // Calls by number, and no streams.
    let numbers = Serve::start(&[]);
    let address = numbers.folder.address().to_string();
    for gear in GEARS {
        let arguments = ["bench", "--protocol", "grpc", "--addr", &address, "--gear", gear];
        let remedy = if gear == "native" { "breezeway serve --protocol grpc" } else { "" };
        refused(&arguments, &[remedy]);
    }
    // tonic's own server, where HTTP/2 is all there is.
    let folder = Folder::new();
    let address = in_folder(&folder);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _guard = runtime.enter();
    let incoming = breezeway_grpc::incoming(&address).unwrap();
    let (_reporter, health) = tonic_health::server::health_reporter();
    let server = tonic::transport::Server::builder().add_service(health);
    runtime.spawn(server.serve_with_incoming(incoming));
    let native = ["bench", "--protocol", "grpc", "--addr", &address];
    refused(&native, &["HTTP/2 only", "--gear http2"]);
    assert_eq!(bench(&address, &["--gear", "http2", "--count", "10"])["count"], 10);
    let echo = ["--gear", "http2", "--count", "10", "--size", "64"];
    refused(&[&native[..], &echo].concat(), &["not implemented"]);
    runtime.shutdown_timeout(Duration::from_secs(10));
}

#[test]
fn options_incompatible_with_grpc_are_refused() {
    let shm = "shm:/nonexistent/it.sock";
    for option in [
        &["--pattern", "one-way"][..],
        &["--pattern", "cold"],
        &["--rate", "10"],
        &["--sessions", "2"],
        &["--streams", "2"],
        &["--touch", "none"],
    ] {
        let arguments = [&["bench", "--protocol", "grpc", "--addr", shm], option].concat();
        refused(&arguments, &[option[0]]);
    }
    refused(&["bench", "--addr", shm, "--gear", "http2"], &["--gear", "--protocol grpc"]);
    for command in ["serve", "bench"] {
        let shmipc = [command, "--protocol", "grpc", "--addr", "shmipc:/nonexistent/it.sock"];
        refused(&shmipc, &["--protocol grpc", "shmipc:"]);
        refused(&[command, "--addr", shm, "--protocol", "soap"], &["soap", "--protocol"]);
    }
    let offload = ["serve", "--protocol", "grpc", "--addr", shm, "--offload", "1"];
    refused(&offload, &["--offload"]);
    let nobody = ["bench", "--protocol", "grpc", "--addr", shm];
    for gear in GEARS {
        refused(&[&nobody[..], &["--gear", gear]].concat(), &["/nonexistent/it.sock"]);
    }
}
