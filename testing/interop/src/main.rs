//! `interop`: the Rust side of tests that mix languages, which the Go module's tests start. The
//! other side is its like in Go, `go/breezeway/languages_test.go`.
//!
//! ```text
//! interop serve ADDRESS                  serves until standard input ends
//! interop succeed ADDRESS ADMIN          likewise, and takes over from who serves there already
//! interop serve-users ADDRESS            serves Users and Room until standard input ends
//! interop serve-grpc ADDRESS             serves gRPC's TestService until standard input ends
//! interop call ADDRESS CASE              a client's case; status 0 if all went as it should
//! interop call-grpc ADDRESS CASE         a client's case of gRPC, likewise
//! interop attack PATH SEED SESSIONS      hostile clients, one after the other
//! interop ambush PATH SEED SESSIONS      hostile servers, one after the other
//! ```
//!
//! Certificates of `tls:` addresses are those that the command `breezeway` takes from the
//! environment. With `OTEL_EXPORTER_OTLP_ENDPOINT` there, the spans of Users and Room are exported.
#![forbid(unsafe_code)]

mod cases;
mod grpc;
mod hostile;
mod room;
mod service;
mod traces;
mod users;

use std::path::Path;

use breezeway::Tls;

fn main() {
    install_certificates();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", address] => service::run(address.parse().expect("an address"), None),
        ["succeed", address, admin] => {
            service::run(address.parse().expect("an address"), Some(admin.into()));
        }
        ["serve-users", address] => users::serve(&address.parse().expect("an address")),
        ["serve-grpc", address] => grpc::serve(address),
        ["call-grpc", address, case] => grpc::call(address, case),
        ["call", address, case] => cases::run(address.parse().expect("an address"), case),
        ["attack", path, seed, sessions] => {
            hostile::attack(Path::new(path), number(seed), number(sessions));
        }
        ["ambush", path, seed, sessions] => {
            hostile::ambush(Path::new(path), number(seed), number(sessions));
        }
        _ => panic!(
            "interop serve|serve-users|serve-grpc|call-grpc|call|succeed|attack|ambush: see \
             src/main.rs"
        ),
    }
}

fn install_certificates() {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let mut tls = Tls::new();
    if let (Some(chain), Some(key)) = (variable("BREEZEWAY_CERTIFICATE"), variable("BREEZEWAY_KEY"))
    {
        tls = tls.certificate(chain, key).expect("a certificate and its key");
    }
    if let Some(roots) = variable("BREEZEWAY_ROOTS") {
        tls = tls.roots(roots).expect("certificates of authorities");
    }
    assert!(tls.install_default(), "the first to install");
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}
