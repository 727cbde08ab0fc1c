//! An exclusive client, [`ExclusiveSession`], and a scripted server.

use std::time::Duration;

use breezeway::unstable::Tuning as _;
use breezeway::{CallError, Carrier, ErrorCode, ExclusiveSession, SessionOptions};

use super::script::{Entry, Offer, Script, meanwhile, pattern};
use super::{SHM, SOCKETS, Trace, compare};
use crate::support::{Folder, PATIENCE, raw};

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
    call_timeout: Option<Duration>,
    only_shm: bool,
}

const USUAL: Setting = Setting {
    server: Offer::PLAIN,
    ring: 64,
    cap: 1 << 20,
    under_way: 1 << 20,
    shrink_after: Duration::from_secs(3600),
    call_timeout: None,
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
            .call_timeout(self.call_timeout)
    }
}

fn open(carrier: Carrier, setting: &Setting) -> (ExclusiveSession, Script) {
    let folder = Folder::on(carrier);
    let listener = raw::listen(&folder.address());
    std::thread::scope(|scope| {
        let accept = || Script::server(listener.accept().unwrap(), carrier, setting.server);
        let peer = scope.spawn(accept);
        let client = ExclusiveSession::connect_with(folder.address(), &setting.options()).unwrap();
        (client, peer.join().unwrap())
    })
}

/// A conversation: its name, its setting, and what both sides do.
type Conversation = (&'static str, Setting, fn(ExclusiveSession, &mut Script));

fn record(carrier: Carrier) -> Trace {
    let on_carrier = |setting: &Setting| carrier == Carrier::Shm || !setting.only_shm;
    let conversations = CONVERSATIONS.iter().filter(|(_, setting, _)| on_carrier(setting));
    let played = conversations.map(|(name, setting, play)| {
        let (client, mut peer) = open(carrier, setting);
        play(client, &mut peer);
        peer.reads_end();
        (*name, peer.into_lines())
    });
    played.collect()
}

#[test]
fn session_on_shm_sends_recorded_entries() {
    compare("exclusive_client.shm", &SHM, record);
}

#[test]
fn session_on_sockets_sends_recorded_entries() {
    compare("exclusive_client.socket", &SOCKETS, record);
}

/// A call, and its reply.
fn calls(client: &mut ExclusiveSession, peer: &mut Script, request: &[u8], reply: &[u8]) {
    let answers = |peer: &mut Script| {
        let asked = peer.reads(1);
        peer.sends(Entry::reply(asked.stream, reply));
    };
    let received = meanwhile(peer, answers, || client.call(METHOD, request).unwrap().to_vec());
    assert_eq!(received, reply);
}

const CONVERSATIONS: &[Conversation] = &[
    ("calls of up to 104 bytes", USUAL, |mut client, peer| {
        for len in [0, 1, 40, 41, 104] {
            calls(&mut client, peer, &pattern(1, len), &pattern(2, len));
        }
    }),
    ("lent requests, released in replies", USUAL, |mut client, peer| {
        for len in [105, KIBIBYTE, 64 * KIBIBYTE, KIBIBYTE] {
            client.send(METHOD, &pattern(1, len)).unwrap();
            let asked = peer.reads(1);
            peer.sends(Entry::reply(asked.stream, b"taken").releasing(&asked));
            assert_eq!(client.receive().unwrap().to_vec(), b"taken");
        }
    }),
    ("lent replies, released in requests and at the end", USUAL, |mut client, peer| {
        for len in [105, KIBIBYTE, 64 * KIBIBYTE] {
            client.send(METHOD, b"give").unwrap();
            let asked = peer.reads(1);
            peer.sends(Entry::reply(asked.stream, &pattern(3, len)));
            assert_eq!(client.receive().unwrap().to_vec(), pattern(3, len));
        }
    }),
    ("lent both ways", USUAL, |mut client, peer| {
        for round in 0..3 {
            client.send(METHOD, &pattern(round, KIBIBYTE)).unwrap();
            let asked = peer.reads(1);
            peer.sends(Entry::reply(asked.stream, &pattern(9, KIBIBYTE)).releasing(&asked));
            assert_eq!(client.receive().unwrap().to_vec(), pattern(9, KIBIBYTE));
        }
    }),
    ("replies that are kept and dropped late, in another order", USUAL, |mut client, peer| {
        let mut kept = Vec::new();
        for round in 0..3 {
            client.send(METHOD, b"give").unwrap();
            let asked = peer.reads(1);
            peer.sends(Entry::reply(asked.stream, &pattern(round, KIBIBYTE)));
            kept.push(client.receive().unwrap().into_message());
            peer.notes_bits();
        }
        for index in [1, 1, 0] {
            drop(kept.remove(index));
            peer.notes_bits();
        }
        calls(&mut client, peer, b"last", b"reply");
        peer.notes_bits();
    }),
    ("reserved space, cut, given back and sent", USUAL, |mut client, peer| {
        _ = client.reserve(KIBIBYTE).unwrap();
        let mut space = client.reserve(KIBIBYTE).unwrap();
        space.write(0, &pattern(4, KIBIBYTE));
        space.truncate(500);
        space.send(METHOD).unwrap();
        let first = peer.reads(1);
        let mut space = client.reserve(40).unwrap();
        space.bytes_mut().copy_from_slice(&pattern(5, 40));
        space.post(METHOD).unwrap();
        peer.reads(1);
        peer.sends(Entry::reply(first.stream, b"taken").releasing(&first));
        client.receive().unwrap();
    }),
    ("a batch", USUAL, |mut client, peer| {
        let mut batch = client.batch();
        batch.send(METHOD, b"one").unwrap();
        batch.post(METHOD, b"two").unwrap();
        batch.send(METHOD + 1, &pattern(6, KIBIBYTE)).unwrap();
        batch.post(METHOD, &pattern(7, 104)).unwrap();
        batch.flush().unwrap();
        peer.reads(4);
        for stream in [1, 5] {
            peer.sends(Entry::reply(stream, b"served"));
            client.receive().unwrap();
        }
    }),
    ("several calls in flight, answered in order", USUAL, |mut client, peer| {
        for number in 0..4 {
            client.send(number, &pattern(8, 10)).unwrap();
        }
        peer.reads(4);
        for stream in [1, 3, 5, 7] {
            peer.sends(Entry::reply(stream, b"reply"));
        }
        for _ in 0..4 {
            client.receive().unwrap();
        }
    }),
    ("several calls in flight, answered in another order", USUAL, |mut client, peer| {
        for number in 0..4 {
            client.send(number, &pattern(8, 10)).unwrap();
        }
        peer.reads(4);
        for stream in [5, 1, 7, 3] {
            peer.sends(Entry::reply(stream, &pattern(1, KIBIBYTE)));
            client.receive().unwrap();
        }
        client.send(METHOD, b"next").unwrap();
        peer.reads(1);
        peer.sends(Entry::reply(9, b"reply"));
        client.receive().unwrap();
        peer.notes_bits();
    }),
    ("as many calls in flight as there may be", FEW_SLOTS, |mut client, peer| {
        for _ in 0..4 {
            client.send(METHOD, b"call").unwrap();
        }
        assert!(matches!(client.send(METHOD, b"call"), Err(CallError::TooManyInFlight(4))));
        client.post(METHOD, b"not in flight").unwrap();
        peer.reads(5);
        peer.sends(Entry::reply(1, b"reply"));
        client.receive().unwrap();
        client.send(METHOD, b"call").unwrap();
        peer.reads(1);
        for stream in [3, 5, 7, 11] {
            peer.sends(Entry::reply(stream, b"reply"));
            client.receive().unwrap();
        }
    }),
    ("calls that fail", USUAL, |mut client, peer| {
        let codes = [1, 2, 3, 4, 5, 6, 7, 8, 0x10000, 0x1ffff];
        for code in codes {
            client.send(METHOD, b"call").unwrap();
            let asked = peer.reads(1);
            let reason = if code == 2 { pattern(1, 200) } else { b"reason".to_vec() };
            peer.sends(Entry::failure(asked.stream, code, &reason));
            assert!(matches!(client.receive(), Err(CallError::Failed { .. })));
        }
        assert_eq!(ErrorCode::Application(0xffff).number(), 0x1ffff);
        peer.notes_bits();
    }),
    ("a request beyond the cap", USUAL, |mut client, peer| {
        let request = pattern(1, (1 << 20) + 1);
        assert!(matches!(client.send(METHOD, &request), Err(CallError::TooLarge { .. })));
        assert!(matches!(client.post(METHOD, &request), Err(CallError::TooLarge { .. })));
        calls(&mut client, peer, b"next", b"reply");
    }),
    ("one-way messages", USUAL, |mut client, peer| {
        for len in [0, 40, 41, 104, 105, KIBIBYTE] {
            client.post(METHOD, &pattern(1, len)).unwrap();
        }
        client.try_post(METHOD, b"tried").unwrap();
        peer.reads(7);
    }),
    ("one-way messages held back until one is released", THROTTLED, |mut client, peer| {
        // Without a release the next message waits for a moment, and takes other memory.
        client.post(METHOD, &pattern(1, 20 * KIBIBYTE)).unwrap();
        let first = peer.reads(1);
        peer.releases(&first);
        client.post(METHOD, &pattern(2, 20 * KIBIBYTE)).unwrap();
        peer.reads(1);
        client.post(METHOD, &pattern(3, 20 * KIBIBYTE)).unwrap();
        peer.reads(1);
    }),
    ("one-way messages in a full ring", FULL_RING, |mut client, peer| {
        for _ in 0..8 {
            client.try_post(METHOD, b"message").unwrap();
        }
        assert!(client.try_post(METHOD, b"too many").is_err_and(|error| error.is_full()));
        peer.reads(3);
        for _ in 0..3 {
            client.try_post(METHOD, b"after").unwrap();
        }
        assert!(client.try_post(METHOD, b"too many").is_err_and(|error| error.is_full()));
        peer.reads(8);
    }),
    ("a message that waits for memory", LITTLE_MEMORY, |mut client, peer| {
        client.post(METHOD, &pattern(1, 40 * KIBIBYTE)).unwrap();
        let first = peer.reads(1);
        let releases = |peer: &mut Script| peer.releases(&first);
        meanwhile(peer, releases, || client.post(METHOD, &pattern(2, 40 * KIBIBYTE)).unwrap());
        peer.reads(1);
        assert!(
            client.try_post(METHOD, &pattern(3, 40 * KIBIBYTE)).is_err_and(|error| error.is_full())
        );
        client.try_post(METHOD, &pattern(4, 20 * KIBIBYTE)).unwrap();
        peer.reads(1);
    }),
    ("memory grows with what is lent", ONLY_SHM, |mut client, peer| {
        for len in [KIBIBYTE, 100 * KIBIBYTE, 300 * KIBIBYTE] {
            client.post(METHOD, &pattern(1, len)).unwrap();
        }
        peer.reads(3);
    }),
    ("memory that is not needed any more goes", SHRINKING, |mut client, peer| {
        client.post(METHOD, &pattern(1, KIBIBYTE)).unwrap();
        client.post(METHOD, &pattern(2, 300 * KIBIBYTE)).unwrap();
        let large = peer.reads(2);
        peer.releases(&large);
        for _ in 0..15 {
            for _ in 0..60 {
                client.post(METHOD, b"small").unwrap();
            }
            peer.reads_alike(60);
        }
    }),
    ("calls with a time", TIMED, |mut client, peer| {
        calls(&mut client, peer, b"ten seconds", b"reply");
        client.set_call_timeout(Some(Duration::from_micros(2047)));
        client.send(METHOD, b"2047 us").unwrap();
        peer.reads(1);
        client.set_call_timeout(Some(Duration::from_secs(3600)));
        client.send(METHOD, b"an hour").unwrap();
        client.post(METHOD, b"no time").unwrap();
        client.set_call_timeout(None);
        client.send(METHOD, b"for ever").unwrap();
        peer.reads(3);
        for stream in [3, 5, 9] {
            peer.sends(Entry::reply(stream, b"reply"));
            client.receive().unwrap();
        }
    }),
    ("a reply that comes too late", USUAL, |mut client, peer| {
        client.set_call_timeout(Some(Duration::from_millis(1)));
        client.send(METHOD, b"late").unwrap();
        peer.reads(1);
        assert!(matches!(client.receive(), Err(CallError::DeadlinePassed)));
        client.set_call_timeout(None);
        client.send(METHOD, b"in time").unwrap();
        peer.reads(1);
        peer.sends(Entry::reply(1, &pattern(1, KIBIBYTE)));
        peer.sends(Entry::reply(3, &pattern(2, KIBIBYTE)));
        assert_eq!(client.receive().unwrap().to_vec(), pattern(2, KIBIBYTE));
        calls(&mut client, peer, b"last", b"reply");
        peer.notes_bits();
    }),
    ("a server that goes away", USUAL, |mut client, peer| {
        client.send(METHOD, b"in flight").unwrap();
        peer.reads(1);
        peer.sends(Entry::go_away());
        peer.sends(Entry::reply(1, b"served"));
        client.receive().unwrap();
        assert!(matches!(client.send(METHOD, b"new"), Err(CallError::GoingAway)));
        assert!(matches!(client.post(METHOD, b"new"), Err(CallError::GoingAway)));
    }),
    ("a server that shuts down", USUAL, |mut client, peer| {
        client.send(METHOD, b"in flight").unwrap();
        peer.reads(1);
        peer.sends(Entry::shutdown());
        peer.ends();
        assert!(matches!(client.receive(), Err(CallError::Closed)));
    }),
    ("a server that dies", USUAL, |mut client, peer| {
        client.send(METHOD, b"in flight").unwrap();
        peer.reads(1);
        peer.ends();
        assert!(matches!(client.receive(), Err(CallError::PeerDied)));
    }),
    ("a server that replies to no call", USUAL, |mut client, peer| {
        client.send(METHOD, b"in flight").unwrap();
        peer.reads(1);
        peer.sends(Entry::reply(3, b"to nothing"));
        assert!(matches!(client.receive(), Err(CallError::Violation(_))));
    }),
    ("resets and windows of no stream are ignored", USUAL, |mut client, peer| {
        client.send(METHOD, b"in flight").unwrap();
        peer.reads(1);
        peer.sends(Entry::reset(5, 5));
        peer.sends(Entry::window(7, 1, 10));
        peer.sends(Entry::reply(1, b"reply"));
        client.receive().unwrap();
    }),
    ("a session that ends with a reply in flight", USUAL, |mut client, peer| {
        client.send(METHOD, &pattern(1, KIBIBYTE)).unwrap();
        peer.reads(1);
        drop(client);
    }),
];

const FEW_SLOTS: Setting = Setting { ring: 8, server: Offer { ring: 8, ..Offer::PLAIN }, ..USUAL };
const THROTTLED: Setting = Setting { under_way: 32 << 10, ..USUAL };
const FULL_RING: Setting = Setting { only_shm: true, ..FEW_SLOTS };
const LITTLE_MEMORY: Setting = Setting { cap: 64 << 10, only_shm: true, ..USUAL };
const SHRINKING: Setting = Setting { shrink_after: Duration::ZERO, only_shm: true, ..USUAL };
const TIMED: Setting = Setting { call_timeout: Some(Duration::from_secs(10)), ..USUAL };
const ONLY_SHM: Setting = Setting { only_shm: true, ..USUAL };
