//! Peers that offer nothing, and everything and more (`docs/abi.md`, sections 2.1 and 2.2).

use std::thread;

use breezeway::{Call, Carrier, ExclusiveSession, Server, Session};
use breezeway_adversary::native::{Offer, relay_offering};

use crate::support::{Folder, MEBIBYTE, carrier, patient, raw};

/// Messages of each size that the carrier allows through a relay.
fn messages() -> Vec<Vec<u8>> {
    let mut messages = vec![Vec::new(), b"small".to_vec(), vec![7; 104]];
    if carrier() != Carrier::Shm {
        messages.push(vec![7; MEBIBYTE]);
    }
    messages
}

/// Both sides' hellos make this offer.
fn calls_and_streams_complete(offer: Offer) {
    if carrier() == Carrier::Tls {
        // A relay cannot alter hellos within TLS.
        return;
    }
    let (served, relayed) = (Folder::new(), Folder::new());
    let server = Server::bind(served.address()).unwrap().on_stream(|_, mut stream| {
        while let Some(message) = stream.receive()? {
            stream.send(&message.to_vec())?;
        }
        Ok(stream.finish()?)
    });
    let stopper = server.stopper();
    let serving = thread::spawn(move || server.serve(|call: Call<'_>| call.echo()));
    let target = served.address();
    let connect = move || raw::try_connect(&target);
    relay_offering(raw::listen(&relayed.address()), connect, offer);

    let mut exclusive = ExclusiveSession::connect_with(relayed.address(), &patient()).unwrap();
    for message in messages() {
        assert!(exclusive.call(0, &message).unwrap().to_vec() == message);
    }
    exclusive.post(0, b"one-way").unwrap();
    assert!(exclusive.call(0, b"behind it").is_ok());

    let shared = Session::connect_with(relayed.address(), &patient()).unwrap();
    let mut stream = shared.open(0).unwrap();
    for message in messages() {
        assert!(shared.call(0, &message).unwrap().to_vec() == message);
        stream.send(&message).unwrap();
        assert!(stream.receive().unwrap().expect("an echo").to_vec() == message);
    }
    shared.post(0, b"one-way").unwrap();
    stream.finish().unwrap();
    assert!(stream.receive().unwrap().is_none());
    assert!(shared.call(0, b"behind it").is_ok());
    drop((exclusive, stream, shared));
    stopper.stop();
    serving.join().unwrap().unwrap();
}

#[test]
fn peers_that_offer_nothing_complete_calls_and_streams() {
    calls_and_streams_complete(Offer::Nothing);
}

#[test]
fn peers_that_offer_everything_complete_calls_and_streams() {
    calls_and_streams_complete(Offer::Everything);
}
