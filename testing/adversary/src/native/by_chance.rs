//! Random sessions: random steps of the protocol, and random bytes changed between and during them.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;

use rustix::net::{Shutdown, shutdown};

use super::layout::{control, entry, flag, kind};
use super::{Descriptor, Entry, Peer, Terms};
use crate::{Chance, Shared, memfd, socket, while_flipping};

/// The most frequent methods: in test servers, an echo and a reply of a requested size.
const ECHO: u32 = 0;
const REPLY_OF: u32 = 2;

/// Changes a few bytes of the control segment: mostly those that the honest side reads.
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

/// Something about a stream, open or not, that is nearly right.
fn stream_entry(chance: &mut Chance, opened: &mut Vec<u32>, next: &mut u32) -> Entry {
    let body: Vec<u8> = (0..chance.below(105)).map(|_| chance.any() as u8).collect();
    if opened.is_empty() || chance.once_in(4) {
        let mut entry = Entry::request(*next, chance.of(&[ECHO, ECHO, 1, 9]), &body);
        entry.flags = flag::OPEN | flag::STREAM;
        if chance.once_in(8) {
            entry.flags |= chance.of(&[flag::METADATA, flag::FIN, flag::EMPTY | flag::FIN]);
        }
        opened.push(*next);
        *next = next.wrapping_add(2);
        return entry;
    }
    let at = chance.below(opened.len() as u64) as usize;
    let stream = opened[at];
    match chance.below(10) {
        0 => {
            let bytes = chance.odd_number(1 << 16).to_le_bytes();
            let messages = chance.odd_number(4) as u32;
            Entry { stream, ..Entry::session(kind::WINDOW, messages, &bytes) }
        }
        1 => {
            opened.swap_remove(at);
            Entry { stream, ..Entry::session(kind::RESET, chance.below(9) as u32, &[]) }
        }
        2 => {
            opened.swap_remove(at);
            Entry::reply(stream, &body)
        }
        _ => Entry { flags: 0, ..Entry::reply(stream, &body) },
    }
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

/// Reads the received messages, and releases their replies and payload at random. Returns the
/// streams of the messages; `None` at the end of the session.
pub(crate) fn read(peer: &mut Peer, chance: &mut Chance) -> Option<Vec<u32>> {
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
fn play(peer: &mut Peer, chance: &mut Chance, is_client: bool, lies: bool, most: u64) {
    let mut stream = 1;
    let (mut asked, mut opened) = (Vec::new(), Vec::new());
    for _ in 0..chance.below(400).min(most) {
        match read(peer, chance) {
            None => return,
            Some(streams) => asked.extend(streams),
        }
        match chance.below(10) {
            0..2 if is_client => {
                let next = stream_entry(chance, &mut opened, &mut stream);
                peer.publish(&next);
            }
            2..5 if is_client => {
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

/// Terms that make a small session, or a large one.
pub fn terms(chance: &mut Chance) -> Terms {
    Terms {
        ring_capacity: chance.of(&[8, 16, 64, 256]),
        lend_count: chance.of(&[64, 512, 1024]),
        payload_cap: chance.of(&[4096, 1 << 18, 1 << 20, 64 << 20]),
    }
}

/// Plays a random session, sometimes with a thread that changes bytes during it.
pub fn attack(peer: &mut Peer, chance: &mut Chance, is_client: bool) {
    attack_for(peer, chance, is_client, u64::MAX);
}

/// Plays a session like [`attack`], with at most `most` steps: the first ones of the same session.
pub fn attack_for(peer: &mut Peer, chance: &mut Chance, is_client: bool, most: u64) {
    let lies = !chance.once_in(4);
    if !chance.once_in(5) {
        return play(peer, chance, is_client, lies, most);
    }
    let own = Arc::clone(&peer.ring.shared);
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
    while_flipping(&[&flip], || play(peer, chance, is_client, lies, most));
}
