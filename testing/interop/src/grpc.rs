//! The service and the cases of gRPC's interoperability test, by native calls.

use std::io::{Read, stdin};

use breezeway_grpc::{Gear, Server};
use breezeway_grpc_interop::cases::{self, client};
use breezeway_grpc_interop::{AnyChannel, Change, Changed, server};
use http::{Request, Response};
use http_body_util::BodyExt;
use tonic::body::Body;
use tower::layer::layer_fn;

/// Prints the end of a call: its response was sent, or its client has given it up.
struct Running(String);

impl Drop for Running {
    fn drop(&mut self) {
        println!("over {}", self.0);
    }
}

/// Prints the path of a call when it begins and when it is over.
fn report(request: &Request<Body>) -> Change {
    let running = Running(request.uri().path().to_owned());
    println!("call {}", running.0);
    Box::new(move |response: Response<Body>| {
        response.map(|body| {
            Body::new(body.map_frame(move |frame| {
                let _of_the_body = &running;
                frame
            }))
        })
    })
}

/// Serves until standard input ends.
pub(crate) fn serve(address: &str) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let builder = Server::builder().layer(layer_fn(|service| Changed::new(service, report)));
        let bound = builder.add_service(server()).bind(address).expect("the address is free");
        println!("listening");
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        std::thread::spawn(move || {
            let _ = stdin().read_to_end(&mut Vec::new());
            drop(stop);
        });
        let signal = async {
            let _ = stopped.await;
        };
        bound.serve_with_shutdown(signal).await.expect("it serves");
    });
}

/// Runs a case against a server of the service, which must make native calls.
pub(crate) fn call(address: &str, case: &str) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let session = breezeway_grpc::connect(address).await.expect("a server");
        let gear = session.connect_info().map(|info| info.gear);
        assert_eq!(gear, Some(Gear::Native), "the server makes native calls");
        let session = AnyChannel::new(session);
        let client = client(session.clone());
        match case {
            "empty_unary" => cases::empty_unary(client).await,
            "large_unary" => cases::large_unary(client).await,
            "client_streaming" => cases::client_streaming(client).await,
            "server_streaming" => cases::server_streaming(client).await,
            "ping_pong" => cases::ping_pong(client).await,
            "empty_stream" => cases::empty_stream(client).await,
            "custom_metadata" => cases::custom_metadata(client).await,
            "status_code_and_message" => cases::status_code_and_message(client).await,
            "special_status_message" => cases::special_status_message(client).await,
            "unimplemented_method" => cases::unimplemented_method(client).await,
            "unimplemented_service" => cases::unimplemented_service(session).await,
            "timeout_on_sleeping_server" => cases::timeout_on_sleeping_server(client).await,
            "cancel_after_begin" => cases::cancel_after_begin(client).await,
            "cancel_after_first_response" => {
                cases::cancel_after_first_response(client).await.closed().await;
            }
            _ => panic!("no case {case}"),
        }
    });
}
