//! The canonical list (`grpc/doc/interop-test-descriptions.md`).

use breezeway_grpc::Gear;
use breezeway_grpc_interop::cases::{self, client};

use crate::support::{Plain, Serving, addresses, any, on_every_link, run, soon};

macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        $(
            #[test]
            fn $case() {
                on_every_link(|channel, _| cases::$case(client(channel)));
            }
        )*
    };
}

cases!(
    empty_unary,
    large_unary,
    client_streaming,
    server_streaming,
    ping_pong,
    empty_stream,
    custom_metadata,
    status_code_and_message,
    special_status_message,
    unimplemented_method,
    cancel_after_begin,
    client_compressed_unary,
    server_compressed_unary,
    compressed_streaming,
);

#[test]
fn unimplemented_service() {
    on_every_link(|channel, _| cases::unimplemented_service(channel));
}

#[test]
fn cancel_after_first_response() {
    on_every_link(|channel, gear| async move {
        let requests = cases::cancel_after_first_response(client(channel)).await;
        if gear == Gear::Native {
            // hyper keeps the requests of a finished call until the next one comes.
            soon(requests.closed()).await;
        }
    });
}

#[test]
fn timeout_on_sleeping_server() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        for address in addresses(folder.path()) {
            let serving = Serving::start(&address);
            let channel = breezeway_grpc::connect(&serving.address).await.unwrap();
            cases::timeout_on_sleeping_server(client(any(channel))).await;
            serving.end().await;
            let plain = Plain::start(&address);
            let channel = breezeway_grpc::connect(&plain.address).await.unwrap();
            assert_eq!(channel.connect_info().unwrap().gear, Gear::Http2);
            cases::timeout_on_sleeping_server(client(any(channel))).await;
        }
    });
}
