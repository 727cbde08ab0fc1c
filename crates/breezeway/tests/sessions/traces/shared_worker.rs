//! A server's worker with shared sessions, and a scripted client that takes streams.

use breezeway::{Carrier, ErrorCode};

use super::exclusive_server::{
    CUT, Conversation, DEFER, ECHO, FAIL, PANIC, REFUSE, SINK, Setting, UNKNOWN, USUAL, give,
    record,
};
use super::script::{Entry, Offer, pattern};
use super::{SHM, SOCKETS, Trace, compare};

const KIBIBYTE: usize = 1 << 10;
const STREAMS: Setting = Setting { client: Offer::STREAMS, ..USUAL };

fn record_all(carrier: Carrier) -> Trace {
    let mut trace = record(CONVERSATIONS, false, carrier);
    trace.extend(record(STOPPED, true, carrier));
    trace
}

#[test]
fn shared_sessions_of_worker_on_shm_send_recorded_entries() {
    compare("shared_worker.shm", &SHM, record_all);
}

#[test]
fn shared_sessions_of_worker_on_sockets_send_recorded_entries() {
    compare("shared_worker.socket", &SOCKETS, record_all);
}

const CONVERSATIONS: &[Conversation] = &[
    ("calls of up to 104 bytes", STREAMS, |_, peer| {
        for (index, len) in [0, 1, 40, 41, 104].into_iter().enumerate() {
            peer.sends(Entry::request(2 * index as u32 + 1, ECHO, &pattern(1, len)));
            peer.reads(1);
        }
    }),
    ("lent requests", STREAMS, |_, peer| {
        for (stream, len) in [(1, 105), (3, KIBIBYTE), (5, 64 * KIBIBYTE)] {
            peer.sends(Entry::request(stream, SINK, &pattern(1, len)));
            peer.reads(1);
            peer.awaits_bit();
        }
    }),
    ("lent replies", STREAMS, |_, peer| {
        for (stream, len) in [(1, 105), (3, KIBIBYTE), (5, 64 * KIBIBYTE), (7, KIBIBYTE)] {
            peer.sends(give(stream, len));
            let reply = peer.reads(1);
            peer.releases(&reply);
        }
    }),
    ("a reply that is cut", STREAMS, |_, peer| {
        peer.sends(Entry::request(1, CUT, &pattern(1, 60)));
        peer.reads(1);
        peer.sends(Entry::request(3, CUT, &pattern(1, 2 * KIBIBYTE)));
        peer.reads(1);
        peer.awaits_bit();
    }),
    ("several calls in flight", STREAMS, |_, peer| {
        for stream in [1, 3, 5, 7] {
            peer.sends(Entry::request(stream, ECHO, &pattern(stream as u8, 20)));
        }
        peer.reads(4);
    }),
    ("calls that fail", STREAMS, |_, peer| {
        for (stream, method) in [(1, FAIL), (3, PANIC), (5, UNKNOWN), (7, REFUSE), (9, ECHO)] {
            peer.sends(Entry::request(stream, method, b"call"));
            peer.reads(1);
        }
    }),
    ("a reply beyond the cap", STREAMS, |_, peer| {
        peer.sends(give(1, (1 << 20) + 1));
        peer.reads(1);
    }),
    ("replies of calls that were deferred, in another order", STREAMS, |server, peer| {
        let mut deferred = Vec::new();
        for (stream, len) in [(1, 5), (3, 20), (5, 104)] {
            peer.sends(Entry::request(stream, DEFER, &pattern(1, len)));
            deferred.push(server.deferred());
        }
        peer.sends(Entry::request(7, ECHO, b"meanwhile"));
        peer.reads(1);
        deferred.remove(2).reply(pattern(5, KIBIBYTE)).unwrap();
        peer.reads(1);
        deferred.remove(0).fail(ErrorCode::Failed, "later").unwrap();
        peer.reads(1);
        deferred.remove(0).echo().unwrap();
        peer.reads(1);
    }),
    ("one-way messages", STREAMS, |_, peer| {
        for (stream, method) in [(1, SINK), (3, FAIL), (5, PANIC), (7, ECHO), (9, UNKNOWN)] {
            peer.sends(Entry::one_way(stream, method, b"message"));
        }
        peer.sends(Entry::request(11, ECHO, b"behind them"));
        peer.reads(1);
        peer.sends(Entry::one_way(13, SINK, &pattern(1, KIBIBYTE)));
        peer.awaits_bit();
    }),
    ("metadata, which an echo leaves out", STREAMS, |_, peer| {
        peer.sends(Entry::request(1, ECHO, b"request").metadata(b"block"));
        peer.reads(1);
    }),
    // A second message would give back some of the window, by the worker or by the stream's thread.
    ("a stream that is echoed", STREAMS, |_, peer| {
        peer.sends(Entry::open(1, ECHO, b"one"));
        peer.reads(1);
        peer.sends(Entry::fin(1));
        peer.reads(1);
    }),
    ("a client that resets its stream", STREAMS, |_, peer| {
        peer.sends(Entry::open(1, ECHO, b"one"));
        peer.reads(1);
        peer.sends(Entry::reset(1, 5));
        peer.reads(1);
    }),
];

/// Conversations that the server ends.
const STOPPED: &[Conversation] = &[
    ("a server that stops", STREAMS, |server, peer| {
        peer.sends(Entry::request(1, ECHO, b"call"));
        peer.reads(1);
        server.stops();
    }),
    ("a server that stops with a call in flight", STREAMS, |server, peer| {
        peer.sends(Entry::request(1, DEFER, b"call"));
        let deferred = server.deferred();
        server.stops();
        peer.reads(1);
        deferred.reply("served").unwrap();
        peer.reads(1);
    }),
    ("a client that replies", STREAMS, |_, peer| {
        peer.sends(Entry::reply(1, b"to nothing"));
    }),
];
