//! Hostile clients, and clients within the rules that once delayed others.

use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{Address, Session, SessionOptions, WaitPolicy};
use breezeway_adversary::native::layout::control;
use breezeway_adversary::native::{Entry, Peer, Terms, frame};
use breezeway_adversary::{Connection, Shared, socket};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

use super::target::{Course, Target, Via};
use crate::sequences::{self, Filling};
use crate::{Failure, client, server::method};

/// Number of concurrent connections that are silent, or nearly so.
pub(super) const CONNECTIONS: usize = 256;
/// As many connections as once kept all clients out of a server.
const CROWD: usize = 4_500;
/// Descriptors of this process beside those of a crowd.
const BESIDE_CROWD: usize = 200;
/// Sessions that echo the largest messages at the same time.
const LARGE_SESSIONS: usize = 4;
/// Number of sessions that send their own end before the check that none stays.
const OWN_ENDS: u32 = 20;
/// Time for which such sessions may stay, also on a busy machine.
const LINGERING: Duration = Duration::from_secs(20);
/// Time for which a socket is full before the attack proceeds to another.
const FULL: Duration = Duration::from_millis(100);
/// The window of a client that takes streams.
const WINDOW: u32 = 64;

/// Opens a session in shared memory by hand: of calls alone, which a worker serves as an exclusive
/// one, or a shared one.
fn connect(target: Target<'_>, is_shared: bool) -> Peer {
    match is_shared {
        false => Peer::connect(target.path, Terms::default()),
        true => Peer::connect_with_streams(target.path, Terms::default(), WINDOW),
    }
}

/// Connects and closes without end.
pub(super) fn connects(target: Target<'_>, course: &Course) -> Result<(), Failure> {
    while course.goes_on() {
        drop(target.connection()?);
        course.step();
    }
    Ok(())
}

/// Keeps `count` half-open connections, which send `drop` repeatedly.
pub(super) fn silent(
    target: Target<'_>,
    course: &Course,
    count: usize,
    drop: Option<u8>,
) -> Result<(), Failure> {
    let mut open: Vec<Connection> = Vec::new();
    while course.goes_on() {
        while open.len() < count && course.goes_on() {
            open.push(target.connection()?);
            course.step();
        }
        open.retain(|connection| {
            let is_open =
                socket::try_receive(connection, 64).is_none_or(|received| !received.is_end());
            let says = drop.is_none_or(|byte| socket::send(connection, &[byte], &[]).is_ok());
            if drop.is_some() && says {
                course.step();
            }
            is_open && says
        });
    }
    Ok(())
}

/// Rings without end.
pub(super) fn doorbells(target: Target<'_>, course: &Course) -> Result<(), Failure> {
    for is_shared in [false, true].into_iter().cycle().take_while(|_| course.goes_on()) {
        let peer = connect(target, is_shared);
        let mut rung = Instant::now();
        while course.goes_on() {
            match socket::send(&peer.socket, &[0], &[]) {
                Ok(_) => {
                    course.step();
                    rung = Instant::now();
                }
                // The socket is full, for now or for good: the server need not read from a peer
                // without a hello.
                Err(Errno::AGAIN) if rung.elapsed() < FULL => thread::yield_now(),
                Err(_) => break,
            }
            while socket::try_receive(&peer.socket, 64).is_some_and(|got| !got.is_end()) {}
        }
    }
    Ok(())
}

/// Sends requests on connections that write the header, and then the body a byte at a time. All of
/// it follows the rules. A step is a byte that the socket has taken.
pub(super) fn slow_frames(target: Target<'_>, course: &Course) -> Result<(), Failure> {
    const ANNOUNCED: usize = 32 << 20;
    let open = || -> Result<Connection, Failure> {
        let mut connection = target.connection()?;
        frame::greet(&mut connection, ANNOUNCED as u64);
        let header = frame::Header::request(1, method::ECHO, ANNOUNCED);
        socket::send(&connection, &header.bytes(), &[])?;
        Ok(connection)
    };
    let open = (0..CONNECTIONS).map(|_| open()).collect::<Result<Vec<_>, _>>()?;
    while course.goes_on() {
        for connection in &open {
            match socket::send(connection, &[7], &[]) {
                // The server has not yet read the earlier bytes.
                Err(Errno::AGAIN) => {}
                sent => {
                    sent?;
                    course.step();
                }
            }
        }
        // A sender that is slow, and a server that has been through what came.
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Announces and retires one segment after the other.
pub(super) fn segments(target: Target<'_>, course: &Course) -> Result<(), Failure> {
    let mut peer = connect(target, false);
    let shared = Shared::fit(4096);
    // All of it follows the rules, so the end of a session is a fault of the server.
    let goes_on = |peer: &Peer, number| -> Result<bool, Failure> {
        if socket::try_receive(&peer.socket, 4096).is_some_and(|received| received.is_end()) {
            return Err(format!("the session was ended at segment {number}").into());
        }
        Ok(course.goes_on())
    };
    for number in 0.. {
        while peer.ring.tail - peer.view.load(control::CONSUMED_AT) >= 8 {
            if !goes_on(&peer, number)? {
                return Ok(());
            }
            thread::yield_now();
        }
        let consumed = peer.view.load(control::CONSUMED_AT);
        peer.ring.shared.store(control::SPACE_WAKE_AT, consumed);
        while socket::send(&peer.socket, &[1], &[shared.fd.as_fd()]).is_err() {
            if !goes_on(&peer, number)? {
                return Ok(());
            }
        }
        peer.publish(&Entry::segment_add(number, 4096));
        peer.publish_silently(&Entry::segment_retire(number));
        course.step();
    }
    Ok(())
}

/// Keeps replies that are lent.
pub(super) fn keeping(address: &str, course: &Course) -> Result<(), Failure> {
    let channel = Session::connect(address)?;
    let mut kept = Vec::new();
    while course.goes_on() {
        // Once there is no more memory, the calls continue and fail.
        let until = Instant::now() + Duration::from_millis(10);
        kept.extend(channel.request(method::ECHO).deadline(until).send(&[1; 70_000]));
        course.step();
    }
    Ok(())
}

/// Opens streams and resets them.
pub(super) fn streams(address: &str, course: &Course) -> Result<(), Failure> {
    let mut channel = Session::connect(address)?;
    while course.goes_on() {
        // Dropped before its end, it is reset.
        match channel.open(method::ECHO) {
            Ok(_) => course.step(),
            Err(_) => channel = Session::connect(address)?,
        }
    }
    Ok(())
}

/// A process that is ended with this.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Stops a client within its calls and continues it, repeatedly.
pub(super) fn stopped(address: &str, course: &Course) -> Result<(), Failure> {
    const NEVER: u64 = 1 << 60;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["victim", "native", address, "call", &NEVER.to_string(), "0", "/dev/null"]);
    let victim = Victim(command.stdout(Stdio::null()).spawn()?);
    let pid = Pid::from_raw(victim.0.id().cast_signed()).ok_or("a process has a number")?;
    for signal in [Signal::STOP, Signal::CONT].into_iter().cycle() {
        if !course.goes_on() {
            break;
        }
        thread::sleep(Duration::from_millis(5));
        kill_process(pid, signal)?;
        course.step();
    }
    Ok(())
}

/// Opens sessions that send their own end of the socket, and checks that none stays.
pub(super) fn own_ends(target: Target<'_>, course: &Course) -> Result<(), Failure> {
    let before = target.server.descriptors();
    while course.goes_on() {
        for number in 0..OWN_ENDS {
            let is_shared = number % 2 == 1;
            match target.via {
                Via::Shm => {
                    let segments = [0, 1, 8, 63, 64][(number % 5) as usize];
                    let calls = u64::from(number % 3);
                    sequences::own_end(&mut connect(target, is_shared), segments, calls);
                }
                Via::Unix | Via::Tcp => {
                    sequences::own_end_with_request(target.connection()?, number % 3);
                }
            }
            sequences::own_end_with_hello(&target.connection()?);
            course.step();
        }
        if target.via == Via::Shm {
            for is_shared in [false, true] {
                sequences::crossed_ends(&[connect(target, is_shared), connect(target, is_shared)]);
            }
        }
        // This process lives on, and has closed its ends.
        let closed = Instant::now();
        while target.server.descriptors() > before {
            if closed.elapsed() > LINGERING {
                let now = target.server.descriptors();
                return Err(format!("the server had {before} descriptors, and keeps {now}").into());
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

/// Makes calls by sessions whose sockets are full.
pub(super) fn full_sockets(target: Target<'_>, course: &Course) -> Result<(), Failure> {
    let sessions = Filling::ALL.into_iter().flat_map(|filling| [(filling, false), (filling, true)]);
    for (filling, is_shared) in sessions.cycle().take_while(|_| course.goes_on()) {
        filling.call(&mut connect(target, is_shared), || {
            course.step();
            course.goes_on()
        });
    }
    Ok(())
}

/// Lets sessions echo messages of the cap and of three quarters of it, while new clients get in. A
/// step is an echo that was answered or refused.
pub(super) fn large_echoes(target: Target<'_>, course: &Course) -> Result<(), Failure> {
    let address: Address = target.address.parse()?;
    let options = SessionOptions::new().handshake_timeout(client::HANDSHAKE);
    let connect = || Session::connect_with(&address, &options);
    let echoes = || -> Result<(), Failure> {
        let mut channel = connect()?;
        let request = vec![7; channel.cap()];
        for len in [request.len(), request.len() / 4 * 3].into_iter().cycle() {
            if !course.goes_on() {
                break;
            }
            let until = Instant::now() + client::PATIENCE;
            let _ = channel.request(method::ECHO).deadline(until).send(&request[..len]);
            if channel.is_ended() {
                channel = connect()?;
            }
            course.step();
        }
        Ok(())
    };
    thread::scope(|scope| {
        let running = [(); LARGE_SESSIONS].map(|()| scope.spawn(echoes));
        let newcomers = newcomers(target, course, || {});
        running.into_iter().try_for_each(|one| one.join().expect("an echo does not panic"))?;
        newcomers
    })
}

/// Connects as one new client after the other; each makes calls.
fn newcomers(target: Target<'_>, course: &Course, mut done: impl FnMut()) -> Result<(), Failure> {
    while course.goes_on() {
        client::connect_with(target.engine, target.address, WaitPolicy::Park)
            .and_then(|mut client| client.round(1))
            .map_err(|error| format!("a new client does not get in: {error}"))?;
        done();
    }
    Ok(())
}

/// Lets this process and its servers have descriptors for a crowd, or as many as they may.
pub(super) fn raise_open_files() -> Result<(), Failure> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = (CROWD + BESIDE_CROWD) as u64;
    let current =
        maximum.map(|maximum| current.unwrap_or(u64::MAX).max(wanted.min(maximum)).min(maximum));
    Ok(setrlimit(Resource::Nofile, Rlimit { current, maximum })?)
}

/// Lets new clients get in beside a crowd of silent connections.
pub(super) fn crowd(target: Target<'_>, course: &Course) -> Result<(), Failure> {
    let may_have = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |most| most as usize);
    let count = CROWD.min(may_have.saturating_sub(BESIDE_CROWD));
    if count < CROWD {
        println!("{count} connections: this process may have {may_have} open files");
    }
    let arrived = Course::default();
    thread::scope(|scope| {
        let crowding = scope.spawn(|| silent(target, &arrived, count, None));
        while arrived.steps() < count as u64 && !crowding.is_finished() && course.goes_on() {
            thread::sleep(Duration::from_millis(1));
        }
        let outcome = newcomers(target, course, || course.step());
        arrived.end();
        let crowded = crowding.join().expect("the crowd does not panic");
        outcome.and(crowded)
    })
}
