//! Frames by chance.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use breezeway::{ExclusiveSession, WaitPolicy};
use breezeway_adversary::Connection;
use breezeway_adversary::native::frame::{Header, welcome};

use super::stage::Stage;
use super::{CAP, LARGE_CAP, METHOD, SOCKETS};
use crate::support::content::Random;
use crate::support::{self, EVERY_POLICY, Folder, PATIENCE, raw, wait_for};

fn seed() -> u64 {
    let seed = std::env::var("BREEZEWAY_HOSTILE_SEED").ok().map(|text| text.parse().unwrap());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = seed.unwrap_or(now.as_nanos() as u64);
    println!("BREEZEWAY_HOSTILE_SEED={seed}");
    seed
}

/// A number as attackers like them.
fn odd_number(random: &mut Random, near: u64) -> u64 {
    match random.below(5) {
        0 => 0,
        1 => u64::MAX - random.below(3),
        2 => 1 << random.below(40),
        3 => random.next(),
        _ => near.wrapping_add(random.below(5)).wrapping_sub(2),
    }
}

/// A frame that is nearly right.
fn nearly(random: &mut Random, good: Header) -> Vec<u8> {
    let mut header = good;
    let body = vec![random.next() as u8; random.len(5000)];
    header.len = body.len() as u32;
    if random.below(12) == 0 {
        match random.below(6) {
            0 => header.len = odd_number(random, header.len.into()) as u32,
            1 => header.kind = random.below(12) as u8,
            2 => header.flags ^= 1 << random.below(8),
            3 => header.stream = odd_number(random, header.stream.into()) as u32,
            4 => header.tag = random.next() as u32,
            _ => header.time = random.next() as u16,
        }
    }
    let mut bytes = [&header.bytes()[..], &body].concat();
    if random.below(30) == 0 {
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] = random.next() as u8;
    }
    if random.below(30) == 0 {
        bytes.truncate(random.below(bytes.len() as u64) as usize);
    }
    bytes
}

/// Sends frames by chance, in pieces by chance, reading now and then; gives how many.
fn play_at_random(peer: &mut Connection, random: &mut Random, good: impl Fn(u32) -> Header) -> u64 {
    peer.set_read_timeout(Duration::from_millis(1));
    peer.set_write_timeout(Duration::from_millis(100));
    let mut sent = 0;
    for number in 0..random.below(60) as u32 {
        let bytes = nearly(random, good(2 * number + 1));
        let cut = random.below(bytes.len() as u64 + 1) as usize;
        for part in [&bytes[..cut], &bytes[cut..]] {
            // The peer may be gone, or not read while we do not.
            if peer.write_all(part).is_err() {
                return sent;
            }
        }
        sent += 1;
        if random.below(3) == 0 {
            let mut some = vec![0; 20_000];
            if matches!(peer.read(&mut some), Ok(0)) {
                return sent;
            }
        }
    }
    match random.below(4) {
        0 => drop(peer.write_all(&Header::shutdown().bytes())),
        1 => drop(peer.shutdown(Shutdown::Write)),
        _ => {}
    }
    sent
}

#[test]
fn a_server_survives_thousands_of_frames_by_chance() {
    const FRAMES: u64 = 4000;
    let mut random = Random::new(seed());
    for (carrier, policy) in SOCKETS.into_iter().zip([WaitPolicy::Adaptive, WaitPolicy::Park]) {
        let stage = Stage::set(carrier, policy);
        let (mut frames, mut sessions) = (0, 0);
        while frames < FRAMES {
            let mut peer = stage.peer();
            frames +=
                play_at_random(&mut peer, &mut random, |stream| Header::request(stream, 0, 0));
            sessions += 1;
            if sessions % 50 == 0 {
                stage.goes_on();
            }
        }
        println!("{frames} frames in {sessions} sessions over {carrier}");
        stage.close();
    }
}

#[test]
fn a_client_survives_thousands_of_frames_by_chance() {
    const FRAMES: u64 = 3000;
    let mut random = Random::new(seed());
    for carrier in SOCKETS {
        let folder = Folder::on(carrier);
        let listener = raw::listen(&folder.address());
        let (mut frames, mut replies) = (0, 0);
        while frames < FRAMES {
            let policy = EVERY_POLICY[random.below(3) as usize];
            let options = support::patient().wait(policy).cap(CAP as u64);
            let address = folder.address();
            let (sender, outcome) = std::sync::mpsc::channel();
            let calling = std::thread::spawn(move || {
                let mut session = ExclusiveSession::connect_with(&address, &options).unwrap();
                session.set_call_timeout(Some(Duration::from_millis(20)));
                let mut replies = 0;
                for number in 0..60 {
                    replies += match number % 3 {
                        0 => u64::from(session.call(METHOD, b"hi").is_ok()),
                        // Errors are what this is about: any but a panic or a hang will do.
                        1 => session.post(METHOD, &[0; 300]).map_or(0, |()| 0),
                        _ => {
                            let _ = session.send(METHOD, b"ho");
                            u64::from(session.receive().is_ok())
                        }
                    };
                    if session.is_ended() {
                        break;
                    }
                }
                sender.send(replies).unwrap();
            });
            let mut peer = listener.accept().unwrap();
            welcome(&mut peer, LARGE_CAP);
            frames += play_at_random(&mut peer, &mut random, |stream| Header::reply(stream, 0));
            drop(peer);
            replies += wait_for(&outcome, PATIENCE).expect("it neither panics nor hangs");
            calling.join().expect("it does not panic");
        }
        println!("{frames} frames, {replies} replies over {carrier}");
        assert!(replies > 0, "the attack never let a call through: it shows little");
    }
}
