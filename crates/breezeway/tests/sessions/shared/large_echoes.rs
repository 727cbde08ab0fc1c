//! Echoes so large that a server's worker copies them in pieces.

use std::thread;

use breezeway::{Address, Call, Server, ServerOptions, Session, SessionOptions};

use super::PATIENCE;
use crate::support::{Folder, within};

#[test]
fn large_echoes_of_a_worker_come_back_as_they_were() {
    const LEN: usize = 9 << 20;
    let folder = Folder::new();
    let address: Address = folder.address();
    let options = SessionOptions::new().cap(64 << 20);
    let server = Server::bind_with(&address, ServerOptions::new().session(options.clone()));
    let server = server.unwrap().on_stream(|_, _| Ok(()));
    let stopper = server.stopper();
    let serving = thread::spawn(move || {
        server.serve(|call: Call<'_>| {
            if call.method() == 0 {
                return call.echo();
            }
            let (call, later) = call.defer()?;
            thread::spawn(move || call.echo());
            Ok(later)
        })
    });
    let request: Vec<u8> = (0..LEN).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect();
    within(PATIENCE, "all echoes", move || {
        let session = Session::connect_with(&address, &options).unwrap();
        for method in [0, 1, 0, 1] {
            let reply = session.call(method, &request).unwrap();
            assert!(reply.to_vec() == request, "method {method}");
        }
    });
    stopper.stop();
    serving.join().unwrap().unwrap();
}
