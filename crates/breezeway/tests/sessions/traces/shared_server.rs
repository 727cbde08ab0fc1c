//! A server of shared sessions, [`ServerSession`], and a scripted client. A [`Driver`] takes its
//! turns on this thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use breezeway::unstable::Tuning as _;
use breezeway::{
    Carrier, Driver, ErrorCode, Incoming, Message, OwnedCall, ReplyError, ServerOptions,
    ServerSession, SessionListener, SessionOptions, Stream, StreamError,
};

use super::script::{Entry, Offer, Script, meanwhile, pattern};
use super::{SHM, SOCKETS, Trace, compare};
use crate::support::{Folder, PATIENCE, Stopwatch, raw};

const METHOD: u32 = 7;
const KIBIBYTE: usize = 1 << 10;

/// Options of both sides.
#[derive(Clone, Copy)]
struct Setting {
    client: Offer,
    ring: u32,
    cap: u64,
    reply_timeout: Duration,
    only_shm: bool,
}

const USUAL: Setting = Setting {
    client: Offer::STREAMS,
    ring: 64,
    cap: 1 << 20,
    reply_timeout: PATIENCE,
    only_shm: false,
};

impl Setting {
    fn options(&self) -> ServerOptions {
        let session = SessionOptions::new()
            .handshake_timeout(PATIENCE)
            .ring_capacity(self.ring)
            .cap(self.cap)
            .under_way(Some(1 << 20))
            .shrink_after(Duration::from_secs(3600))
            .max_streams(2)
            .stream_window(4, 1000)
            .max_metadata(64);
        ServerOptions::new().session(session).reply_timeout(self.reply_timeout)
    }
}

/// A session, with a driver that is dropped last.
struct Server {
    shared: ServerSession,
    driver: Driver,
}

fn open(carrier: Carrier, setting: &Setting) -> (Server, Script) {
    let folder = Folder::on(carrier);
    let mut listener = SessionListener::bind(folder.address(), setting.options()).unwrap();
    std::thread::scope(|scope| {
        let connect = || Script::client(raw::connect(&folder.address()), carrier, setting.client);
        let peer = scope.spawn(connect);
        let start = Stopwatch::start();
        let (shared, driver) = loop {
            if let Some(session) = listener.accept().unwrap() {
                break session;
            }
            assert!(!start.passed(PATIENCE), "nobody connects");
            std::thread::yield_now();
        };
        (Server { shared, driver }, peer.join().unwrap())
    })
}

/// A conversation: its name, its setting, and what both sides do.
type Conversation = (&'static str, Setting, fn(Server, &mut Script));

fn record(carrier: Carrier) -> Trace {
    let on_carrier = |setting: &Setting| carrier == Carrier::Shm || !setting.only_shm;
    let conversations = CONVERSATIONS.iter().filter(|(_, setting, _)| on_carrier(setting));
    let played = conversations.map(|(name, setting, play)| {
        let (server, mut peer) = open(carrier, setting);
        play(server, &mut peer);
        peer.reads_end();
        (*name, peer.into_lines())
    });
    played.collect()
}

#[test]
fn server_channel_on_shm_sends_recorded_entries() {
    compare("shared_server.shm", &SHM, record);
}

#[test]
fn server_channel_on_sockets_sends_recorded_entries() {
    compare("shared_server.socket", &SOCKETS, record);
}

fn now() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

#[track_caller]
fn ready<T>(poll: Poll<T>) -> T {
    match poll {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("it waits"),
    }
}

impl Server {
    fn turn(&mut self) {
        self.driver.ready(false);
        self.driver.turn();
    }

    /// Takes turns until it is there.
    #[track_caller]
    fn awaits<T>(&mut self, mut poll: impl FnMut(&Self, &mut Context<'_>) -> Poll<T>) -> T {
        let start = Stopwatch::start();
        loop {
            self.turn();
            if let Poll::Ready(outcome) = poll(self, &mut now()) {
                self.turn();
                return outcome;
            }
            assert!(!start.passed(PATIENCE), "it does not come");
            std::thread::yield_now();
        }
    }

    #[track_caller]
    fn accepts(&mut self) -> Incoming {
        self.awaits(|server, _| match server.shared.try_accept() {
            Some(incoming) => Poll::Ready(incoming),
            None => Poll::Pending,
        })
    }

    #[track_caller]
    fn call(&mut self) -> OwnedCall {
        match self.accepts() {
            Incoming::Call(call) => call,
            Incoming::Stream(..) => panic!("a stream"),
        }
    }

    #[track_caller]
    fn stream(&mut self) -> Stream {
        match self.accepts() {
            Incoming::Stream(_, stream) => stream,
            Incoming::Call(_) => panic!("a call"),
        }
    }

    /// Replies, and sends that.
    fn replies(&mut self, call: OwnedCall, bytes: &[u8]) {
        let _ = call.reply(bytes);
        self.turn();
    }

    #[track_caller]
    fn sends(&mut self, stream: &mut Stream, message: &[u8]) {
        ready(stream.sender().poll_send(&mut now(), message)).unwrap();
        self.turn();
    }

    #[track_caller]
    fn finishes(&mut self, stream: &mut Stream) {
        ready(stream.sender().poll_entry(&mut now(), None, None, true)).unwrap();
        self.turn();
    }

    #[track_caller]
    fn takes(&mut self, stream: &mut Stream) -> Result<Option<Message>, StreamError> {
        self.awaits(|_, cx| stream.receiver().poll_receive(cx))
    }

    /// Takes turns until the session is over.
    fn sees_end(&mut self) {
        self.awaits(|server, cx| match server.shared.poll_accept(cx) {
            Poll::Ready(Ok(None) | Err(_)) => Poll::Ready(()),
            Poll::Ready(Ok(Some(_))) | Poll::Pending => Poll::Pending,
        });
    }
}

const CONVERSATIONS: &[Conversation] = &[
    ("calls of up to 104 bytes", USUAL, |mut server, peer| {
        for (index, len) in [0, 1, 40, 41, 104].into_iter().enumerate() {
            peer.sends(Entry::request(2 * index as u32 + 1, METHOD, &pattern(1, len)));
            let _ = server.call().echo();
            server.turn();
            peer.reads(1);
        }
    }),
    ("lent requests", USUAL, |mut server, peer| {
        for (stream, len) in [(1, 105), (3, KIBIBYTE), (5, 64 * KIBIBYTE)] {
            peer.sends(Entry::request(stream, METHOD, &pattern(1, len)));
            let call = server.call();
            server.replies(call, b"taken");
            peer.reads(1);
            peer.notes_bits();
        }
    }),
    ("lent replies, released by their bits", USUAL, |mut server, peer| {
        for (stream, len) in [(1, 105), (3, KIBIBYTE), (5, 64 * KIBIBYTE), (7, KIBIBYTE)] {
            peer.sends(Entry::request(stream, METHOD, b"give"));
            let call = server.call();
            server.replies(call, &pattern(3, len));
            let reply = peer.reads(1);
            peer.releases(&reply);
        }
    }),
    ("lent replies, released in requests", USUAL, |mut server, peer| {
        let mut reply = Entry::default();
        for stream in [1, 3, 5] {
            peer.sends(Entry::request(stream, METHOD, b"give").releasing(&reply));
            let call = server.call();
            server.replies(call, &pattern(3, KIBIBYTE));
            reply = peer.reads(1);
        }
    }),
    ("lent both ways", USUAL, |mut server, peer| {
        let mut reply = Entry::default();
        for stream in [1, 3, 5] {
            let request = Entry::request(stream, METHOD, &pattern(1, KIBIBYTE));
            peer.sends(request.releasing(&reply));
            let _ = server.call().echo();
            server.turn();
            reply = peer.reads(1);
            peer.notes_bits();
        }
    }),
    ("reserved space, cut, given back and sent", USUAL, |mut server, peer| {
        peer.sends(Entry::request(1, METHOD, b"give"));
        let call = server.call();
        drop(call.try_reserve(KIBIBYTE).unwrap());
        let mut space = call.try_reserve(KIBIBYTE).unwrap();
        space.write(0, &pattern(4, KIBIBYTE));
        space.truncate(500);
        let _ = call.reply_space(space);
        server.turn();
        peer.reads(1);
    }),
    ("requests that are kept and dropped late, in another order", USUAL, |mut server, peer| {
        let mut kept = Vec::new();
        for stream in [1, 3, 5] {
            peer.sends(Entry::one_way(stream, METHOD, &pattern(1, KIBIBYTE)));
            kept.push(server.call().into_message());
            server.turn();
            peer.notes_bits();
        }
        for index in [1, 1, 0] {
            drop(kept.remove(index));
            server.turn();
            peer.notes_bits();
        }
    }),
    ("several calls in flight, answered in another order", USUAL, |mut server, peer| {
        for stream in [1, 3, 5, 7] {
            peer.sends(Entry::request(stream, METHOD, &pattern(stream as u8, 20)));
        }
        let mut calls: Vec<_> = (0..4).map(|_| server.call()).collect();
        for index in [2, 0, 1, 0] {
            let _ = calls.remove(index).echo();
            server.turn();
            peer.reads(1);
        }
    }),
    ("replies of one turn", USUAL, |mut server, peer| {
        for stream in [1, 3, 5] {
            peer.sends(Entry::request(stream, METHOD, b"call"));
        }
        let calls: Vec<_> = (0..3).map(|_| server.call()).collect();
        for (call, len) in calls.into_iter().zip([10, KIBIBYTE, 104]) {
            let _ = call.reply(pattern(2, len));
        }
        server.turn();
        peer.reads(3);
    }),
    ("a number is used again once its call has its reply", USUAL, |mut server, peer| {
        for _ in 0..3 {
            peer.sends(Entry::request(1, METHOD, b"again"));
            let _ = server.call().echo();
            server.turn();
            peer.reads(1);
        }
    }),
    ("calls that fail", USUAL, |mut server, peer| {
        let codes = [ErrorCode::Failed, ErrorCode::NoSuchMethod, ErrorCode::Application(404)];
        for (stream, code) in [1, 3, 5].into_iter().zip(codes) {
            peer.sends(Entry::request(stream, METHOD, b"call"));
            let _ = server.call().fail(code, "reason");
            server.turn();
            peer.reads(1);
        }
        peer.sends(Entry::request(7, METHOD, b"call"));
        let _ = server.call().fail(ErrorCode::Failed, "r".repeat(2000));
        server.turn();
        peer.reads(1);
        peer.sends(Entry::request(9, METHOD, b"call"));
        drop(server.call());
        server.turn();
        peer.reads(1);
    }),
    ("a reply beyond the cap", USUAL, |mut server, peer| {
        peer.sends(Entry::request(1, METHOD, b"call"));
        let call = server.call();
        server.replies(call, &pattern(1, (1 << 20) + 1));
        peer.reads(1);
        peer.sends(Entry::request(3, METHOD, b"next"));
        let _ = server.call().echo();
        server.turn();
        peer.reads(1);
    }),
    ("metadata", USUAL, |mut server, peer| {
        peer.sends(Entry::request(1, METHOD, b"request").metadata(b"block"));
        let call = server.call();
        assert_eq!(call.message().metadata(), Some(&b"block"[..]));
        let _ = call.reply_with_metadata(b"answer", b"reply");
        server.turn();
        peer.reads(1);
        peer.sends(Entry::request(3, METHOD, &pattern(1, 100)).metadata(&pattern(2, 64)));
        let _ = server.call().reply_with_metadata(&pattern(3, 64), &pattern(4, 100));
        server.turn();
        peer.reads(1);
        peer.sends(Entry::request(5, METHOD, b"request"));
        let error = server.call().reply_with_metadata(&pattern(3, 65), b"too long").unwrap_err();
        assert!(matches!(error, ReplyError::TooMuchMetadata { len: 65, limit: 64 }), "{error:?}");
        server.turn();
        peer.reads(1);
        peer.notes_bits();
    }),
    ("one-way messages and their acknowledgement", USUAL, |mut server, peer| {
        for stream in [1, 3] {
            peer.sends(Entry::one_way(stream, METHOD, b"message"));
            drop(server.call());
            server.turn();
        }
        peer.sends(Entry::one_way(5, METHOD, &pattern(1, 20 * KIBIBYTE)));
        peer.sends(Entry::one_way(7, METHOD, &pattern(2, 30 * KIBIBYTE)));
        let held = [server.call(), server.call()];
        peer.notes_bits();
        drop(held);
        server.turn();
        peer.notes_bits();
        peer.sends(Entry::request(9, METHOD, b"behind them"));
        let _ = server.call().echo();
        server.turn();
        peer.reads(1);
    }),
    ("1024 one-way messages, acknowledged as they are taken", USUAL, |mut server, peer| {
        peer.sends(Entry::one_way(1, METHOD, b"message"));
        for message in 1..1024 {
            drop(server.call());
            server.turn();
            peer.sends_alike(&Entry::one_way(1 + 2 * message, METHOD, b"message"));
        }
        drop(server.call());
        server.turn();
        peer.sends(Entry::request(1, METHOD, b"behind them"));
        let _ = server.call().echo();
        server.turn();
    }),
    ("memory grows with what is lent", ONLY_SHM, |mut server, peer| {
        for (stream, len) in [(1, KIBIBYTE), (3, 100 * KIBIBYTE), (5, 300 * KIBIBYTE)] {
            peer.sends(Entry::request(stream, METHOD, b"give"));
            let call = server.call();
            server.replies(call, &pattern(1, len));
            peer.reads(1);
        }
    }),
    ("a reply that waits for memory, and one that does not", LITTLE_MEMORY, |mut server, peer| {
        for stream in [1, 3, 5] {
            peer.sends(Entry::request(stream, METHOD, b"give"));
        }
        let mut calls: Vec<_> = (0..3).map(|_| server.call()).collect();
        server.replies(calls.remove(0), &pattern(1, 40 * KIBIBYTE));
        let first = peer.reads(1);
        server.replies(calls.remove(0), &pattern(2, 40 * KIBIBYTE));
        server.replies(calls.remove(0), b"small");
        peer.reads(1);
        peer.releases(&first);
        server.turn();
        peer.reads(1);
    }),
    ("a reply that waits for memory in vain", IMPATIENT, |mut server, peer| {
        for stream in [1, 3] {
            peer.sends(Entry::request(stream, METHOD, b"give"));
        }
        let (first, second) = (server.call(), server.call());
        server.replies(first, &pattern(1, 40 * KIBIBYTE));
        peer.reads(1);
        server.replies(second, &pattern(2, 40 * KIBIBYTE));
        let has_read = AtomicBool::new(false);
        let reads = |peer: &mut Script| {
            peer.reads(1);
            has_read.store(true, Ordering::Relaxed);
        };
        meanwhile(peer, reads, || {
            server.awaits(|_, _| match has_read.load(Ordering::Relaxed) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            });
        });
    }),
    ("requests with a time", USUAL, |mut server, peer| {
        peer.sends(Entry::request(1, METHOD, b"ten seconds").time(27_845));
        let call = server.call();
        assert!(call.time_left().is_some());
        server.replies(call, b"reply");
        peer.reads(1);
        peer.sends(Entry::request(3, METHOD, b"a microsecond").time(1));
        let call = server.call();
        while !call.is_cancelled() {}
        server.replies(call, b"late");
        peer.reads(1);
    }),
    ("calls that are cancelled", USUAL, |mut server, peer| {
        peer.sends(Entry::request(1, METHOD, b"call"));
        let call = server.call();
        peer.sends(Entry::cancel(1));
        server.awaits(|_, cx| call.poll_cancelled(cx));
        let _ = call.fail(ErrorCode::Cancelled, "cancelled");
        server.turn();
        peer.reads(1);
        peer.sends(Entry::request(3, METHOD, b"call"));
        let call = server.call();
        peer.sends(Entry::cancel(3));
        peer.sends(Entry::cancel(77));
        server.awaits(|_, cx| call.poll_cancelled(cx));
        server.replies(call, b"all the same");
        peer.reads(1);
    }),
    ("a stream both ways", USUAL, |mut server, peer| {
        peer.sends(Entry::open(1, METHOD, b"one"));
        let mut stream = server.stream();
        assert_eq!(server.takes(&mut stream).unwrap().unwrap().to_vec(), b"one");
        server.sends(&mut stream, b"two");
        server.sends(&mut stream, &pattern(1, 200));
        peer.reads(2);
        peer.sends(Entry::next(1, &pattern(2, 200)));
        assert_eq!(server.takes(&mut stream).unwrap().unwrap().to_vec(), pattern(2, 200));
        peer.notes_bits();
        peer.sends(Entry::fin(1));
        assert!(server.takes(&mut stream).unwrap().is_none());
        server.finishes(&mut stream);
        peer.reads(1);
        drop(stream);
        server.turn();
        peer.notes_bits();
    }),
    ("a stream of one entry each way", USUAL, |mut server, peer| {
        peer.sends(Entry::open(1, METHOD, b"asks").last());
        let mut stream = server.stream();
        server.takes(&mut stream).unwrap().unwrap();
        assert!(server.takes(&mut stream).unwrap().is_none());
        let answers = Some(&b"answers"[..]);
        ready(stream.sender().poll_entry(&mut now(), answers, None, true)).unwrap();
        server.turn();
        peer.reads(1);
    }),
    ("a stream with metadata", USUAL, |mut server, peer| {
        peer.sends(Entry::open(1, METHOD, b"first").metadata(b"open"));
        let mut stream = server.stream();
        let first = server.takes(&mut stream).unwrap().unwrap();
        assert_eq!(first.metadata(), Some(&b"open"[..]));
        peer.sends(Entry::fin(1).metadata(b"trailer"));
        server.takes(&mut stream).unwrap().unwrap();
        for (message, block, last) in
            [(Some(&b"message"[..]), b"header", false), (None, b"status", true)]
        {
            let sent = stream.sender().poll_entry(&mut now(), message, Some(block), last);
            ready(sent).unwrap();
            server.turn();
            peer.reads(1);
        }
    }),
    ("a stream whose client gives back the window", USUAL, |mut server, peer| {
        peer.sends(Entry::open(1, METHOD, b"open"));
        let mut stream = server.stream();
        for _ in 0..4 {
            server.sends(&mut stream, b"message");
        }
        assert!(stream.sender().try_send(b"no window").is_err_and(|error| error.is_full()));
        peer.reads(4);
        peer.sends(Entry::window(1, 2, 14));
        server.awaits(|_, cx| stream.sender().poll_send(cx, b"fifth")).unwrap();
        server.sends(&mut stream, &pattern(1, 2000));
        assert!(stream.sender().try_send(b"no window").is_err_and(|error| error.is_full()));
        peer.reads(2);
        peer.sends(Entry::window(1, 4, 2019));
        server.awaits(|_, cx| stream.sender().poll_send(cx, b"last")).unwrap();
        server.finishes(&mut stream);
        peer.reads(2);
    }),
    ("a stream whose server gives back the window", USUAL, |mut server, peer| {
        peer.sends(Entry::open(1, METHOD, &pattern(9, 100)));
        let mut stream = server.stream();
        server.takes(&mut stream).unwrap();
        for round in 0..3 {
            peer.sends(Entry::next(1, &pattern(round, 100)));
            server.takes(&mut stream).unwrap();
        }
        peer.reads(1);
        for round in 0..2 {
            peer.sends(Entry::next(1, &pattern(round, 110)));
        }
        for _ in 0..2 {
            server.takes(&mut stream).unwrap();
        }
        peer.notes_bits();
    }),
    ("streams that this side resets", USUAL, |mut server, peer| {
        peer.sends(Entry::open(1, METHOD, b"open"));
        server.stream().reset(ErrorCode::Application(7));
        server.turn();
        peer.reads(1);
        peer.sends(Entry::reset(1, 0x10007));
        peer.sends(Entry::open(3, METHOD, b"unread"));
        drop(server.stream());
        server.turn();
        peer.reads(1);
        peer.sends(Entry::reset(3, 5));
        peer.sends(Entry::open(5, METHOD, b"open"));
        let mut stream = server.stream();
        server.finishes(&mut stream);
        drop(stream);
        server.turn();
        peer.reads(2);
        peer.sends(Entry::reset(5, 5));
        peer.sends(Entry::request(7, METHOD, b"next"));
        let _ = server.call().echo();
        server.turn();
        peer.reads(1);
    }),
    ("streams that the client resets", USUAL, |mut server, peer| {
        peer.sends(Entry::open(1, METHOD, b"open"));
        let mut stream = server.stream();
        server.takes(&mut stream).unwrap();
        peer.sends(Entry::reset(1, 0x10007));
        let reset = server.takes(&mut stream);
        assert!(matches!(reset, Err(StreamError::Reset(ErrorCode::Application(7)))));
        peer.reads(1);
        peer.sends(Entry::open(3, METHOD, b"last").last());
        peer.sends(Entry::reset(3, 5));
        let mut stream = server.stream();
        assert_eq!(server.takes(&mut stream).unwrap().unwrap().to_vec(), b"last");
        peer.reads(1);
        peer.sends(Entry::request(5, METHOD, b"next"));
        let _ = server.call().echo();
        server.turn();
        peer.reads(1);
    }),
    ("a stream that the server opens", USUAL, |mut server, peer| {
        let open = server.shared.poll_open(&mut now(), 9, Some(b"open"));
        let mut stream = ready(open).unwrap();
        server.sends(&mut stream, b"asks");
        server.finishes(&mut stream);
        peer.reads(3);
        peer.sends(Entry::reply(2, b"answers"));
        assert_eq!(server.takes(&mut stream).unwrap().unwrap().to_vec(), b"answers");
        assert!(server.takes(&mut stream).unwrap().is_none());
    }),
    ("a server that goes away", USUAL, |mut server, peer| {
        peer.sends(Entry::request(1, METHOD, b"in flight"));
        let call = server.call();
        server.shared.go_away();
        server.turn();
        peer.reads(1);
        server.replies(call, b"served");
        peer.reads(1);
        peer.sends(Entry::request(3, METHOD, b"committed before"));
        let _ = server.call().echo();
        server.turn();
        peer.reads(1);
    }),
    ("a server that drains", USUAL, |mut server, peer| {
        peer.sends(Entry::request(1, METHOD, b"in flight"));
        let call = server.call();
        server.shared.drain(PATIENCE);
        server.turn();
        peer.reads(1);
        server.replies(call, b"served");
        peer.reads(1);
        server.sees_end();
    }),
    ("a server that drains for no time", USUAL, |mut server, peer| {
        peer.sends(Entry::open(1, METHOD, b"open"));
        let mut stream = server.stream();
        server.takes(&mut stream).unwrap();
        server.finishes(&mut stream);
        peer.reads(1);
        peer.sends(Entry::request(3, METHOD, b"begun"));
        let call = server.call();
        for entry in [
            Entry::request(5, METHOD, b"not begun"),
            Entry::one_way(7, METHOD, b"not begun"),
            Entry::open(9, METHOD, b"not begun"),
            Entry::reply(1, b"behind them"),
        ] {
            peer.sends(entry);
        }
        server.takes(&mut stream).unwrap();
        server.shared.drain(Duration::ZERO);
        server.sees_end();
        peer.reads(3);
        server.replies(call, b"served");
        peer.reads(1);
    }),
    ("a server that closes", USUAL, |mut server, peer| {
        peer.sends(Entry::request(1, METHOD, b"call"));
        let call = server.call();
        server.replies(call, b"served");
        peer.reads(1);
        server.shared.close();
        server.turn();
    }),
    ("a server that is dropped with a call and a stream", USUAL, |mut server, peer| {
        peer.sends(Entry::request(1, METHOD, b"call"));
        peer.sends(Entry::open(3, METHOD, b"open"));
        let _call = server.call();
        let _stream = server.stream();
        drop(server);
    }),
    ("a client that shuts down", USUAL, |mut server, peer| {
        peer.sends(Entry::request(1, METHOD, b"last"));
        peer.sends(Entry::shutdown());
        let _ = server.call().echo();
        server.turn();
        server.sees_end();
    }),
    ("a client that dies", USUAL, |mut server, peer| {
        peer.sends(Entry::request(1, METHOD, b"call"));
        let call = server.call();
        peer.ends();
        server.sees_end();
        drop(call);
    }),
    ("a client that uses a number twice", USUAL, |mut server, peer| {
        peer.sends(Entry::request(1, METHOD, b"call"));
        let _call = server.call();
        peer.sends(Entry::request(1, METHOD, b"again"));
        server.sees_end();
    }),
    ("a client that sends beyond the window", USUAL, |mut server, peer| {
        peer.sends(Entry::open(1, METHOD, b"open"));
        let _stream = server.stream();
        for _ in 0..4 {
            peer.sends(Entry::next(1, b"message"));
        }
        server.sees_end();
    }),
];

const LITTLE_MEMORY: Setting = Setting { cap: 64 << 10, only_shm: true, ..USUAL };
const IMPATIENT: Setting = Setting { reply_timeout: Duration::from_millis(1), ..LITTLE_MEMORY };
const ONLY_SHM: Setting = Setting { only_shm: true, ..USUAL };
