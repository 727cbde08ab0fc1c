//! Recordings of an honest client on a unix socket, and hostile sessions made of them: the same
//! bytes with small changes. They get past a handshake and past headers, in any protocol.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::native::frame::Header;
use crate::native::layout::frame::HEADER_LEN;
use crate::native::layout::hello::{LEN as HELLO_LEN, MAGIC};
use crate::native::layout::{entry, flag};
use crate::native::{Descriptor, Entry, Peer, by_chance};
use crate::{Chance, Connection, socket};

/// One connection's bytes, in the pieces that they are made of: a hello and frames for a session of
/// the native protocol, else the bytes of each write.
#[derive(Clone, Debug)]
pub struct Recording {
    pieces: Vec<Vec<u8>>,
    is_framed: bool,
}

type Chunks = Arc<Mutex<Vec<Vec<u8>>>>;

/// The connections that go through a new socket file at `at` to the server at `to` while `usage`
/// lasts.
pub fn record(at: &Path, to: &Path, usage: impl FnOnce()) -> io::Result<Vec<Recording>> {
    let listener = UnixListener::bind(at)?;
    let is_over = AtomicBool::new(false);
    let said = thread::scope(|scope| {
        let accepting = scope.spawn(|| -> io::Result<Vec<Chunks>> {
            let mut said = Vec::new();
            loop {
                let (client, _) = listener.accept()?;
                if is_over.load(Ordering::Acquire) {
                    return Ok(said);
                }
                said.push(forward(client, UnixStream::connect(to)?)?);
            }
        });
        usage();
        is_over.store(true, Ordering::Release);
        // Wakes the accepting thread.
        UnixStream::connect(at)?;
        accepting.join().expect("no panic")
    })?;
    std::fs::remove_file(at)?;
    let recordings = said.iter().map(|chunks| Recording::of(&chunks.lock().expect("no panic")));
    Ok(recordings.filter(|recording| !recording.pieces.is_empty()).collect())
}

/// Copies both ways, and records the client's bytes.
fn forward(client: UnixStream, server: UnixStream) -> io::Result<Chunks> {
    let chunks = Chunks::default();
    let kept = Arc::clone(&chunks);
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            kept.lock().expect("no panic").push(buffer[..read].to_vec());
            if to.write_all(&buffer[..read]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
    let (mut from, mut to) = (server, client);
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    Ok(chunks)
}

impl Recording {
    fn of(chunks: &[Vec<u8>]) -> Self {
        let bytes = chunks.concat();
        if !bytes.starts_with(MAGIC) || bytes.len() < HELLO_LEN {
            return Self { pieces: chunks.to_vec(), is_framed: false };
        }
        let (hello, mut rest) = bytes.split_at(HELLO_LEN);
        let mut pieces = vec![hello.to_vec()];
        while let Some(header) = rest.first_chunk::<HEADER_LEN>() {
            let len = HEADER_LEN + Header::read(header).len as usize;
            let Some((frame, behind)) = rest.split_at_checked(len) else { break };
            pieces.push(frame.to_vec());
            rest = behind;
        }
        Self { pieces, is_framed: true }
    }

    /// Returns the same pieces with changes: some altered, left out, doubled, in another order, or
    /// of another connection.
    fn alter(&self, others: &[Self], chance: &mut Chance, most: u64) -> Vec<Vec<u8>> {
        let rarely = chance.of(&[2, 5, 20, 60]);
        let header_len = if self.is_framed { HEADER_LEN } else { 0 };
        let mut altered: Vec<Vec<u8>> = Vec::new();
        for (index, piece) in self.pieces.iter().enumerate() {
            let is_hello = self.is_framed && index == 0;
            if is_hello && !chance.once_in(30) {
                altered.push(piece.clone());
                continue;
            }
            if !chance.once_in(rarely) {
                altered.push(piece.clone());
                continue;
            }
            match chance.below(12) {
                0 => {}
                1 => altered.extend([piece.clone(), piece.clone()]),
                2 if !altered.is_empty() => altered.insert(altered.len() - 1, piece.clone()),
                3 => {
                    let other = &others[chance.below(others.len() as u64) as usize];
                    let at = chance.below(other.pieces.len() as u64) as usize;
                    altered.push(other.pieces[at].clone());
                }
                4 if self.is_framed && !is_hello => altered.push(with_odd_header(piece, chance)),
                _ => {
                    let skipped = if is_hello { 0 } else { header_len };
                    altered.push(with_odd_body(piece, skipped, chance));
                }
            }
        }
        altered.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        altered
    }

    /// A hostile session on a socket made of this recording and of others of the same kind, of so
    /// many pieces at most.
    pub fn play(&self, others: &[Self], peer: &mut Connection, chance: &mut Chance, most: u64) {
        peer.set_write_timeout(Duration::from_millis(100));
        for piece in self.alter(others, chance, most) {
            let cut = match chance.below(4) {
                0 => chance.below(piece.len() as u64 + 1) as usize,
                _ => piece.len(),
            };
            for part in [&piece[..cut], &piece[cut..]] {
                // The peer may be gone, or not read while we do not.
                if peer.write_all(part).is_err() {
                    return;
                }
            }
            if chance.once_in(3)
                && socket::try_receive(&*peer, 1 << 16).is_some_and(|read| read.is_end())
            {
                return;
            }
        }
        let patience = Duration::from_millis(chance.of(&[0, 0, 1, 20]));
        if chance.once_in(3) {
            let _ = peer.shutdown(Shutdown::Write);
        }
        if !patience.is_zero() {
            peer.set_read_timeout(patience);
            let (start, mut some) = (Instant::now(), [0; 4096]);
            while start.elapsed() < patience && matches!(peer.read(&mut some), Ok(1..)) {}
        }
    }

    /// Plays like [`play`](Self::play), in shared memory: a frame becomes an entry, and a long body
    /// is lent.
    pub fn play_in_memory(&self, others: &[Self], peer: &mut Peer, chance: &mut Chance, most: u64) {
        for (number, piece) in self.alter(others, chance, most).into_iter().enumerate() {
            let Some((header, body)) = piece.split_first_chunk::<HEADER_LEN>() else { continue };
            if body.starts_with(MAGIC) || header.starts_with(MAGIC) {
                continue;
            }
            let entry = entry_of(peer, number as u32, &Header::read(header), body);
            let start = Instant::now();
            // A ring that stays full is written over in the end.
            while !peer.has_room() && start.elapsed() < Duration::from_millis(20) {
                if by_chance::read(peer, chance).is_none() {
                    return;
                }
                thread::yield_now();
            }
            peer.publish(&entry);
            if by_chance::read(peer, chance).is_none() {
                return;
            }
        }
        let patience = Duration::from_millis(chance.of(&[0, 0, 1, 5]));
        let start = Instant::now();
        while start.elapsed() < patience && by_chance::read(peer, chance).is_some() {
            thread::yield_now();
        }
    }
}

fn entry_of(peer: &mut Peer, number: u32, header: &Header, body: &[u8]) -> Entry {
    let &Header { kind, flags, stream, tag, .. } = header;
    let inline = &body[..body.len().min(entry::BODY_MAX)];
    let mut entry = Entry { kind, flags, stream, ..Entry::session(kind, tag, inline) };
    if body.len() > entry::BODY_MAX {
        const SIZE: usize = 1 << 17;
        if peer.payload.is_empty() {
            peer.add_segment(SIZE);
        }
        let body = &body[..body.len().min(SIZE)];
        peer.payload[0].write(0, body);
        let lend = number % peer.terms.lend_count.max(1);
        let descriptor = Descriptor { segment: 0, lend, offset: 0, len: body.len() as u64 };
        entry = Entry { flags: flags | flag::LENT, ..entry.lending(descriptor) };
    }
    entry
}

fn with_odd_header(piece: &[u8], chance: &mut Chance) -> Vec<u8> {
    let Some((header, body)) = piece.split_first_chunk::<HEADER_LEN>() else {
        return piece.to_vec();
    };
    let mut header = Header::read(header);
    match chance.below(6) {
        0 => header.len = chance.odd_number(header.len.into()) as u32,
        1 => header.kind = chance.below(12) as u8,
        2 => header.flags ^= 1 << chance.below(8),
        3 => header.stream = chance.odd_number(header.stream.into()) as u32,
        4 => header.tag = chance.odd_number(header.tag.into()) as u32,
        _ => header.time = chance.any() as u16,
    }
    [&header.bytes()[..], body].concat()
}

/// Changes the body behind the header, and mostly keeps the length in the header right.
fn with_odd_body(piece: &[u8], header_len: usize, chance: &mut Chance) -> Vec<u8> {
    let (header, body) = piece.split_at(header_len.min(piece.len()));
    let mut body = body.to_vec();
    // Mostly near the beginning, where protocols have their headers.
    let reach = chance.of(&[16, 64, usize::MAX]).min(body.len()).max(1) as u64;
    let at = (chance.below(reach) as usize).min(body.len());
    match chance.below(8) {
        0..3 => {
            for _ in 0..=chance.below(4) {
                let at = chance.below(reach) as usize;
                if let Some(byte) = body.get_mut(at) {
                    *byte = chance.any() as u8;
                }
            }
        }
        3 | 4 => {
            let width = chance.of(&[1, 2, 4, 8]);
            let number = chance.odd_number(body.len() as u64);
            let (large, little) = (number.to_be_bytes(), number.to_le_bytes());
            let bytes = if chance.once_in(2) { &large[8 - width..] } else { &little[..width] };
            for (byte, &value) in body[at..].iter_mut().zip(bytes) {
                *byte = value;
            }
        }
        5 => body.truncate(at),
        6 => {
            let more = (0..chance.below(300)).map(|_| chance.any() as u8).collect::<Vec<_>>();
            body.splice(at..at, more);
        }
        _ => drop(body.drain(at..(at + chance.below(40) as usize).min(body.len()))),
    }
    let mut header = header.to_vec();
    if let Ok(bytes) = <&[u8; HEADER_LEN]>::try_from(&header[..])
        && !chance.once_in(8)
    {
        let right = Header { len: body.len() as u32, ..Header::read(bytes) };
        header = right.bytes().to_vec();
    }
    [header, body].concat()
}
