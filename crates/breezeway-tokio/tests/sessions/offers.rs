//! Peers that offer nothing, and everything and more (`docs/abi.md`, sections 2.1 and 2.2).

use std::path::Path;

use breezeway_adversary::native::{Offer, relay_offering};
use breezeway_adversary::{Connection, Listener};
use breezeway_tokio::{Address, OwnedCall, Server, Session};

use super::support::{echo_stream, on_both_runtimes, soon};

/// Both sides' hellos make this offer.
async fn calls_and_streams_complete(at: fn(&Path) -> Address, largest: usize, offer: Offer) {
    let folder = tempfile::tempdir().unwrap();
    let [served, relayed] = ["served", "relayed"].map(|name| folder.path().join(name));
    let server = Server::bind(at(&served)).unwrap();
    let stopper = server.stopper();
    let on_call = async |call: OwnedCall| drop(call.echo());
    let serving = tokio::spawn(server.serve_streams(on_call, echo_stream));
    let listener = Listener::unix(&relayed).unwrap();
    relay_offering(listener, move || Connection::unix(&served), offer);

    let session = soon(Session::connect(&at(&relayed))).await.unwrap();
    let mut stream = soon(session.open(0)).await.unwrap();
    for message in [&b""[..], b"small", &vec![7; largest]] {
        assert!(soon(session.call(0, message)).await.unwrap().to_vec() == message);
        soon(stream.send(message)).await.unwrap();
        assert!(soon(stream.receive()).await.unwrap().expect("an echo").to_vec() == message);
    }
    soon(stream.finish()).await.unwrap();
    assert!(soon(stream.receive()).await.unwrap().is_none());
    drop((stream, session));
    stopper.stop();
    soon(serving).await.unwrap().unwrap();
}

#[test]
fn calls_and_streams_complete_whatever_the_peers_offer() {
    on_both_runtimes(|| async {
        for offer in [Offer::Nothing, Offer::Everything] {
            calls_and_streams_complete(|path| Address::shm(path), 104, offer).await;
            calls_and_streams_complete(|path| Address::unix(path), 1 << 20, offer).await;
        }
    });
}
