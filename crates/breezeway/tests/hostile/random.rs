//! Everything at once, by chance: random steps of the protocol, and random bytes changed between
//! them and meanwhile. The seed is printed; `BREEZEWAY_HOSTILE_SEED` repeats one (as far as two
//! processes can be repeated), `BREEZEWAY_HOSTILE_SECONDS` makes the run longer.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{ServerOptions, Session, WaitPolicy};
use breezeway_adversary::memfd;
use breezeway_adversary::native::layout::{control, entry, flag, kind};
use breezeway_adversary::native::{Descriptor, Entry, Peer, Terms};
use breezeway_adversary::{Chance, Shared, socket, while_flipping};
use rustix::net::{Shutdown, shutdown};

use super::service::{ECHO, REPLY_OF, inspect};
use super::stage::{Stage, options};
use super::watchdog::within;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// How long each of the two runs takes, and the seed.
fn settings() -> (Duration, u64) {
    let half =
        variable("BREEZEWAY_HOSTILE_SECONDS").map(|seconds| Duration::from_millis(seconds * 500));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = variable("BREEZEWAY_HOSTILE_SEED").unwrap_or(now.as_nanos() as u64);
    (half.unwrap_or(Duration::from_millis(2_500)), seed)
}

/// Changes a few bytes of the control segment: mostly where somebody looks.
fn mutate(peer: &Peer, chance: &mut Chance) {
    let map = &peer.ring.shared;
    for _ in 0..=chance.below(4) {
        match chance.below(6) {
            0 => {
                let at = chance.of(&[
                    control::CONSUMED_AT,
                    control::DATA_WAKE_AT,
                    control::SPACE_WAKE_AT,
                    control::CPU_AT,
                ]);
                let near = map.load(at);
                map.store(at, chance.odd_number(near));
            }
            1 => {
                let at = control::RELEASED_AT + 8 * chance.below(16) as usize;
                map.store(at, chance.any());
            }
            // The entries that were just published, or come next.
            2 | 3 => {
                let position = peer.ring.tail.saturating_sub(2) + chance.below(5);
                let at = peer.ring.slot(position) + chance.below(entry::SIZE as u64) as usize;
                map.store_byte(at, chance.any() as u8);
            }
            4 => {
                let position = peer.ring.tail.saturating_sub(1) + chance.below(3);
                peer.ring.commit(position, chance.odd_number(position + 1));
            }
            _ => map.store_byte(chance.below(map.len() as u64) as usize, chance.any() as u8),
        }
    }
}

/// An entry that is nearly right.
fn entry(peer: &Peer, chance: &mut Chance, stream: u32, is_client: bool) -> Entry {
    let body: Vec<u8> = (0..chance.below(105)).map(|_| chance.any() as u8).collect();
    let mut entry = if is_client {
        let method = chance.of(&[ECHO, ECHO, ECHO, REPLY_OF, 9]);
        Entry::request(stream, method, &body)
    } else {
        Entry::reply(stream, &body)
    };
    if is_client && entry.tag == REPLY_OF {
        entry = Entry::request(stream, REPLY_OF, &chance.below(300_000).to_le_bytes());
    } else if !peer.payload.is_empty() && chance.once_in(3) {
        let segment = chance.below(peer.payload.len() as u64 + 1) as u32;
        let size = peer.payload.get(segment as usize).map_or(0, |shared| shared.len() as u64);
        let offset = chance.below(size + 1);
        let mut descriptor = Descriptor {
            segment,
            lend: chance.below(u64::from(peer.honest.lend_count)) as u32,
            offset,
            len: (size - offset).max(1),
        };
        if chance.once_in(20) {
            descriptor.offset = chance.odd_number(offset);
            descriptor.len = chance.odd_number(size);
        }
        entry = entry.lending(descriptor);
    }
    if chance.once_in(40) {
        match chance.below(6) {
            0 => entry.kind = chance.below(12) as u8,
            1 => entry.flags ^= 1 << chance.below(8),
            2 => entry.len = chance.odd_number(104) as u16,
            3 => entry.stream = chance.odd_number(stream.into()) as u32,
            4 => entry.tag = chance.any() as u32,
            _ => entry.released = chance.odd_number(1) as u16,
        }
    }
    if is_client && chance.once_in(10) {
        entry.flags |= flag::NO_REPLY;
    }
    entry
}

/// Something with the socket or with segments.
fn disturb(peer: &mut Peer, chance: &mut Chance) {
    let size = chance.of(&[4096, 8192, 65_536]);
    match chance.below(12) {
        0..4 => {
            if peer.payload.len() < 20 {
                let shared = peer.add_segment(size);
                let at = chance.below(size as u64) as usize;
                shared.write(at, &[chance.any() as u8]);
            }
        }
        4 => {
            let number = chance.below(peer.payload.len() as u64 + 1) as u32;
            peer.publish(&Entry::segment_retire(number));
        }
        5 => peer.send_segment(Shared::fit(size).fd),
        6 => {
            peer.send_segment(memfd::backed(size));
            peer.publish(&Entry::segment_add(peer.payload.len() as u32, size as u64));
        }
        7 => {
            let shared = Shared::fit(size);
            let fds = vec![shared.fd.as_fd(); chance.below(4) as usize];
            let _ = socket::send(&peer.socket, &[chance.below(4) as u8], &fds);
        }
        8 => {
            let number = chance.odd_number(peer.payload.len() as u64) as u32;
            let size = chance.odd_number(size as u64);
            peer.publish(&Entry::segment_add(number, size));
        }
        9 => peer.publish(&Entry::session(kind::CANCEL, chance.any() as u32, &[])),
        _ => (0..chance.below(20)).for_each(|_| peer.ring_doorbell()),
    }
}

/// Reads what came, and does about the replies and their payload what it likes. The streams of the
/// messages; `None` at the end of the session.
fn read(peer: &mut Peer, chance: &mut Chance) -> Option<Vec<u32>> {
    while let Some(received) = socket::try_receive(&peer.socket, 4096) {
        if received.is_end() {
            return None;
        }
    }
    let mut streams = Vec::new();
    while let Some(seen) = peer.view.try_next() {
        if seen.kind() == kind::MESSAGE {
            streams.push(seen.stream());
        }
        if let Some(descriptor) = seen.descriptor()
            && chance.once_in(2)
        {
            peer.release(descriptor.lend);
        }
    }
    if !chance.once_in(5) {
        peer.consume();
    }
    Some(streams)
}

/// One session by chance, until its end or for some hundred steps.
fn play(peer: &mut Peer, chance: &mut Chance, is_client: bool, lies: bool) {
    let mut stream = 1;
    let mut asked = Vec::new();
    for _ in 0..chance.below(400) {
        match read(peer, chance) {
            None => return,
            Some(streams) => asked.extend(streams),
        }
        match chance.below(10) {
            0..5 if is_client => {
                let next = entry(peer, chance, stream, true);
                peer.publish(&next);
                stream = stream.wrapping_add(2);
            }
            0..5 => match asked.pop() {
                Some(stream) => {
                    let next = entry(peer, chance, stream, false);
                    peer.publish(&next);
                }
                None => thread::yield_now(),
            },
            5 if chance.once_in(2) => disturb(peer, chance),
            6 if lies => mutate(peer, chance),
            _ => thread::yield_now(),
        }
    }
    match chance.below(4) {
        0 => peer.publish(&Entry::session(kind::SHUTDOWN, 0, &[])),
        1 => drop(shutdown(&peer.socket, Shutdown::Write)),
        _ => {}
    }
}

fn terms(chance: &mut Chance) -> Terms {
    Terms {
        ring_capacity: chance.of(&[8, 16, 64, 256]),
        lend_count: chance.of(&[64, 512, 1024]),
        payload_cap: chance.of(&[4096, 1 << 18, 1 << 20, 64 << 20]),
    }
}

/// A session by chance, with a thread that changes bytes meanwhile now and then.
fn attack(peer: &mut Peer, chance: &mut Chance, is_client: bool) {
    let lies = !chance.once_in(4);
    if !chance.once_in(5) {
        return play(peer, chance, is_client, lies);
    }
    let own = std::sync::Arc::clone(&peer.ring.shared);
    let seed = chance.any();
    let flip = |round: u64| {
        let mut chance = Chance::new(seed ^ round);
        // Slowly: a session that ends at its first entry shows little.
        if chance.once_in(2_000) {
            let at = chance.below(own.len() as u64) as usize;
            own.store_byte(at, chance.any() as u8);
        }
        thread::yield_now();
    };
    while_flipping(&[&flip], || play(peer, chance, is_client, lies));
}

#[test]
fn a_server_survives_clients_that_do_anything() {
    let (duration, seed) = settings();
    within(duration + Duration::from_secs(120), move || {
        println!("BREEZEWAY_HOSTILE_SEED={seed}");
        let mut chance = Chance::new(seed);
        let mut sessions = 0;
        let policies = [WaitPolicy::Adaptive, WaitPolicy::Park, WaitPolicy::Busy];
        for wait in policies {
            let stage = Stage::with(ServerOptions::new().session(options().wait(wait)));
            let end = Instant::now() + duration / policies.len() as u32;
            while Instant::now() < end {
                let mut peer = Peer::connect(stage.path(), terms(&mut chance));
                attack(&mut peer, &mut chance, true);
                sessions += 1;
                if sessions % 32 == 0 {
                    stage.bystander.goes_on();
                }
            }
            stage.close();
        }
        println!("{sessions} sessions");
    });
}

/// An honest client, until its session ends or it has made enough calls. Nothing here may panic.
fn call(session: &mut Session, chance: &mut Chance) -> u32 {
    let mut replies = 0;
    session.set_call_timeout(Some(Duration::from_millis(5)));
    for _ in 0..60 {
        if session.is_ended() {
            break;
        }
        let request = vec![7; chance.of(&[0, 8, 100, 300, 5_000, 80_000])];
        match chance.below(8) {
            // Errors are what this is about: any but a panic or a hang will do.
            0 => drop(session.post(ECHO, &request)),
            1 => {
                for _ in 0..3 {
                    drop(session.send(ECHO, &request));
                }
                while session.in_flight() > 0 && !session.is_ended() {
                    match session.receive() {
                        Ok(reply) => drop(inspect(reply.bytes())),
                        Err(_) => break,
                    }
                }
            }
            _ => {
                if let Ok(reply) = session.call(ECHO, &request) {
                    inspect(reply.bytes());
                    replies += 1;
                }
            }
        }
    }
    replies
}

#[test]
fn a_client_survives_servers_that_do_anything() {
    let (duration, seed) = settings();
    within(duration + Duration::from_secs(120), move || {
        println!("BREEZEWAY_HOSTILE_SEED={seed}");
        let mut chance = Chance::new(seed);
        let (mut sessions, mut replies) = (0, 0);
        let end = Instant::now() + duration;
        while Instant::now() < end {
            let (hostile, honest) = UnixStream::pair().unwrap();
            let mut theirs = Chance::new(chance.any());
            let policy = [WaitPolicy::Adaptive, WaitPolicy::Park, WaitPolicy::Busy];
            let wait = chance.of(&policy);
            let terms = terms(&mut chance);
            let outcome = thread::scope(|scope| {
                scope.spawn(move || {
                    let mut peer = Peer::server(hostile.into(), terms);
                    attack(&mut peer, &mut theirs, false);
                });
                let mut session = Session::from_socket(honest.into(), &options().wait(wait))
                    .expect("a good hello");
                catch_unwind(AssertUnwindSafe(|| call(&mut session, &mut chance)))
            });
            replies += outcome.expect("the honest side panicked");
            sessions += 1;
        }
        println!("{sessions} sessions, {replies} replies");
        assert!(replies > 0, "the attack never let a call through: it shows little");
    });
}
