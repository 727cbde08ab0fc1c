//! What a peer has written by the time it hangs up, to the serving and to the calling end of a session.
#![no_main]

use std::io::Read;
use std::os::unix::net::UnixStream;

use arbitrary::Arbitrary;
use breezeway::{Call, ForeignBytes, ServerSession, Session, SessionOptions, WaitPolicy};
use breezeway_fuzz::{Control, Descriptor, Number, RawDescriptor, RawEntry, Shared, send};
use libfuzzer_sys::fuzz_target;

const CAPACITY: u32 = 64;

#[derive(Arbitrary, Debug)]
enum Write {
    Entry(RawEntry),
    /// A message as this peer may send it, on a stream that is likely.
    Message {
        flags: u8,
        stream: u8,
        len: u8,
        body: [u8; 24],
        released: u8,
    },
    Lend {
        flags: u8,
        stream: u8,
        descriptor: RawDescriptor,
    },
    AddSegment {
        large: bool,
    },
    SegmentEntry {
        kind: u8,
        number: u8,
        size: Number,
    },
    Cancel,
    Shutdown,
    Socket {
        byte: u8,
        fds: Vec<Descriptor>,
    },
    SetByte {
        at: u16,
        value: u8,
    },
    SetHeader {
        word: u8,
        value: Number,
    },
    SetReleased {
        word: u8,
        value: u64,
    },
}

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

fuzz_target!(|input: Input| {
    let (honest, socket) = UnixStream::pair().unwrap();
    let mut control = Control::new(CAPACITY);
    let control_fd = control.shared.fd.try_clone().unwrap();
    send(&socket, &hello(), &[control_fd]);
    let mut segments = 0;
    for write in input.writes.iter().take(CAPACITY as usize) {
        apply(write, &mut control, &mut segments, &socket, input.to_server);
    }
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let options = SessionOptions::new().wait(WaitPolicy::Park).ring_capacity(CAPACITY).cap(1 << 20);
    if input.to_server {
        let session = ServerSession::from_socket(honest.into(), &options).expect("a good hello");
        // How it ends does not matter, as long as it does.
        let _ = session.serve(&|call: Call<'_>| {
            read(call.request());
            let len = call.request().len();
            match call.method() % 4 {
                0 => call.done(),
                1 => Err("a failure".into()),
                2 => call.reply(&[7; 200]),
                _ => {
                    let mut space = call.reserve(len)?;
                    space.write_request(0);
                    space.commit()
                }
            }
        });
    } else {
        let mut session = Session::from_socket(honest.into(), &options).expect("a good hello");
        for usage in input.uses.iter().take(100) {
            use_session(&mut session, usage);
        }
    }
});

fn hello() -> Vec<u8> {
    let mut hello = b"BRZWHELO".to_vec();
    hello.extend(1u16.to_le_bytes());
    hello.extend(64u16.to_le_bytes());
    hello.extend([0; 4]);
    hello.extend(CAPACITY.to_le_bytes());
    hello.extend(64u32.to_le_bytes());
    hello.extend(12_288u64.to_le_bytes());
    hello.extend((1u64 << 20).to_le_bytes());
    hello.extend([0; 24]);
    hello
}

fn apply(
    write: &Write,
    control: &mut Control,
    segments: &mut u32,
    socket: &UnixStream,
    to_server: bool,
) {
    match write {
        Write::Entry(entry) => control.publish(entry),
        Write::Message { flags, stream, len, body, released } => {
            let usual = if to_server { 0x03 } else { 0x02 };
            control.publish(&RawEntry {
                kind: 1,
                flags: usual ^ flags % 32,
                len: u16::from(len % 105),
                stream: u32::from(*stream),
                tag: u32::from(*stream / 2),
                released: u16::from(*released),
                body: *body,
            });
        }
        Write::Lend { flags, stream, descriptor } => {
            let usual = if to_server { 0x03 } else { 0x02 };
            let flags = usual ^ flags % 32;
            let entry = RawEntry::lending(flags, (*stream).into(), descriptor);
            control.publish(&RawEntry { tag: u32::from(*stream / 2), ..entry });
        }
        Write::AddSegment { large } => {
            let shared = Shared::new(if *large { 65_536 } else { 4096 });
            send(socket, &[1], &[shared.fd.try_clone().unwrap()]);
            control.publish(&RawEntry::segment(6, *segments, shared.len() as u64));
            *segments += 1;
        }
        Write::SegmentEntry { kind, number, size } => {
            control.publish(&RawEntry::segment(6 + kind % 2, (*number).into(), size.value()));
        }
        Write::Cancel => control.publish(&RawEntry::segment(3, 0, 0)),
        Write::Shutdown => control.publish(&RawEntry::segment(9, 0, 0)),
        Write::Socket { byte, fds } => {
            let fds: Vec<_> = fds.iter().take(3).map(|fd| fd.open()).collect();
            send(socket, &[*byte], &fds);
        }
        Write::SetByte { at, value } => control.shared.set_byte((*at).into(), *value),
        Write::SetHeader { word, value } => {
            let at = [0x080, 0x100, 0x108, 0x110][usize::from(word % 4)];
            control.shared.set_word(at, value.value());
        }
        Write::SetReleased { word, value } => {
            control.shared.set_word(0x180 + 8 * usize::from(word % 16), *value);
        }
    }
}

fn use_session(session: &mut Session, usage: &Use) {
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

fn read(bytes: ForeignBytes<'_>) {
    let all = bytes.to_vec();
    assert!(all.len() <= 1 << 20);
    let mut read = Vec::new();
    bytes.reader().read_to_end(&mut read).unwrap();
    assert_eq!(read, all);
    assert_eq!(bytes.u64_le_at(all.len()), None);
}
