//! Calls whose time is over before there is anybody to answer them.

use std::os::unix::net::UnixListener;
use std::time::Duration;

use breezeway_grpc::Endpoint;
use breezeway_grpc_interop::cases::client;
use breezeway_grpc_interop::pb::Empty;
use tonic::Code;

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
        // One connection for all of them.
        silent.accept().unwrap();
        silent.set_nonblocking(true).unwrap();
        let more = silent.accept().map(drop).unwrap_err();
        assert_eq!(more.kind(), std::io::ErrorKind::WouldBlock);
    });
}
