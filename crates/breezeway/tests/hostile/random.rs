//! Everything at once, by chance: random steps of the protocol, and random bytes changed between
//! and during them. The seed is printed; `BREEZEWAY_HOSTILE_SEED` repeats one (as far as two
//! processes can be repeated), `BREEZEWAY_HOSTILE_SECONDS` makes the run longer.

use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{ExclusiveSession, ServerOptions, WaitPolicy};
use breezeway_adversary::Chance;
use breezeway_adversary::native::Peer;
use breezeway_adversary::native::by_chance::{attack, terms};

use super::service::{ECHO, inspect};
use super::stage::{Stage, options};
use super::watchdog::within;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// Returns the duration of each of the two runs, and the seed.
fn settings() -> (Duration, u64) {
    let half =
        variable("BREEZEWAY_HOSTILE_SECONDS").map(|seconds| Duration::from_millis(seconds * 500));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = variable("BREEZEWAY_HOSTILE_SEED").unwrap_or(now.as_nanos() as u64);
    (half.unwrap_or(Duration::from_millis(2_500)), seed)
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
fn call(session: &mut ExclusiveSession, chance: &mut Chance) -> u32 {
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
                let mut session =
                    ExclusiveSession::from_socket(honest.into(), &options().wait(wait))
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
