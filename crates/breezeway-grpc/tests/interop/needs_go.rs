//! This crate with grpc-go, in both directions, as real processes: its own client of the
//! interoperability test, and its own service (`testing/peers/grpc-go`).

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use breezeway_grpc::{Endpoint, Gear};
use breezeway_grpc_interop::cases::{self, client};
use breezeway_grpc_interop::{AnyChannel, pb};
use tonic::Status;
use tower::ServiceExt;

#[cfg(feature = "tls")]
use crate::over_tls::{self, Certificates};
use crate::support::{Serving, any, plain_addresses, run};

/// Cases of the list in grpc-go's client, and its soak tests. It has no compressed cases (those are
/// in `testing/peers/grpc-go`), and those of authentication need TLS.
const CASES: [&str; 16] = [
    "empty_unary",
    "large_unary",
    "client_streaming",
    "server_streaming",
    "ping_pong",
    "empty_stream",
    "custom_metadata",
    "status_code_and_message",
    "special_status_message",
    "unimplemented_method",
    "unimplemented_service",
    "timeout_on_sleeping_server",
    "cancel_after_begin",
    "cancel_after_first_response",
    "rpc_soak",
    "channel_soak",
];

struct Programs {
    server: PathBuf,
    client: PathBuf,
}

/// Returns grpc-go's programs, built once per run of the tests, and before the time of a test
/// begins: the first build takes a minute.
fn programs() -> &'static Programs {
    static PROGRAMS: OnceLock<Programs> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let build = |name: &str, package: &str| {
            let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
            let mut go = Command::new("go");
            go.arg("build").arg("-o").arg(&program).arg(package);
            go.current_dir(
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/peers/grpc-go"),
            );
            let Output { status, stderr, .. } = go.output().unwrap();
            assert!(status.success(), "{go:?}:\n{}", String::from_utf8_lossy(&stderr));
            program
        };
        Programs {
            server: build("grpc-go", "."),
            client: build("grpc-go-client", "google.golang.org/grpc/interop/client"),
        }
    })
}

/// Runs a case with grpc-go's client at the socket of an address.
fn grpc_go_calls(address: &str, case: &str, more: &[&str]) {
    // A `shm:` address's socket file accepts any gRPC client too.
    let place = match address.strip_prefix("shm:") {
        Some(path) => format!("unix:{path}"),
        None => address.trim_start_matches("tcp:").to_owned(),
    };
    let mut client = Command::new(&programs().client);
    client.args(["-server_host", &place, "-server_port", "0", "-test_case", case]);
    client.args(more);
    let Output { status, stderr, .. } = client.output().unwrap();
    assert!(status.success(), "{case} at {place}: {}", String::from_utf8_lossy(&stderr));
}

#[test]
#[ignore = "needs Go"]
fn grpc_go_client_passes_cases_on_every_socket() {
    programs();
    run(async {
        let folder = tempfile::tempdir().unwrap();
        for address in plain_addresses(folder.path()) {
            let serving = Serving::start(&address);
            let address = serving.address.clone();
            let called = move || CASES.iter().for_each(|case| grpc_go_calls(&address, case, &[]));
            tokio::task::spawn_blocking(called).await.unwrap();
            serving.end().await;
        }
    });
}

#[test]
#[ignore = "needs Go"]
fn grpc_go_exchanges_compressed_messages() {
    programs();
    run(async {
        let folder = tempfile::tempdir().unwrap();
        for address in plain_addresses(folder.path()) {
            let serving = Serving::start(&address);
            let place = serving.address.replace("shm:", "unix:");
            let called = move || {
                let mut client = Command::new(&programs().server);
                let Output { status, stderr, .. } =
                    client.args(["compressed", &place]).output().unwrap();
                assert!(status.success(), "{place}: {}", String::from_utf8_lossy(&stderr));
            };
            tokio::task::spawn_blocking(called).await.unwrap();
            serving.end().await;
        }
        for address in plain_addresses(folder.path()).into_iter().skip(1) {
            let grpc_go = GrpcGo::start(&address);
            let channel = breezeway_grpc::connect(&grpc_go.address).await.unwrap();
            // It answers in the encoding of the request.
            cases::compressed_streaming(client(any(channel))).await;
        }
    });
}

#[test]
#[ignore = "needs Go"]
fn channel_reconnects_to_restarted_grpc_go_server() {
    programs();
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let address = format!("unix:{}", path.display());
        let first = GrpcGo::start(&address);
        let channel = breezeway_grpc::connect(&address).await.unwrap();
        cases::empty_unary(client(any(channel.clone()))).await;
        drop(first);
        assert!(client(any(channel.clone())).empty_call(pb::Empty {}).await.is_err());
        // Its socket file stays, and its successor does not take it over.
        std::fs::remove_file(&path).unwrap();
        let _second = GrpcGo::start(&address);
        while client(any(channel.clone())).empty_call(pb::Empty {}).await.is_err() {
            tokio::task::yield_now().await;
        }
        cases::large_unary(client(any(channel))).await;
    });
}

/// grpc-go's server, which ends when this is dropped.
struct GrpcGo {
    process: Child,
    address: String,
}

impl GrpcGo {
    fn start(address: &str) -> Self {
        Self::start_with(&[address])
    }

    fn start_with(arguments: &[&str]) -> Self {
        let mut server = Command::new(&programs().server);
        let mut process = server.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { process, address: line.trim_end().to_owned() }
    }
}

impl Drop for GrpcGo {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Runs the cases, except for compressed ones, which its service does not check.
async fn every_case(channel: AnyChannel) {
    cases::empty_unary(client(channel.clone())).await;
    cases::large_unary(client(channel.clone())).await;
    cases::client_streaming(client(channel.clone())).await;
    cases::server_streaming(client(channel.clone())).await;
    cases::ping_pong(client(channel.clone())).await;
    cases::empty_stream(client(channel.clone())).await;
    cases::custom_metadata(client(channel.clone())).await;
    cases::status_code_and_message(client(channel.clone())).await;
    cases::special_status_message(client(channel.clone())).await;
    cases::unimplemented_method(client(channel.clone())).await;
    cases::unimplemented_service(channel.clone()).await;
    cases::cancel_after_begin(client(channel.clone())).await;
    cases::cancel_after_first_response(client(channel.clone())).await;
    // The cancelled calls have left the connection usable.
    cases::large_unary(client(channel)).await;
}

#[test]
#[ignore = "needs Go"]
fn both_channels_pass_the_cases_against_grpc_gos_server() {
    programs();
    run(async {
        let folder = tempfile::tempdir().unwrap();
        for address in plain_addresses(folder.path()).into_iter().skip(1) {
            let grpc_go = GrpcGo::start(&address);
            let channel = breezeway_grpc::connect(&grpc_go.address).await.unwrap();
            assert_eq!(channel.connect_info().unwrap().gear, Gear::Http2);
            every_case(any(channel.clone())).await;
            cases::timeout_on_sleeping_server(client(any(channel))).await;
            let channel = Endpoint::new(&grpc_go.address).unwrap().connect_http2().await.unwrap();
            let of_error = |error: tonic::transport::Error| Status::from_error(error.into());
            every_case(AnyChannel::new(channel.map_err(of_error))).await;
        }
    });
}

#[test]
#[ignore = "needs Go"]
fn go_module_server_passes_the_cases_on_every_carrier() {
    programs();
    run(async {
        let folder = tempfile::tempdir().unwrap();
        for address in plain_addresses(folder.path()) {
            let server = GrpcGo::start_with(&["breezeway", &address]);
            let channel = breezeway_grpc::connect(&server.address).await.unwrap();
            assert_eq!(channel.connect_info().unwrap().gear, Gear::Http2);
            every_case(any(channel)).await;
            let channel = Endpoint::new(&server.address).unwrap().connect_http2().await.unwrap();
            let of_error = |error: tonic::transport::Error| Status::from_error(error.into());
            every_case(AnyChannel::new(channel.map_err(of_error))).await;
        }
    });
}

#[cfg(feature = "tls")]
#[test]
#[ignore = "needs Go"]
fn grpc_gos_client_passes_its_cases_within_tls() {
    programs();
    let all = Certificates::new();
    run(async {
        // Its program has no certificate of its own.
        let serving = Serving::with("tls:127.0.0.1:0", over_tls::options(all.server()));
        let place = serving.address.replace("tls:", "tcp:");
        let root = all.authority.root().display().to_string();
        let called = move || {
            let tls = ["-use_tls", "-use_test_ca", "-ca_file", &root];
            CASES.iter().for_each(|case| grpc_go_calls(&place, case, &tls));
        };
        tokio::task::spawn_blocking(called).await.unwrap();
        serving.end().await;
    });
}

#[cfg(feature = "tls")]
#[test]
#[ignore = "needs Go"]
fn both_channels_pass_cases_against_grpc_go_over_tls() {
    programs();
    let all = Certificates::new();
    let issued = all.issue("127.0.0.1");
    let [chain, key] = [&issued.chain, &issued.key].map(|path| path.display().to_string());
    run(async {
        let grpc_go = GrpcGo::start_with(&["tls:127.0.0.1:0", &chain, &key]);
        let endpoint = || over_tls::endpoint(&grpc_go.address, all.nobody());
        // Its server offers HTTP/2 within TLS, and refuses a session because of that.
        let channel = endpoint().connect().await.unwrap();
        assert_eq!(channel.connect_info().unwrap().gear, Gear::Http2);
        every_case(any(channel.clone())).await;
        cases::timeout_on_sleeping_server(client(any(channel))).await;
        let channel = endpoint().connect_http2().await.unwrap();
        let of_error = |error: tonic::transport::Error| Status::from_error(error.into());
        every_case(AnyChannel::new(channel.map_err(of_error))).await;
    });
}
