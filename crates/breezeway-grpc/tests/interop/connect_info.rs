//! Peer and transport of calls: the same type for every carrier and gear.

use breezeway_grpc::{Carrier, ConnectInfo, Endpoint, Gear, Server};
use breezeway_grpc_interop::cases::{self, client};
use breezeway_grpc_interop::pb::Empty;
use breezeway_grpc_interop::pb::test_service_client::TestServiceClient;
use breezeway_grpc_interop::pb::test_service_server::TestServiceServer;
use breezeway_grpc_interop::{TestService, server};
use tonic::{Code, Request, Status};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::support::{Plain, addresses, any, connect, connect_info, recording, run};

#[test]
fn one_layer_sees_peers_and_calls_of_both_gears() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let carriers = [Carrier::Shm, Carrier::Unix, Carrier::Tcp, Carrier::Tls];
        for (address, carrier) in addresses(folder.path()).into_iter().zip(carriers) {
            let (layer, seen) = recording(connect_info);
            let bound =
                Server::builder().layer(layer).add_service(server()).bind(&address).unwrap();
            let address = bound.address().to_string();
            tokio::spawn(bound.serve());
            for gear in [Gear::Native, Gear::Http2] {
                cases::empty_unary(client(connect(&address, gear).await)).await;
            }
            let seen = seen.lock().unwrap();
            let [native, http2] = &seen[..] else { panic!("{seen:?}") };
            assert_eq!((native.gear, native.carrier), (Gear::Native, carrier));
            assert_eq!((http2.gear, http2.carrier), (Gear::Http2, carrier));
            for info in [native, http2] {
                match carrier {
                    Carrier::Tcp | Carrier::Tls => assert!(info.peer.remote.is_some(), "{info:?}"),
                    _ => assert_eq!(info.peer.pid, Some(std::process::id())),
                }
            }
        }
    });
}

#[test]
fn interceptors_of_service_and_client_see_both_gears() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("shm:{}/socket", folder.path().display());
        let only_known = |request: Request<()>| match request.metadata().get("user") {
            Some(_) => Ok(request),
            None => Err(Status::unauthenticated("who calls?")),
        };
        let service = TestServiceServer::with_interceptor(TestService, only_known);
        let (_reporter, health) = tonic_health::server::health_reporter();
        let bound = Server::builder().add_service(service).add_service(health).bind(&address);
        tokio::spawn(bound.unwrap().serve());
        for gear in [Gear::Native, Gear::Http2] {
            let channel = connect(&address, gear).await;
            let mut unknown = TestServiceClient::new(channel.clone());
            let status = unknown.empty_call(Empty {}).await.unwrap_err();
            assert_eq!(status.code(), Code::Unauthenticated, "{gear:?}: {status}");
            let named = |mut request: Request<()>| {
                request.metadata_mut().insert("user", "someone".parse().unwrap());
                Ok(request)
            };
            let mut known = TestServiceClient::with_interceptor(channel.clone(), named);
            known.empty_call(Empty {}).await.unwrap();
            let ours = breezeway_grpc::connect(&address).await.unwrap();
            TestServiceClient::with_interceptor(ours, named).empty_call(Empty {}).await.unwrap();
            let mut health = HealthClient::new(channel);
            health.check(HealthCheckRequest::default()).await.unwrap();
        }
    });
}

#[test]
fn tonic_server_sees_connect_info_on_shm_socket() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket").display().to_string();
        let (layer, seen) = recording(connect_info);
        let incoming = breezeway_grpc::incoming(format!("shm:{path}")).unwrap();
        let router = tonic::transport::Server::builder().layer(layer).add_service(server());
        tokio::spawn(router.serve_with_incoming(incoming));
        for address in [format!("shm:{path}"), format!("unix:{path}")] {
            cases::empty_unary(client(connect(&address, Gear::Http2).await)).await;
        }
        let seen = seen.lock().unwrap();
        let carriers: Vec<_> = seen.iter().map(|info| info.carrier).collect();
        assert_eq!(carriers, [Carrier::Shm, Carrier::Unix], "the second speaks on the socket");
        assert!(seen.iter().all(|info| info.peer.is_same_user()));
    });
}

#[test]
fn response_carries_connect_info() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        for address in addresses(folder.path()) {
            let plain = Plain::start(&address);
            let channel = Endpoint::new(&plain.address).unwrap().connect_lazy();
            assert_eq!(channel.connect_info(), None, "nothing is connected yet");
            let mut client = client(any(channel.clone()));
            let response = client.empty_call(breezeway_grpc_interop::pb::Empty {}).await.unwrap();
            let info = response.extensions().get::<ConnectInfo>().cloned();
            assert_eq!(info, channel.connect_info());
            assert_eq!(info.unwrap().gear, Gear::Http2);
        }
    });
}
