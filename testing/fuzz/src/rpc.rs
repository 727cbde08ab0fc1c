//! Calls of services on a native session: any number, metadata and arguments, in frames that are
//! right but for these.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, LazyLock};

use arbitrary::Arbitrary;
use breezeway::{Call, Carrier, Incoming, SessionOptions};
use breezeway_adversary::native::frame::{Header, hello};
use breezeway_adversary::native::layout::{flag, kind};
use breezeway_rpc::Method;
use breezeway_rpc::fuzzing::Dispatch;

use crate::services::dispatch;
use crate::typed;

#[derive(Arbitrary, Debug)]
struct Request {
    method: Which,
    one_way: bool,
    time: u16,
    metadata: Option<Metadata>,
    arguments: Arguments,
}

#[derive(Arbitrary, Debug)]
enum Which {
    Say,
    Age,
    Seen,
    Listen,
    Any(u32),
}

#[derive(Arbitrary, Debug)]
enum Metadata {
    Pairs(Vec<(Vec<u8>, Vec<u8>)>),
    Any(Vec<u8>),
}

#[derive(Arbitrary, Debug)]
enum Arguments {
    /// One field that is a text, as of both methods of `Users`.
    Text(Vec<u8>),
    /// A field that is a struct of two texts, as in `Room.say`.
    Line(Vec<u8>, Vec<u8>),
    Any(Vec<u8>),
}

impl Which {
    fn tag(&self) -> u32 {
        match self {
            Self::Say => Method::number("Room", "say"),
            Self::Age => Method::number("Users", "age"),
            Self::Seen => Method::number("Users", "seen"),
            Self::Listen => Method::number("Room", "listen"),
            Self::Any(tag) => *tag,
        }
    }
}

fn text(field: u8, bytes: &[u8]) -> Vec<u8> {
    [&[11, 0, field][..], &(bytes.len() as u32).to_be_bytes(), bytes].concat()
}

impl Arguments {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(bytes) => [&text(1, bytes)[..], &[0]].concat(),
            Self::Line(from, words) => {
                [&[12, 0, 1][..], &text(1, from), &text(2, words), &[0, 0]].concat()
            }
            Self::Any(bytes) => bytes.clone(),
        }
    }
}

impl Metadata {
    fn block(&self) -> Vec<u8> {
        match self {
            Self::Pairs(pairs) => {
                let texts = pairs.iter().flat_map(|(name, value)| [name, value]);
                texts
                    .flat_map(|text| [&(text.len() as u16).to_be_bytes()[..], text].concat())
                    .collect()
            }
            Self::Any(bytes) => bytes.clone(),
        }
    }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    static SERVICES: LazyLock<Arc<Dispatch>> = LazyLock::new(|| Arc::new(dispatch()));
    let Some(requests) = typed::<Vec<Request>>(data) else { return };
    let (honest, mut socket) = UnixStream::pair().unwrap();
    socket.write_all(&hello(64, 1 << 20)).unwrap();
    let wanted = requests.iter().take(24).enumerate().filter(|(index, request)| {
        send(&mut socket, 2 * *index as u32 + 1, request);
        !request.one_way
    });
    let wanted = wanted.count();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let options = SessionOptions::new().max_metadata(1024);
    let (server, mut driver) =
        breezeway::fuzzing::server(honest.into(), Carrier::Unix, &options).expect("a good hello");
    let handler = |call: Call<'_>| SERVICES.handle(call);
    let mut served = 0;
    loop {
        driver.turn();
        let Some(incoming) = server.try_accept() else { break };
        let Incoming::Call(call) = incoming else { panic!("no stream was opened") };
        served += usize::from(!call.is_one_way());
        breezeway::fuzzing::serve(call, &handler);
    }
    assert!(served <= wanted, "{served} calls of {wanted}");
}

fn send(socket: &mut UnixStream, stream: u32, request: &Request) {
    let block = request.metadata.as_ref().map(Metadata::block);
    let mut body = Vec::new();
    if let Some(block) = &block {
        body.extend((block.len() as u16).to_le_bytes());
        body.extend(block);
    }
    body.extend(request.arguments.bytes());
    // More than a socket's buffer holds would wait for the server.
    body.truncate(4096);
    let header = Header::request(stream, request.method.tag(), body.len());
    let flags = if block.is_some() { flag::METADATA } else { 0 };
    let flags = flags | if request.one_way { flag::NO_REPLY } else { 0 };
    let header =
        Header { kind: kind::MESSAGE, flags: header.flags | flags, time: request.time, ..header };
    socket.write_all(&header.bytes()).unwrap();
    socket.write_all(&body).unwrap();
}
