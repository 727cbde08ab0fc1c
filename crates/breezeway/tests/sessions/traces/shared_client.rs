//! A shared client, [`Session`], and a scripted server. A [`Driver`] takes its turns on this
//! thread.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use breezeway::unstable::Tuning as _;
use breezeway::{
    CallError, Carrier, Driver, ErrorCode, Message, PendingCall, Session, SessionOptions, Stream,
    StreamError, TrySendError,
};

use super::script::{Entry, Offer, Script, meanwhile, pattern};
use super::{SHM, SOCKETS, Trace, compare};
use crate::support::{Folder, PATIENCE, Stopwatch, raw};

const METHOD: u32 = 7;
const KIBIBYTE: usize = 1 << 10;

/// Options of both sides.
#[derive(Clone, Copy)]
struct Setting {
    server: Offer,
    ring: u32,
    cap: u64,
    under_way: u64,
    shrink_after: Duration,
    only_shm: bool,
}

const USUAL: Setting = Setting {
    server: Offer::STREAMS,
    ring: 64,
    cap: 1 << 20,
    under_way: 1 << 20,
    shrink_after: Duration::from_secs(3600),
    only_shm: false,
};

impl Setting {
    fn options(&self) -> SessionOptions {
        SessionOptions::new()
            .handshake_timeout(PATIENCE)
            .ring_capacity(self.ring)
            .cap(self.cap)
            .under_way(Some(self.under_way))
            .shrink_after(self.shrink_after)
            .max_streams(2)
            .stream_window(4, 1000)
            .max_metadata(64)
    }
}

/// A shared, with a driver that is dropped last.
struct Client {
    shared: Session,
    driver: Driver,
}

fn connect<T: Send>(
    carrier: Carrier,
    setting: &Setting,
    open: impl FnOnce(&breezeway::Address, &SessionOptions) -> T,
) -> (T, Script) {
    let folder = Folder::on(carrier);
    let listener = raw::listen(&folder.address());
    std::thread::scope(|scope| {
        let accept = || Script::server(listener.accept().unwrap(), carrier, setting.server);
        let peer = scope.spawn(accept);
        let client = open(&folder.address(), &setting.options());
        (client, peer.join().unwrap())
    })
}

/// A conversation: its name, its setting, and what both sides do.
type Conversation = (&'static str, Setting, fn(Client, &mut Script));

/// One that has no driver: threads that wait take the turns.
type Undriven = (&'static str, Setting, fn(Session, &mut Script));

fn record(carrier: Carrier) -> Trace {
    let on_carrier = |setting: &Setting| carrier == Carrier::Shm || !setting.only_shm;
    let mut trace = Trace::new();
    for (name, setting, play) in CONVERSATIONS.iter().filter(|(_, set, _)| on_carrier(set)) {
        let ((shared, driver), mut peer) = connect(carrier, setting, |address, options| {
            Session::connect_driven(address, options).unwrap()
        });
        play(Client { shared, driver }, &mut peer);
        peer.reads_end();
        trace.push((name, peer.into_lines()));
    }
    for (name, setting, play) in UNDRIVEN.iter().filter(|(_, set, _)| on_carrier(set)) {
        let (shared, mut peer) = connect(carrier, setting, |address, options| {
            Session::connect_with(address, options).unwrap()
        });
        play(shared, &mut peer);
        peer.reads_end();
        trace.push((name, peer.into_lines()));
    }
    trace
}

#[test]
fn channel_on_shm_sends_recorded_entries() {
    compare("shared_client.shm", &SHM, record);
}

#[test]
fn channel_on_sockets_sends_recorded_entries() {
    compare("shared_client.socket", &SOCKETS, record);
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

impl Client {
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
    fn begins(&mut self, metadata: Option<&[u8]>, request: &[u8]) -> PendingCall {
        self.begins_within(metadata, request, None)
    }

    #[track_caller]
    fn begins_within(
        &mut self,
        metadata: Option<&[u8]>,
        request: &[u8],
        time: Option<Duration>,
    ) -> PendingCall {
        let call = self.shared.poll_start_call(&mut now(), METHOD, metadata, request, time);
        let call = ready(call).unwrap();
        self.turn();
        call
    }

    #[track_caller]
    fn ends(&mut self, mut call: PendingCall) -> Result<Message, CallError> {
        self.awaits(|_, cx| Pin::new(&mut call).poll(cx))
    }

    /// A call, and its reply.
    #[track_caller]
    fn calls(&mut self, peer: &mut Script, request: &[u8], reply: &[u8]) {
        let call = self.begins(None, request);
        let asked = peer.reads(1);
        peer.sends(Entry::reply(asked.stream, reply));
        assert_eq!(self.ends(call).unwrap().to_vec(), reply);
    }

    #[track_caller]
    fn posts(&mut self, message: &[u8]) {
        self.shared.try_post(METHOD, message).unwrap();
        self.turn();
    }

    #[track_caller]
    fn opens(&mut self, metadata: Option<&[u8]>) -> Stream {
        let stream = ready(self.shared.poll_open(&mut now(), METHOD, metadata, None)).unwrap();
        self.turn();
        stream
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
}

const CONVERSATIONS: &[Conversation] = &[
    ("calls of up to 104 bytes", USUAL, |mut client, peer| {
        for len in [0, 1, 40, 41, 104] {
            client.calls(peer, &pattern(1, len), &pattern(2, len));
        }
    }),
    ("lent requests, released in replies", USUAL, |mut client, peer| {
        for len in [105, KIBIBYTE, 64 * KIBIBYTE, KIBIBYTE] {
            let call = client.begins(None, &pattern(1, len));
            let asked = peer.reads(1);
            peer.sends(Entry::reply(asked.stream, b"taken").releasing(&asked));
            client.ends(call).unwrap();
        }
    }),
    ("lent replies", USUAL, |mut client, peer| {
        for len in [105, KIBIBYTE, 64 * KIBIBYTE] {
            client.calls(peer, b"give", &pattern(3, len));
            peer.notes_bits();
        }
    }),
    ("lent both ways", USUAL, |mut client, peer| {
        for round in 0..3 {
            let call = client.begins(None, &pattern(round, KIBIBYTE));
            let asked = peer.reads(1);
            peer.sends(Entry::reply(asked.stream, &pattern(9, KIBIBYTE)).releasing(&asked));
            client.ends(call).unwrap();
            peer.notes_bits();
        }
    }),
    ("replies that are kept and dropped late, in another order", USUAL, |mut client, peer| {
        let mut kept = Vec::new();
        for round in 0..3 {
            let call = client.begins(None, b"give");
            let asked = peer.reads(1);
            peer.sends(Entry::reply(asked.stream, &pattern(round, KIBIBYTE)));
            kept.push(client.ends(call).unwrap());
            peer.notes_bits();
        }
        for index in [1, 1, 0] {
            drop(kept.remove(index));
            client.turn();
            peer.notes_bits();
        }
        client.calls(peer, b"last", b"reply");
        peer.notes_bits();
    }),
    ("reserved space, cut, given back and sent", USUAL, |mut client, peer| {
        drop(client.shared.try_reserve(KIBIBYTE).unwrap());
        let mut space = client.shared.try_reserve(KIBIBYTE).unwrap();
        space.write(0, &pattern(4, KIBIBYTE));
        space.truncate(500);
        let started = client.shared.poll_start_call_space(&mut now(), METHOD, &mut space, None);
        let call = ready(started).unwrap();
        client.turn();
        let asked = peer.reads(1);
        let mut space = client.shared.try_reserve(40).unwrap();
        space.bytes_mut().copy_from_slice(&pattern(5, 40));
        ready(client.shared.poll_post_space(&mut now(), METHOD, &mut space)).unwrap();
        client.turn();
        peer.reads(1);
        peer.sends(Entry::reply(asked.stream, b"taken").releasing(&asked));
        client.ends(call).unwrap();
    }),
    ("entries of one turn", USUAL, |mut client, peer| {
        let first = client.shared.poll_start_call(&mut now(), 1, None, b"one", None);
        let first = ready(first).unwrap();
        client.shared.try_post(2, b"two").unwrap();
        let bytes = pattern(6, KIBIBYTE);
        let second = client.shared.poll_start_call(&mut now(), 3, None, &bytes, None);
        let second = ready(second).unwrap();
        client.turn();
        peer.reads(3);
        peer.sends(Entry::reply(1, b"served"));
        peer.sends(Entry::window(0, 1, 3));
        peer.sends(Entry::reply(5, b"served"));
        client.ends(second).unwrap();
        client.ends(first).unwrap();
    }),
    ("several calls in flight, answered in order", USUAL, |mut client, peer| {
        let calls: Vec<_> = (0..4).map(|_| client.begins(None, &pattern(8, 10))).collect();
        peer.reads(4);
        for stream in [1, 3, 5, 7] {
            peer.sends(Entry::reply(stream, b"reply"));
        }
        for call in calls {
            client.ends(call).unwrap();
        }
    }),
    ("several calls in flight, answered in another order", USUAL, |mut client, peer| {
        let mut calls: Vec<_> = (0..4).map(|_| client.begins(None, &pattern(8, 10))).collect();
        peer.reads(4);
        for (stream, index) in [(5, 2), (1, 0), (7, 1), (3, 0)] {
            peer.sends(Entry::reply(stream, &pattern(1, KIBIBYTE)));
            client.ends(calls.remove(index)).unwrap();
            peer.notes_bits();
        }
        client.calls(peer, b"next", b"reply");
        peer.notes_bits();
    }),
    ("as many calls in flight as there may be", FEW_SLOTS, |mut client, peer| {
        let mut calls: Vec<_> = (0..4).map(|_| client.begins(None, b"call")).collect();
        let fifth = client.shared.poll_start_call(&mut now(), METHOD, None, b"call", None);
        assert!(fifth.is_pending());
        client.posts(b"not in flight");
        peer.reads(5);
        peer.sends(Entry::reply(1, b"reply"));
        client.ends(calls.remove(0)).unwrap();
        calls.push(client.begins(None, b"call"));
        peer.reads(1);
        for stream in [3, 5, 7, 11] {
            peer.sends(Entry::reply(stream, b"reply"));
            client.ends(calls.remove(0)).unwrap();
        }
    }),
    ("calls that fail", USUAL, |mut client, peer| {
        for code in [1, 2, 3, 4, 5, 6, 7, 8, 0x10000, 0x1ffff] {
            let call = client.begins(None, b"call");
            let asked = peer.reads(1);
            let reason = if code == 2 { pattern(1, 200) } else { b"reason".to_vec() };
            peer.sends(Entry::failure(asked.stream, code, &reason));
            assert!(matches!(client.ends(call), Err(CallError::Failed { .. })));
        }
        peer.notes_bits();
    }),
    ("a request beyond the cap", USUAL, |mut client, peer| {
        let request = pattern(1, (1 << 20) + 1);
        let refused = client.shared.try_post(METHOD, &request);
        assert!(matches!(refused, Err(TrySendError::Failed(CallError::TooLarge { .. }))));
        let refused = client.shared.poll_start_call(&mut now(), METHOD, None, &request, None);
        assert!(matches!(refused, Poll::Ready(Err(CallError::TooLarge { .. }))));
        client.calls(peer, b"next", b"reply");
    }),
    ("metadata", USUAL, |mut client, peer| {
        let call = client.begins(Some(b"block"), b"request");
        peer.reads(1);
        peer.sends(Entry::reply(1, b"reply").metadata(b"answer"));
        assert_eq!(client.ends(call).unwrap().metadata(), Some(&b"answer"[..]));
        let call = client.begins(Some(&pattern(1, 64)), &pattern(2, 100));
        let asked = peer.reads(1);
        peer.sends(Entry::reply(3, &pattern(3, 100)).metadata(b"answer").releasing(&asked));
        client.ends(call).unwrap();
        let block = pattern(1, 65);
        let long = client.shared.poll_start_call(&mut now(), METHOD, Some(&block), b"", None);
        assert!(matches!(long, Poll::Ready(Err(CallError::TooMuchMetadata { .. }))));
        peer.notes_bits();
    }),
    ("calls and streams with a time", USUAL, |mut client, peer| {
        let times = [Duration::from_micros(2047), Duration::from_secs(10)];
        for time in times {
            let call = client.begins_within(None, b"call", Some(time));
            let asked = peer.reads(1);
            peer.sends(Entry::reply(asked.stream, b"reply"));
            client.ends(call).unwrap();
        }
        let open = client.shared.poll_open(&mut now(), METHOD, None, Some(times[1]));
        let mut stream = ready(open).unwrap();
        client.finishes(&mut stream);
        peer.reads(2);
        peer.sends(Entry::fin(5));
        assert!(client.takes(&mut stream).unwrap().is_none());
    }),
    ("calls that are cancelled", USUAL, |mut client, peer| {
        drop(client.begins(None, b"given up"));
        client.turn();
        peer.reads(2);
        peer.sends(Entry::failure(1, 5, b"cancelled"));
        drop(client.begins(None, &pattern(1, KIBIBYTE)));
        client.turn();
        let asked = peer.reads(1);
        peer.reads(1);
        peer.sends(Entry::reply(3, &pattern(2, KIBIBYTE)).releasing(&asked));
        client.calls(peer, b"next", b"reply");
        peer.notes_bits();
    }),
    ("a call that is cancelled behind its reply", USUAL, |mut client, peer| {
        let call = client.begins(None, b"call");
        peer.reads(1);
        peer.sends(Entry::reply(1, b"reply"));
        client.awaits(|client, _| match client.shared.stats().totals.ends_received {
            0 => Poll::Pending,
            _ => Poll::Ready(()),
        });
        drop(call);
        client.calls(peer, b"next", b"reply");
    }),
    ("one-way messages and their acknowledgement", LITTLE_CAP, |mut client, peer| {
        // The window is as large as the cap, and a message may start while some of it is left.
        client.posts(b"small");
        client.posts(&pattern(1, 200));
        let lent = peer.reads(2);
        peer.sends(Entry::window(0, 2, 205));
        peer.releases(&lent);
        client.turn();
        for len in [40_000, 25_536] {
            client.posts(&pattern(2, len));
            let lent = peer.reads(1);
            peer.releases(&lent);
        }
        assert!(client.shared.try_post(METHOD, b"no window").is_err_and(|error| error.is_full()));
        peer.sends(Entry::window(0, 1, 40_000));
        client.awaits(|client, _| match client.shared.try_post(METHOD, b"after") {
            Ok(()) => Poll::Ready(()),
            Err(TrySendError::Full(_)) => Poll::Pending,
            Err(error) => panic!("{error}"),
        });
        peer.reads(1);
    }),
    ("1024 one-way messages without an acknowledgement", USUAL, |mut client, peer| {
        for _ in 0..32 {
            for _ in 0..32 {
                client.posts(b"message");
            }
            peer.reads_alike(32);
            client.turn();
        }
        assert!(client.shared.try_post(METHOD, b"no window").is_err_and(|error| error.is_full()));
        peer.sends(Entry::window(0, 1024, 7 * 1024));
        client.awaits(|client, _| match client.shared.try_post(METHOD, b"after") {
            Ok(()) => Poll::Ready(()),
            Err(TrySendError::Full(_)) => Poll::Pending,
            Err(error) => panic!("{error}"),
        });
        peer.reads(1);
    }),
    ("memory grows with what is lent", ONLY_SHM, |mut client, peer| {
        for len in [KIBIBYTE, 100 * KIBIBYTE, 300 * KIBIBYTE] {
            client.posts(&pattern(1, len));
        }
        peer.reads(3);
    }),
    ("memory that is not needed any more goes", SHRINKING, |mut client, peer| {
        client.posts(&pattern(1, KIBIBYTE));
        client.posts(&pattern(2, 300 * KIBIBYTE));
        let large = peer.reads(2);
        peer.releases(&large);
        for _ in 0..15 {
            for _ in 0..60 {
                client.posts(b"small");
            }
            peer.reads_alike(60);
        }
    }),
    ("a request that waits for memory", LITTLE_MEMORY, |mut client, peer| {
        client.posts(&pattern(1, 40 * KIBIBYTE));
        let first = peer.reads(1);
        let bytes = pattern(2, 40 * KIBIBYTE);
        let waits = client.shared.poll_start_call(&mut now(), METHOD, None, &bytes, None);
        assert!(waits.is_pending());
        client.turn();
        client.posts(b"small");
        peer.reads(1);
        peer.releases(&first);
        let call = client
            .awaits(|client, cx| client.shared.poll_start_call(cx, METHOD, None, &bytes, None));
        let asked = peer.reads(1);
        peer.sends(Entry::reply(asked.stream, b"reply"));
        client.ends(call.unwrap()).unwrap();
    }),
    ("a stream both ways", USUAL, |mut client, peer| {
        let mut stream = client.opens(None);
        client.sends(&mut stream, b"one");
        client.sends(&mut stream, &pattern(1, 200));
        peer.reads(3);
        peer.sends(Entry::next(1, b"two"));
        assert_eq!(client.takes(&mut stream).unwrap().unwrap().to_vec(), b"two");
        peer.sends(Entry::next(1, &pattern(2, 200)));
        assert_eq!(client.takes(&mut stream).unwrap().unwrap().to_vec(), pattern(2, 200));
        peer.notes_bits();
        client.finishes(&mut stream);
        peer.reads(1);
        peer.sends(Entry::fin(1));
        assert!(client.takes(&mut stream).unwrap().is_none());
        drop(stream);
        client.turn();
        peer.notes_bits();
    }),
    ("a stream of one entry each way", USUAL, |mut client, peer| {
        let (message, cx) = (Some(&b"asks"[..]), &mut now());
        let open = client.shared.poll_open_with(cx, METHOD, None, message, true, None);
        let mut stream = ready(open).unwrap();
        client.turn();
        peer.reads(1);
        peer.sends(Entry::reply(1, b"answers"));
        assert_eq!(client.takes(&mut stream).unwrap().unwrap().to_vec(), b"answers");
        assert!(client.takes(&mut stream).unwrap().is_none());
    }),
    ("a stream with metadata", USUAL, |mut client, peer| {
        let mut stream = client.opens(Some(b"open"));
        let sent = stream.sender().poll_entry(&mut now(), Some(b"last"), Some(b"trailer"), true);
        ready(sent).unwrap();
        client.turn();
        peer.reads(2);
        peer.sends(Entry::next(1, b"first").metadata(b"header"));
        let first = client.takes(&mut stream).unwrap().unwrap();
        assert_eq!(first.metadata(), Some(&b"header"[..]));
        peer.sends(Entry::fin(1).metadata(b"status"));
        let last = client.takes(&mut stream).unwrap().unwrap();
        assert_eq!(last.metadata(), Some(&b"status"[..]));
        assert!(client.takes(&mut stream).unwrap().is_none());
    }),
    ("a stream whose server gives back the window", USUAL, |mut client, peer| {
        let mut stream = client.opens(None);
        for _ in 0..4 {
            client.sends(&mut stream, b"message");
        }
        assert!(stream.sender().try_send(b"no window").is_err_and(|error| error.is_full()));
        peer.reads(5);
        peer.sends(Entry::window(1, 2, 14));
        client.awaits(|_, cx| stream.sender().poll_send(cx, b"fifth")).unwrap();
        client.sends(&mut stream, &pattern(1, 2000));
        assert!(stream.sender().try_send(b"no window").is_err_and(|error| error.is_full()));
        peer.reads(2);
        peer.sends(Entry::window(1, 4, 2019));
        client.awaits(|_, cx| stream.sender().poll_send(cx, b"last")).unwrap();
        client.finishes(&mut stream);
        peer.reads(2);
        peer.sends(Entry::fin(1));
        assert!(client.takes(&mut stream).unwrap().is_none());
    }),
    ("a stream whose client gives back the window", USUAL, |mut client, peer| {
        let mut stream = client.opens(None);
        peer.reads(1);
        for round in 0..4 {
            peer.sends(Entry::next(1, &pattern(round, 100)));
            client.takes(&mut stream).unwrap();
        }
        let noted = peer.reads(1);
        assert_eq!(noted.stream, 1);
        for round in 0..4 {
            peer.sends(Entry::next(1, &pattern(round, 110)));
        }
        for _ in 0..4 {
            client.takes(&mut stream).unwrap();
        }
        peer.notes_bits();
    }),
    ("messages of a stream that are kept", USUAL, |mut client, peer| {
        let mut stream = client.opens(None);
        peer.reads(1);
        peer.sends(Entry::next(1, &pattern(1, 200)));
        peer.sends(Entry::next(1, &pattern(2, 300)));
        let first = client.takes(&mut stream).unwrap();
        let second = client.takes(&mut stream).unwrap();
        peer.notes_bits();
        drop(second);
        client.turn();
        peer.notes_bits();
        drop(first);
        client.turn();
        peer.notes_bits();
    }),
    ("streams that this side resets", USUAL, |mut client, peer| {
        let stream = client.opens(None);
        stream.reset(ErrorCode::Application(7));
        client.turn();
        peer.reads(2);
        peer.sends(Entry::reset(1, 0x10007));
        client.turn();
        let mut stream = client.opens(None);
        client.sends(&mut stream, b"unread");
        drop(stream);
        client.turn();
        peer.reads(3);
        peer.sends(Entry::reset(3, 5));
        client.turn();
        let mut stream = client.opens(None);
        client.finishes(&mut stream);
        drop(stream);
        client.turn();
        peer.reads(3);
        peer.sends(Entry::reset(5, 5));
        client.calls(peer, b"next", b"reply");
    }),
    ("a stream that the server resets", USUAL, |mut client, peer| {
        let mut stream = client.opens(None);
        client.sends(&mut stream, b"message");
        peer.reads(2);
        peer.sends(Entry::reset(1, 0x10007));
        let reset = client.takes(&mut stream);
        assert!(matches!(reset, Err(StreamError::Reset(ErrorCode::Application(7)))));
        peer.reads(1);
        drop(stream);
        client.calls(peer, b"next", b"reply");
    }),
    ("a stream that the server resets behind its last message", USUAL, |mut client, peer| {
        let mut stream = client.opens(None);
        peer.reads(1);
        peer.sends(Entry::reply(1, b"last"));
        peer.sends(Entry::reset(1, 5));
        assert_eq!(client.takes(&mut stream).unwrap().unwrap().to_vec(), b"last");
        peer.reads(1);
        drop(stream);
        client.calls(peer, b"next", b"reply");
    }),
    ("as many streams as the server allows", USUAL, |mut client, peer| {
        let streams = [client.opens(None), client.opens(None)];
        let third = client.shared.poll_open(&mut now(), METHOD, None, None);
        assert!(matches!(third, Poll::Ready(Err(StreamError::TooMany(2)))));
        peer.reads(2);
        drop(streams);
        client.turn();
        peer.reads(2);
    }),
    ("a stream that the server opens", USUAL, |mut client, peer| {
        peer.sends(Entry::open(2, 9, b"asks"));
        let (method, mut stream) =
            client.awaits(|client, cx| client.shared.poll_accept(cx)).unwrap();
        assert_eq!(method, 9);
        assert_eq!(client.takes(&mut stream).unwrap().unwrap().to_vec(), b"asks");
        client.sends(&mut stream, b"answers");
        client.finishes(&mut stream);
        peer.reads(2);
        peer.sends(Entry::fin(2));
        assert!(client.takes(&mut stream).unwrap().is_none());
    }),
    ("calls between messages of streams", USUAL, |mut client, peer| {
        let mut one = client.opens(None);
        let call = client.begins(None, b"call");
        let mut other = client.opens(None);
        client.sends(&mut other, b"other");
        client.sends(&mut one, b"one");
        client.posts(b"post");
        peer.reads(6);
        peer.sends(Entry::next(5, b"to the other"));
        peer.sends(Entry::reply(3, b"reply"));
        peer.sends(Entry::fin(5));
        client.ends(call).unwrap();
        client.takes(&mut other).unwrap();
        client.finishes(&mut other);
        peer.reads(1);
    }),
    ("a server that goes away", USUAL, |mut client, peer| {
        let call = client.begins(None, b"in flight");
        let mut stream = client.opens(None);
        peer.reads(2);
        peer.sends(Entry::go_away());
        peer.sends(Entry::reply(1, b"served"));
        client.ends(call).unwrap();
        let refused = client.shared.poll_start_call(&mut now(), METHOD, None, b"new", None);
        assert!(matches!(refused, Poll::Ready(Err(CallError::GoingAway))));
        assert!(matches!(
            client.shared.try_post(METHOD, b"new"),
            Err(TrySendError::Failed(CallError::GoingAway))
        ));
        client.sends(&mut stream, b"goes on");
        client.finishes(&mut stream);
        peer.reads(2);
        peer.sends(Entry::fin(3));
        assert!(client.takes(&mut stream).unwrap().is_none());
    }),
    ("a server that shuts down", USUAL, |mut client, peer| {
        let call = client.begins(None, b"in flight");
        peer.reads(1);
        peer.sends(Entry::shutdown());
        peer.ends();
        assert!(client.ends(call).is_err());
    }),
    ("a server that dies", USUAL, |mut client, peer| {
        let call = client.begins(None, b"in flight");
        peer.reads(1);
        peer.ends();
        assert!(client.ends(call).is_err());
    }),
    ("a server that replies to no call", USUAL, |mut client, peer| {
        let call = client.begins(None, b"in flight");
        peer.reads(1);
        peer.sends(Entry::reply(3, b"to nothing"));
        assert!(client.ends(call).is_err());
    }),
    ("a session that is closed with a call and a stream", USUAL, |mut client, peer| {
        let call = client.begins(None, b"in flight");
        let mut stream = client.opens(None);
        client.sends(&mut stream, b"message");
        client.shared.close();
        client.turn();
        peer.reads(3);
        assert!(client.ends(call).is_err());
    }),
];

const UNDRIVEN: &[Undriven] = &[
    ("calls of a thread", USUAL, |shared, peer| {
        for (request, reply) in [(5, 5), (104, KIBIBYTE), (KIBIBYTE, 104), (64 * KIBIBYTE, 1)] {
            let answers = |peer: &mut Script| {
                let asked = peer.reads(1);
                peer.sends(Entry::reply(asked.stream, &pattern(2, reply)).releasing(&asked));
            };
            let calls = || shared.call(METHOD, &pattern(1, request)).unwrap().to_vec();
            assert_eq!(meanwhile(peer, answers, calls), pattern(2, reply));
        }
    }),
    ("a thread's one-way messages, held back until one is released", THROTTLED, |shared, peer| {
        shared.post(METHOD, &pattern(1, 20 * KIBIBYTE)).unwrap();
        let first = peer.reads(1);
        peer.releases(&first);
        shared.post(METHOD, &pattern(2, 20 * KIBIBYTE)).unwrap();
        peer.reads(1);
        shared.post(METHOD, &pattern(3, 20 * KIBIBYTE)).unwrap();
        peer.reads(1);
    }),
    ("a thread's stream", USUAL, |shared, peer| {
        let mut stream = shared.request(METHOD).metadata(b"open").open().unwrap();
        stream.send(b"one").unwrap();
        peer.reads(2);
        peer.sends(Entry::next(1, b"two"));
        assert_eq!(stream.receive().unwrap().unwrap().to_vec(), b"two");
        stream.finish().unwrap();
        peer.reads(1);
        peer.sends(Entry::fin(1));
        assert!(stream.receive().unwrap().is_none());
    }),
];

const FEW_SLOTS: Setting =
    Setting { ring: 8, server: Offer { ring: 8, ..Offer::STREAMS }, ..USUAL };
const THROTTLED: Setting = Setting { under_way: 32 << 10, ..USUAL };
const LITTLE_CAP: Setting = Setting { server: Offer { cap: 64 << 10, ..Offer::STREAMS }, ..USUAL };
const LITTLE_MEMORY: Setting = Setting { cap: 64 << 10, only_shm: true, ..USUAL };
const SHRINKING: Setting = Setting { shrink_after: Duration::ZERO, only_shm: true, ..USUAL };
const ONLY_SHM: Setting = Setting { only_shm: true, ..USUAL };
