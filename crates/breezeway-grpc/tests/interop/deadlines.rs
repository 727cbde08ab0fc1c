//! Calls whose time is over before there is anybody to answer them.

use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use breezeway_grpc::{Endpoint, Server};
use breezeway_grpc_interop::cases::client;
use breezeway_grpc_interop::pb::Empty;
use breezeway_grpc_interop::server;
use tonic::service::interceptor::InterceptorLayer;
use tonic::{Code, Request};

use crate::support::{any, run};

#[test]
fn a_calls_time_goes_on_while_it_connects_and_the_next_call_goes_on_connecting() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        // Nobody accepts: a client that connects waits for its handshake, for an hour.
        let silent = UnixListener::bind(&path).unwrap();
        let hour = Duration::from_secs(3600);
        let endpoint = Endpoint::new(format!("shm:{}", path.display())).unwrap();
        let channel = endpoint.connect_timeout(hour).connect_lazy();
        for _ in 0..3 {
            let mut request = tonic::Request::new(Empty {});
            request.set_timeout(Duration::from_millis(50));
            let status = client(any(channel.clone())).empty_call(request).await.unwrap_err();
            assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
        }
        // One connection for all of them. It stays open: a client whose connection ends would
        // take the server for one that speaks HTTP/2 only, and connect again.
        let _first = silent.accept().unwrap();
        silent.set_nonblocking(true).unwrap();
        let more = silent.accept().map(drop).unwrap_err();
        assert_eq!(more.kind(), std::io::ErrorKind::WouldBlock);
    });
}

#[test]
fn a_server_is_told_what_the_wait_for_the_connection_has_left_of_a_calls_time() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let layer = InterceptorLayer::new({
            let told = Arc::clone(&told);
            move |request: Request<()>| {
                let said = request.metadata().get("grpc-timeout").expect("a time");
                told.lock().unwrap().push(said.to_str().unwrap().to_owned());
                Ok(request)
            }
        });
        let address = format!("shm:{}", folder.path().join("socket").display());
        let bound = Server::builder().layer(layer).add_service(server()).bind(&address).unwrap();
        tokio::spawn(bound.serve());
        let channel = any(Endpoint::new(&address).unwrap().connect_lazy());
        for _ in 0..2 {
            let mut request = Request::new(Empty {});
            request.set_timeout(Duration::from_secs(90));
            client(channel.clone()).empty_call(request).await.unwrap();
        }
        let told = told.lock().unwrap();
        let [first, second] = &told[..] else { panic!("{told:?}") };
        // The one that has connected says less; the one that found a connection says what it has.
        assert!(first.ends_with('u') && first < second, "{told:?}");
        assert_eq!(second, "90000000u");
    });
}
