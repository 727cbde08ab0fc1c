//! The bytes that a peer has written by the time it hangs up, to the serving and to the calling end
//! of a session.

use std::io::Read;
use std::os::unix::net::UnixStream;

use arbitrary::Arbitrary;
use breezeway::{
    Call, ExclusiveServerSession, ExclusiveSession, ForeignBytes, SessionOptions, WaitPolicy,
};

use crate::typed;
use crate::writing::{Peer, TERMS, Write};

#[derive(Arbitrary, Debug)]
enum Use {
    Call(u16),
    Send(u16),
    Post(u16),
    Receive,
    Reserve(u32),
}

#[derive(Arbitrary, Debug)]
struct Input {
    to_server: bool,
    writes: Vec<Write>,
    uses: Vec<Use>,
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some(input) = typed::<Input>(data) else { return };
    let (honest, socket) = UnixStream::pair().unwrap();
    let mut peer = Peer::new(socket, input.to_server);
    for write in input.writes.iter().take(TERMS.ring_capacity as usize) {
        peer.apply(write);
    }
    peer.socket.shutdown(std::net::Shutdown::Write).unwrap();
    let options = SessionOptions::new()
        .wait(WaitPolicy::Park)
        .ring_capacity(TERMS.ring_capacity)
        .cap(TERMS.payload_cap);
    if input.to_server {
        let session =
            ExclusiveServerSession::from_socket(honest.into(), &options).expect("a good hello");
        // The result does not matter, as long as it ends.
        let _ = session.serve(&|call: Call<'_>| {
            read(call.request());
            let len = call.request().len();
            match call.method() % 4 {
                0 => call.done(),
                1 => Err("a failure".into()),
                2 => call.reply([7; 200]),
                _ => {
                    let mut space = call.reserve(len)?;
                    space.write_request(0);
                    space.commit()
                }
            }
        });
    } else {
        let mut session =
            ExclusiveSession::from_socket(honest.into(), &options).expect("a good hello");
        for usage in input.uses.iter().take(100) {
            use_session(&mut session, usage);
        }
    }
}

fn use_session(session: &mut ExclusiveSession, usage: &Use) {
    let bytes = vec![3; 70_000];
    match usage {
        Use::Call(len) => {
            if let Ok(reply) = session.call(0, &bytes[..usize::from(*len)]) {
                read(reply.bytes());
            }
        }
        Use::Send(len) => drop(session.send(1, &bytes[..usize::from(*len)])),
        Use::Post(len) => drop(session.post(2, &bytes[..usize::from(*len)])),
        Use::Receive => {
            if let Ok(reply) = session.receive() {
                read(reply.bytes());
            }
        }
        Use::Reserve(len) => {
            if let Ok(mut space) = session.reserve(*len as usize % (1 << 21)) {
                space.bytes_mut().fill(9);
                let _ = space.send(3);
            }
        }
    }
    assert!(session.in_flight() <= session.max_in_flight());
}

/// Reads a body in every way there is.
pub(crate) fn read(bytes: ForeignBytes<'_>) {
    let all = bytes.to_vec();
    assert!(all.len() <= 1 << 20);
    let mut read = Vec::new();
    bytes.reader().read_to_end(&mut read).unwrap();
    assert_eq!(read, all);
    assert_eq!(bytes.u64_le_at(all.len()), None);
}
