//! A server of exclusive sessions, and a scripted client: a [`Server`]'s worker, and in shared
//! memory also an [`ExclusiveServerSession`] that a thread serves alone.

use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use breezeway::unstable::Tuning as _;
use breezeway::{
    Call, Carrier, ErrorCode, ExclusiveServerSession, Handled, HandlerError, OwnedCall, Server,
    ServerOptions, SessionOptions, Stopper, Stream,
};
use breezeway_adversary::Connection;

use super::script::{Entry, Offer, Script, pattern};
use super::{SHM, SOCKETS, Trace, compare};
use crate::support::{Folder, PATIENCE, raw, wait_for};

pub(super) const ECHO: u32 = 0;
/// The reply has as many bytes as the request's u32.
pub(super) const GIVE: u32 = 1;
pub(super) const FAIL: u32 = 2;
pub(super) const PANIC: u32 = 3;
/// The script replies.
pub(super) const DEFER: u32 = 4;
pub(super) const REFUSE: u32 = 5;
/// The reply is cut to half of the space that is reserved for it.
pub(super) const CUT: u32 = 6;
/// Nothing is done with a one-way message.
pub(super) const SINK: u32 = 7;
pub(super) const UNKNOWN: u32 = 99;

const KIBIBYTE: usize = 1 << 10;

/// Options of both sides.
#[derive(Clone, Copy)]
pub(super) struct Setting {
    pub(super) client: Offer,
    pub(super) ring: u32,
    pub(super) cap: u64,
    pub(super) reply_timeout: Duration,
    pub(super) drain_timeout: Duration,
    pub(super) only_shm: bool,
}

pub(super) const USUAL: Setting = Setting {
    client: Offer::PLAIN,
    ring: 64,
    cap: 1 << 20,
    reply_timeout: PATIENCE,
    drain_timeout: PATIENCE,
    only_shm: false,
};

impl Setting {
    fn session(&self) -> SessionOptions {
        SessionOptions::new()
            .handshake_timeout(PATIENCE)
            .ring_capacity(self.ring)
            .cap(self.cap)
            .shrink_after(Duration::from_secs(3600))
            .max_streams(2)
            .stream_window(4, 1000)
            .max_metadata(64)
    }

    fn server(&self) -> ServerOptions {
        ServerOptions::new()
            .session(self.session())
            .workers(1)
            .reply_timeout(self.reply_timeout)
            .drain_timeout(self.drain_timeout)
    }
}

/// The server, as a script uses it.
pub(super) struct Serving {
    deferred: Receiver<OwnedCall>,
    stopper: Option<Stopper>,
}

impl Serving {
    /// The next call that the handler has deferred.
    #[track_caller]
    pub(super) fn deferred(&self) -> OwnedCall {
        wait_for(&self.deferred, PATIENCE).expect("a deferred call")
    }

    pub(super) fn stops(&self) {
        self.stopper.as_ref().expect("a server").stop();
    }
}

fn handler(deferred: Sender<OwnedCall>) -> impl Fn(Call<'_>) -> Handled + Send + Sync {
    let deferred = Mutex::new(deferred);
    move |call: Call<'_>| match call.method() {
        ECHO => call.echo(),
        GIVE => {
            let len = call.request().to_vec()[..].try_into().map(u32::from_le_bytes)?;
            call.reply(pattern(3, len as usize))
        }
        FAIL => Err(String::from_utf8(call.request().to_vec())?.into()),
        PANIC => panic!("as the script wants it"),
        DEFER => {
            let (later, replied) = call.defer()?;
            deferred.lock().unwrap().send(later)?;
            Ok(replied)
        }
        REFUSE => call.fail(ErrorCode::Application(404), "not found"),
        CUT => {
            let len = call.request().len();
            let mut space = call.reserve(len)?;
            space.write_request(0);
            space.truncate(len / 2);
            space.commit()
        }
        SINK => call.done(),
        _ => call.no_such_method(),
    }
}

fn echo(_: u32, mut stream: Stream) -> Result<(), HandlerError> {
    while let Some(message) = stream.receive()? {
        stream.send(&message.to_vec())?;
    }
    Ok(stream.finish()?)
}

pub(super) fn give(stream: u32, len: usize) -> Entry {
    Entry::request(stream, GIVE, &(len as u32).to_le_bytes())
}

/// A conversation: its name, its setting, and what the client and the script's part of the server
/// do. At its end the client shuts down.
pub(super) type Conversation = (&'static str, Setting, fn(&Serving, &mut Script));

fn ends(peer: &mut Script) {
    peer.sends(Entry::shutdown());
    peer.reads_end();
}

/// Plays conversations with a server of one worker, which echoes streams of clients that take some.
pub(super) fn record(conversations: &[Conversation], is_stopped: bool, carrier: Carrier) -> Trace {
    let on_carrier = |setting: &Setting| carrier == Carrier::Shm || !setting.only_shm;
    let conversations = conversations.iter().filter(|(_, setting, _)| on_carrier(setting));
    let played = conversations.map(|(name, setting, play)| {
        let folder = Folder::on(carrier);
        let server = Server::bind_with(folder.address(), setting.server()).unwrap();
        let server = if setting.client.streams > 0 { server.on_stream(echo) } else { server };
        let stopper = server.stopper();
        let (sender, deferred) = channel();
        let serving = std::thread::spawn(move || server.serve(handler(sender)));
        let connection = raw::connect(&folder.address());
        let mut peer = Script::client(connection, carrier, setting.client);
        play(&Serving { deferred, stopper: Some(stopper.clone()) }, &mut peer);
        if is_stopped {
            peer.reads_end();
        } else {
            ends(&mut peer);
        }
        stopper.stop();
        serving.join().unwrap().unwrap();
        (*name, peer.into_lines())
    });
    played.collect()
}

/// Plays conversations with a session that a thread serves alone.
fn record_alone(conversations: &[Conversation]) -> Trace {
    let played = conversations.iter().map(|(name, setting, play)| {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (sender, deferred) = channel();
        let options = setting.session();
        let serving = std::thread::spawn(move || {
            let session = ExclusiveServerSession::from_socket(ours.into(), &options).unwrap();
            // The trace shows the end of the session.
            let _ = session.serve(&handler(sender));
        });
        let mut peer = Script::client(Connection::Unix(theirs), Carrier::Shm, setting.client);
        play(&Serving { deferred, stopper: None }, &mut peer);
        ends(&mut peer);
        serving.join().unwrap();
        (*name, peer.into_lines())
    });
    played.collect()
}

fn record_all(carrier: Carrier) -> Trace {
    let mut trace = record(CONVERSATIONS, false, carrier);
    trace.extend(record(OF_SERVERS, false, carrier));
    trace.extend(record(STOPPED, true, carrier));
    trace
}

#[test]
fn worker_on_shm_sends_recorded_entries() {
    compare("exclusive_server.shm", &SHM, record_all);
}

#[test]
fn worker_on_sockets_sends_recorded_entries() {
    compare("exclusive_server.socket", &SOCKETS, record_all);
}

#[test]
fn session_served_alone_sends_the_same_as_worker() {
    let worker = record(CONVERSATIONS, false, Carrier::Shm);
    for (alone, by_worker) in record_alone(CONVERSATIONS).iter().zip(&worker) {
        assert_eq!(alone, by_worker);
    }
}

/// Conversations with either.
const CONVERSATIONS: &[Conversation] = &[
    ("calls of up to 104 bytes", USUAL, |_, peer| {
        for (index, len) in [0, 1, 40, 41, 104].into_iter().enumerate() {
            peer.sends(Entry::request(2 * index as u32 + 1, ECHO, &pattern(1, len)));
            peer.reads(1);
        }
    }),
    ("lent requests", USUAL, |_, peer| {
        for (stream, len) in [(1, 105), (3, KIBIBYTE), (5, 64 * KIBIBYTE)] {
            peer.sends(Entry::request(stream, SINK, &pattern(1, len)));
            peer.reads(1);
        }
        peer.notes_bits();
    }),
    ("lent replies, released by their bits", USUAL, |_, peer| {
        for (stream, len) in [(1, 105), (3, KIBIBYTE), (5, 64 * KIBIBYTE), (7, KIBIBYTE)] {
            peer.sends(give(stream, len));
            let reply = peer.reads(1);
            peer.releases(&reply);
        }
    }),
    ("lent replies, released in requests", USUAL, |_, peer| {
        let mut reply = Entry::default();
        for stream in [1, 3, 5] {
            peer.sends(give(stream, KIBIBYTE).releasing(&reply));
            reply = peer.reads(1);
        }
    }),
    ("lent both ways", USUAL, |_, peer| {
        let mut reply = Entry::default();
        for stream in [1, 3, 5] {
            peer.sends(Entry::request(stream, ECHO, &pattern(1, KIBIBYTE)).releasing(&reply));
            reply = peer.reads(1);
        }
        peer.notes_bits();
    }),
    ("a reply that is cut", USUAL, |_, peer| {
        for (stream, len) in [(1, 60), (3, 2 * KIBIBYTE)] {
            peer.sends(Entry::request(stream, CUT, &pattern(1, len)));
            peer.reads(1);
        }
    }),
    ("several calls in flight", USUAL, |_, peer| {
        for stream in [1, 3, 5, 7] {
            peer.sends(Entry::request(stream, ECHO, &pattern(stream as u8, 20)));
        }
        peer.reads(4);
    }),
    ("a number is used again once its call has its reply", USUAL, |_, peer| {
        for _ in 0..3 {
            peer.sends(Entry::request(1, ECHO, b"again"));
            peer.reads(1);
        }
    }),
    ("calls that fail", USUAL, |_, peer| {
        peer.sends(Entry::request(1, FAIL, b"the handler's reason"));
        peer.reads(1);
        peer.sends(Entry::request(3, FAIL, &[b'r'; 2000]));
        peer.reads(1);
        for (stream, method) in [(5, PANIC), (7, UNKNOWN), (9, REFUSE), (11, ECHO)] {
            peer.sends(Entry::request(stream, method, b"call"));
            peer.reads(1);
        }
    }),
    ("a reply beyond the cap", USUAL, |_, peer| {
        peer.sends(give(1, (1 << 20) + 1));
        peer.reads(1);
        peer.sends(Entry::request(3, ECHO, b"next"));
        peer.reads(1);
    }),
    ("replies of calls that were deferred, in another order", USUAL, |server, peer| {
        let mut deferred = Vec::new();
        for (stream, len) in [(1, 5), (3, KIBIBYTE), (5, 104), (7, 0)] {
            peer.sends(Entry::request(stream, DEFER, &pattern(1, len)));
            deferred.push(server.deferred());
        }
        peer.sends(Entry::request(9, ECHO, b"meanwhile"));
        peer.reads(1);
        deferred.remove(2).reply(pattern(5, KIBIBYTE)).unwrap();
        peer.reads(1);
        deferred.remove(0).fail(ErrorCode::Failed, "later").unwrap();
        peer.reads(1);
        deferred.remove(1).echo().unwrap();
        peer.reads(1);
        deferred.remove(0).echo().unwrap();
        peer.reads(1);
        peer.notes_bits();
    }),
    ("a deferred call that is dropped", USUAL, |server, peer| {
        peer.sends(Entry::request(1, DEFER, b"call"));
        drop(server.deferred());
        peer.reads(1);
    }),
    ("one-way messages", USUAL, |_, peer| {
        for (stream, method) in [(1, SINK), (3, FAIL), (5, PANIC), (7, ECHO), (9, UNKNOWN)] {
            peer.sends(Entry::one_way(stream, method, b"message"));
        }
        peer.sends(Entry::request(11, ECHO, b"behind them"));
        peer.reads(1);
        peer.sends(Entry::one_way(13, SINK, &pattern(1, KIBIBYTE)));
        peer.awaits_bit();
        peer.sends(Entry::one_way(15, SINK, &pattern(2, 105)));
        peer.awaits_bit();
    }),
    ("a deferred one-way message", USUAL, |server, peer| {
        peer.sends(Entry::one_way(1, DEFER, &pattern(1, KIBIBYTE)));
        let held = server.deferred();
        peer.sends(Entry::request(3, ECHO, b"meanwhile"));
        peer.reads(1);
        peer.notes_bits();
        held.done().unwrap();
        peer.awaits_bit();
    }),
    ("memory grows with what is lent", ONLY_SHM, |_, peer| {
        for (stream, len) in [(1, KIBIBYTE), (3, 100 * KIBIBYTE), (5, 300 * KIBIBYTE)] {
            peer.sends(give(stream, len));
            peer.reads(1);
        }
    }),
    ("a reply that waits for memory", LITTLE_MEMORY, |_, peer| {
        peer.sends(give(1, 40 * KIBIBYTE));
        let first = peer.reads(1);
        peer.sends(give(3, 40 * KIBIBYTE));
        peer.sends(Entry::request(5, ECHO, b"behind it"));
        peer.releases(&first);
        peer.reads(2);
    }),
    ("a reply that waits for memory, which the next request releases", LITTLE_MEMORY, |_, peer| {
        peer.sends(give(1, 40 * KIBIBYTE));
        let first = peer.reads(1);
        peer.sends(Entry::request(3, ECHO, b"small"));
        peer.reads(1);
        peer.sends(give(5, 40 * KIBIBYTE).releasing(&first));
        peer.reads(1);
    }),
    ("requests with a time, and cancels", USUAL, |server, peer| {
        peer.sends(Entry::request(1, ECHO, b"call").time(27_845));
        peer.reads(1);
        peer.sends(Entry::request(3, DEFER, b"call").time(27_845));
        let deferred = server.deferred();
        peer.sends(Entry::cancel(3));
        peer.sends(Entry::cancel(77));
        peer.sends(Entry::request(5, ECHO, b"behind it"));
        peer.reads(1);
        deferred.reply("all the same").unwrap();
        peer.reads(1);
    }),
    ("resets and windows of no stream are ignored", USUAL, |_, peer| {
        peer.sends(Entry::reset(1, 5));
        peer.sends(Entry::window(2, 1, 10));
        peer.sends(Entry::request(3, ECHO, b"call"));
        peer.reads(1);
    }),
    ("calls in front of the client's shutdown", USUAL, |_, peer| {
        peer.sends(Entry::request(1, ECHO, b"last"));
        peer.sends(Entry::request(3, GIVE, &1000u32.to_le_bytes()));
    }),
];

/// Conversations with a server's worker alone: it has a reply timeout.
const OF_SERVERS: &[Conversation] = &[
    ("a reply that waits for memory in vain", IMPATIENT, |_, peer| {
        peer.sends(give(1, 40 * KIBIBYTE));
        peer.reads(1);
        peer.sends(give(3, 40 * KIBIBYTE));
        peer.reads(1);
        peer.sends(Entry::request(5, ECHO, b"next"));
        peer.reads(1);
    }),
    ("a reply that waits for memory until the client's time is over", LITTLE_MEMORY, |_, peer| {
        peer.sends(give(1, 40 * KIBIBYTE));
        peer.reads(1);
        peer.sends(give(3, 40 * KIBIBYTE).time(1000));
        peer.reads(1);
    }),
];

/// Conversations that the server ends.
const STOPPED: &[Conversation] = &[
    ("a server that stops", USUAL, |server, peer| {
        peer.sends(Entry::request(1, ECHO, b"call"));
        peer.reads(1);
        server.stops();
    }),
    ("a server that stops with a call in flight", USUAL, |server, peer| {
        peer.sends(Entry::request(1, DEFER, b"call"));
        let deferred = server.deferred();
        server.stops();
        peer.reads(1);
        deferred.reply("served").unwrap();
        peer.reads(1);
    }),
    ("a server that stops, of a client that takes no go-away", NO_GO_AWAY, |server, peer| {
        peer.sends(Entry::request(1, ECHO, b"call"));
        peer.reads(1);
        server.stops();
    }),
    ("a server that stops before a call is served", NO_DRAIN, |server, peer| {
        // As many bytes as the cap are held, so nothing more is served.
        let mut held = Vec::new();
        for number in 0..(NO_DRAIN.cap / 64) as u32 {
            peer.sends(Entry::one_way(2 * number + 1, DEFER, &[7; 64]));
            held.push(server.deferred());
        }
        peer.sends(Entry::request(1001, ECHO, b"not begun"));
        peer.sends(Entry::one_way(1003, SINK, b"not begun"));
        server.stops();
        peer.reads(2);
    }),
    ("a client that dies", USUAL, |_, peer| {
        peer.sends(Entry::request(1, ECHO, b"call"));
        peer.reads(1);
        peer.ends();
    }),
    ("a client that opens a stream", USUAL, |_, peer| {
        peer.sends(Entry::request(1, ECHO, b"call"));
        peer.reads(1);
        peer.sends(Entry::open(3, ECHO, b"stream"));
    }),
    ("a client that sends metadata", USUAL, |_, peer| {
        peer.sends(Entry::request(1, ECHO, b"call").metadata(b"block"));
    }),
    ("a client that replies", USUAL, |_, peer| {
        peer.sends(Entry::reply(1, b"to nothing"));
    }),
    ("a client that goes away", USUAL, |_, peer| {
        peer.sends(Entry::go_away());
    }),
];

const LITTLE_MEMORY: Setting = Setting { cap: 64 << 10, only_shm: true, ..USUAL };
const IMPATIENT: Setting = Setting { reply_timeout: Duration::from_millis(1), ..LITTLE_MEMORY };
const NO_GO_AWAY: Setting = Setting { client: Offer { features: 0, ..Offer::PLAIN }, ..USUAL };
const NO_DRAIN: Setting = Setting {
    client: Offer { ring: 8, ..Offer::PLAIN },
    ring: 8,
    cap: 4096,
    drain_timeout: Duration::from_millis(1),
    ..USUAL
};
const ONLY_SHM: Setting = Setting { only_shm: true, ..USUAL };
