//! TLS: the identity of clients, and refused certificates. (The cases run over it as over every
//! other carrier, with the certificates that this process has by default.)

use std::net::TcpListener;
use std::sync::Once;
use std::time::Duration;

use breezeway::Tls;
use breezeway_adversary::certificates::{Authority, Issued, Valid};
use breezeway_grpc::{Carrier, Endpoint, Gear, Server, ServerOptions, SessionOptions};
use breezeway_grpc_interop::cases::{self, client, simple};
use breezeway_grpc_interop::{AnyChannel, pb, server};
use tempfile::TempDir;
use tonic::{Code, Request, Status};
use tower::ServiceExt;

use crate::support::{PATIENCE, Serving, any, connect_info, recording, run};

const CLIENT: &str = "client.test";
const ANY: &str = "tls:127.0.0.1:0";

/// An authority, and the certificates in its folder.
pub(crate) struct Certificates {
    pub(crate) authority: Authority,
    _folder: TempDir,
}

impl Certificates {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { authority: Authority::new(folder.path()), _folder: folder }
    }

    pub(crate) fn issue(&self, name: &str) -> Issued {
        self.authority.issue(&[name], Valid::Now)
    }

    pub(crate) fn server(&self) -> Tls {
        own(Tls::new(), &self.issue("127.0.0.1"))
    }

    /// Returns the server's settings that require client certificates.
    fn mutual_server(&self) -> Tls {
        self.server().roots(self.authority.root()).unwrap()
    }

    pub(crate) fn nobody(&self) -> Tls {
        Tls::new().roots(self.authority.root()).unwrap()
    }

    fn client(&self) -> Tls {
        own(self.nobody(), &self.issue(CLIENT))
    }
}

fn own(tls: Tls, issued: &Issued) -> Tls {
    tls.certificate(&issued.chain, &issued.key).unwrap()
}

/// Installs default certificates for both sides in this process.
pub(crate) fn install_default() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        assert!(Certificates::new().mutual_server().install_default());
    });
}

pub(crate) fn options(tls: Tls) -> ServerOptions {
    ServerOptions::new().session(SessionOptions::new().handshake_timeout(PATIENCE).tls(tls))
}

pub(crate) fn endpoint(address: &str, tls: Tls) -> Endpoint {
    let endpoint = Endpoint::new(address).unwrap().connect_timeout(PATIENCE);
    endpoint.session(SessionOptions::new().tls(tls))
}

async fn connect(address: &str, tls: Tls, gear: Gear) -> AnyChannel {
    match gear {
        Gear::Native => any(endpoint(address, tls).connect().await.unwrap()),
        Gear::Http2 => {
            let channel = endpoint(address, tls).connect_http2().await.unwrap();
            let of_error = |error: tonic::transport::Error| Status::from_error(error.into());
            AnyChannel::new(channel.map_err(of_error))
        }
    }
}

#[test]
fn handler_sees_client_certificate_in_both_gears() {
    run(async {
        let all = Certificates::new();
        let (layer, seen) = recording(connect_info);
        let router = Server::builder().options(options(all.mutual_server())).layer(layer);
        let bound = router.add_service(server()).bind(ANY).unwrap();
        let address = bound.address().to_string();
        tokio::spawn(bound.serve());
        for gear in [Gear::Native, Gear::Http2] {
            cases::empty_unary(client(connect(&address, all.client(), gear).await)).await;
            let info = seen.lock().unwrap().pop().unwrap();
            assert_eq!((info.gear, info.carrier), (gear, Carrier::Tls));
            assert_eq!(info.peer.identity.unwrap().names(), [CLIENT]);
        }
        // The server's identity is known to the client as well.
        let channel = endpoint(&address, all.client()).connect().await.unwrap();
        let info = channel.connect_info().unwrap();
        assert!(info.peer.identity.is_some(), "{info:?}");
    });
}

/// Returns the errors of a call, in both gears.
async fn failures(address: &str, tls: Tls) -> [Status; 2] {
    let native = endpoint(address, tls.clone()).connect_lazy();
    let native = client(any(native)).empty_call(pb::Empty {}).await.unwrap_err();
    let http2 = match endpoint(address, tls).connect_http2().await {
        // In TLS 1.3 a client learns only after its handshake whether the server accepts it.
        Ok(channel) => {
            let of_error = |error: tonic::transport::Error| Status::from_error(error.into());
            let channel = AnyChannel::new(channel.map_err(of_error));
            client(channel).empty_call(pb::Empty {}).await.unwrap_err()
        }
        Err(error) => Status::unavailable(causes(&error)),
    };
    [native, http2]
}

/// Formats an error with its causes.
fn causes(error: &dyn std::error::Error) -> String {
    let source = error.source().map(|source| format!(": {}", causes(source)));
    format!("{error}{}", source.unwrap_or_default())
}

#[test]
fn server_of_unknown_issuer_is_not_called() {
    run(async {
        let (all, others) = (Certificates::new(), Certificates::new());
        let serving = Serving::with(ANY, options(all.server()));
        for status in failures(&serving.address, others.nobody()).await {
            assert_eq!(status.code(), Code::Unavailable, "{status}");
            assert!(causes(&status).contains("no root that this side trusts"), "{status}");
        }
        serving.end().await;
    });
}

#[test]
fn client_without_required_certificate_is_refused() {
    run(async {
        let all = Certificates::new();
        let serving = Serving::with(ANY, options(all.mutual_server()));
        let [native, http2] = failures(&serving.address, all.nobody()).await;
        assert!(native.message().contains("certificate_required"), "{native}");
        // HTTP/2 was already used by then, and the reset of a connection with unread data may
        // overtake the alert.
        let causes = causes(&http2);
        let words = ["certificate_required", "connection closed"];
        assert!(words.iter().any(|word| causes.contains(word)), "{http2:?}");
        let channel = connect(&serving.address, all.client(), Gear::Http2).await;
        cases::large_unary(client(channel)).await;
        serving.end().await;
    });
}

#[test]
fn deadline_covers_a_silent_tls_handshake() {
    run(async {
        let all = Certificates::new();
        let mute = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("tls:{}", mute.local_addr().unwrap());
        let channel = endpoint(&address, all.nobody()).connect_lazy();
        let mut request = Request::new(pb::Empty {});
        request.set_timeout(Duration::from_millis(50));
        let status = client(any(channel)).empty_call(request).await.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
        // Its handshake is not awaited; the end of the runtime would wait for it.
        drop(mute);
    });
}

#[test]
fn much_goes_both_ways_at_one_time() {
    run(async {
        let all = Certificates::new();
        let serving = Serving::with(ANY, options(all.server()));
        for gear in [Gear::Native, Gear::Http2] {
            let channel = connect(&serving.address, all.nobody(), gear).await;
            let calls: Vec<_> = (0..16)
                .map(|_| {
                    let mut client = client(channel.clone());
                    tokio::spawn(async move {
                        let response = client.unary_call(simple(3 << 20, 3 << 20)).await.unwrap();
                        response.into_inner().payload.unwrap().body.len()
                    })
                })
                .collect();
            for call in calls {
                assert_eq!(call.await.unwrap(), 3 << 20);
            }
        }
        serving.end().await;
    });
}
