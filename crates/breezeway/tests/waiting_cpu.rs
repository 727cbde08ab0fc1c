//! Costs of waiting: no CPU for a peer that does not read, whatever the peer has closed; under
//! `Busy`, one.
//!
//! A test program of its own: what is measured is the CPU time of this process.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use breezeway::{
    Address, Call, CallError, ExclusiveSession, Server, ServerOptions, SessionOptions, WaitPolicy,
};
use breezeway_adversary::native::frame::{hello, request};

/// One measurement at a time: what is measured is this process.
static MEASURING: Mutex<()> = Mutex::new(());
/// Far more than rest costs, far less than spinning for [`WINDOW`].
const REST: Duration = Duration::from_millis(200);
const WINDOW: Duration = Duration::from_secs(1);
/// The cap of the side by hand.
const CAP: u64 = 64 << 20;

/// CPU time of all threads of this process.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Lets a client ask for more than the sockets hold, and read nothing; gives what the server's rest
/// costs.
fn rest_of_a_server(half_close: bool) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.sock");
    let server = Server::bind(Address::unix(&path)).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || server.serve(|call: Call<'_>| call.echo()));
    let mut client = UnixStream::connect(&path).unwrap();
    client.write_all(&hello(256, CAP)).unwrap();
    client.read_exact(&mut [0; 64]).unwrap();
    client.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    // Until the server takes no more.
    let body = vec![7; 1 << 20];
    let mut stream = 1;
    while client.write_all(&request(stream, 0, &body)).is_ok() {
        stream += 2;
    }
    if half_close {
        client.shutdown(Shutdown::Write).unwrap();
    }
    let before = cpu_time();
    std::thread::sleep(WINDOW);
    let used = cpu_time() - before;
    drop(client);
    stopper.stop();
    serving.join().unwrap().unwrap();
    used
}

#[test]
fn a_client_that_reads_nothing_costs_the_server_no_cpu() {
    let _alone = MEASURING.lock();
    for half_close in [false, true] {
        let used = rest_of_a_server(half_close);
        assert!(used < REST, "half-closed {half_close}: {used:?} in {WINDOW:?}");
    }
}

#[test]
fn half_closed_unreading_server_costs_client_no_cpu() {
    let _alone = MEASURING.lock();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let serving = std::thread::spawn(move || {
        let (mut server, _) = listener.accept().unwrap();
        server.read_exact(&mut [0; 64]).unwrap();
        server.write_all(&hello(256, CAP)).unwrap();
        server.shutdown(Shutdown::Write).unwrap();
        // Until the client is done.
        let _ = wait.recv();
    });
    let options = SessionOptions::new().wait(WaitPolicy::Park).call_timeout(Some(WINDOW));
    let mut session = ExclusiveSession::connect_with(Address::unix(&path), &options).unwrap();
    let before = cpu_time();
    let outcome = session.post(0, &vec![1; 8 << 20]);
    let used = cpu_time() - before;
    drop(done);
    serving.join().unwrap();
    assert!(matches!(outcome, Err(CallError::DeadlinePassed)), "{outcome:?}");
    assert!(used < REST, "{used:?} in {WINDOW:?}");
}

#[test]
fn busy_server_spins_for_remaining_clients() {
    let _alone = MEASURING.lock();
    let folder = tempfile::tempdir().unwrap();
    let address = Address::shm(folder.path().join("test.sock"));
    let busy = SessionOptions::new().wait(WaitPolicy::Busy);
    let server = Server::bind_with(&address, ServerOptions::new().session(busy)).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || server.serve(|call: Call<'_>| call.echo()));
    let park = SessionOptions::new().wait(WaitPolicy::Park);
    let mut stays = ExclusiveSession::connect_with(&address, &park).unwrap();
    stays.call(0, b"x").unwrap();
    let mut goes = ExclusiveSession::connect_with(&address, &park).unwrap();
    // Long enough that only this one is polled.
    let until = Instant::now() + Duration::from_millis(50);
    while Instant::now() < until {
        goes.call(0, b"x").unwrap();
    }
    drop(goes);
    let before = cpu_time();
    let deadline = Instant::now() + 10 * WINDOW;
    while cpu_time() - before < REST {
        assert!(Instant::now() < deadline, "the server sleeps");
        std::thread::sleep(Duration::from_millis(10));
    }
    stays.call(0, b"x").unwrap();
    stopper.stop();
    serving.join().unwrap().unwrap();
}
