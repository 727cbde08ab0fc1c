//! CPU use of idle sessions, and of sessions with a stuck peer: none, counted by the kernel in
//! sleeps of threads and in ticks.
//!
//! In a program of its own, because it counts those of a whole process.

use std::fs::read_to_string;
use std::io::Write;
use std::time::Duration;

use breezeway_shmipc::{
    Address, Client, ClientOptions, Server, ServerOptions, Session, SessionOptions, StreamError,
    Trust, WhenExhausted,
};

/// Time of observation: the counts are bounded whatever else the machine does.
const WATCHED: Duration = Duration::from_secs(2);

/// Returns the number of sleeps so far of all threads of this process but the calling one.
fn sleeps_of_others() -> u64 {
    let own = rustix::thread::gettid().as_raw_nonzero().to_string();
    let mut sum = 0;
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        if task.file_name().to_str() == Some(&own) {
            continue;
        }
        // A thread may end at the same time.
        let status = read_to_string(task.path().join("status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        sum += line.map_or(0, |count| count.trim().parse::<u64>().unwrap());
    }
    sum
}

/// Returns the CPU ticks (a hundredth of a second) that this process has used.
fn ticks() -> u64 {
    let stat = read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<_> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// Returns the sleeps of other threads and the ticks while `work` runs.
fn watch(work: impl FnOnce()) -> (u64, u64) {
    let before = (sleeps_of_others(), ticks());
    work();
    // The sum shrinks if a thread has ended, which counts as activity.
    (sleeps_of_others().abs_diff(before.0), ticks() - before.1)
}

fn idle_sessions(folder: &tempfile::TempDir) {
    let address = Address::Unix(folder.path().join("idle.sock"));
    let server = Server::bind(&address, ServerOptions::new(Trust::SameUser)).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || {
        server.serve(|stream| {
            let (reader, writer) = stream.halves();
            writer.forward(reader).map(|_| ())
        });
    });
    let options = ClientOptions::new(Trust::SameUser).sessions(4);
    let client = Client::connect(&address, options).unwrap();
    let mut streams: Vec<_> = (0..100).map(|_| client.open().unwrap()).collect();
    for stream in &mut streams {
        stream.send(b"hello").unwrap();
        stream.peek_at_least(5).unwrap();
    }
    // Earlier work ends, on a busy machine late; a thread that wakes by a timer does so in every
    // window.
    let mut seen = Vec::new();
    let idle = (0..5).any(|_| {
        seen.push(watch(|| std::thread::sleep(WATCHED)));
        seen.last().is_some_and(|&(sleeps, ticks)| sleeps == 0 && ticks <= 1)
    });
    assert!(idle, "idle sessions: (sleeps of threads, ticks) in each window: {seen:?}");
    drop((streams, client));
    stopper.stop();
    serving.join().unwrap();
}

fn small() -> ClientOptions {
    ClientOptions::new(Trust::SameUser).buffer_size(1 << 20).slices([(1004, 100)])
}

/// A sender to a peer that takes nothing: the options of `client` decide which resource runs out.
fn stuck_sender(client: ClientOptions) {
    let server = ServerOptions::new(Trust::SameUser);
    let (client, _server) = Session::pair(&client, &server).unwrap();
    let mut stream = client.open().unwrap();
    stream.set_write_timeout(Some(Duration::from_millis(1)));
    let full = loop {
        match stream.send(&[7; 1000]) {
            Ok(()) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(full, StreamError::TimedOut), "{full}");
    stream.set_write_timeout(Some(WATCHED));
    let before = client.statistics().polls;
    let (_, ticks) = watch(|| assert!(stream.send(&[7; 1000]).is_err()));
    let polls = client.statistics().polls - before;
    // Once a millisecond would be 2000.
    assert!((10..150).contains(&polls), "{polls} polls while stuck");
    assert!(ticks <= 5, "a stuck sender took {ticks} ticks");
}

/// A reader that waits, while another stream holds all that may come over the socket.
fn stuck_reader() {
    let session = SessionOptions::new().fallback_limit(1000);
    let session = session.when_exhausted(WhenExhausted::UseSocket);
    let options = small().session(session);
    let (client, server) = Session::pair(&options, &ServerOptions::new(Trust::SameUser)).unwrap();
    let (mut unread, mut waiting) = (client.open().unwrap(), client.open().unwrap());
    unread.send(b"a").unwrap();
    let mut served = server.accept().unwrap();
    served.set_write_timeout(Some(Duration::from_millis(50)));
    // More than the region holds; the rest goes over the socket.
    while served.write(&[7; 100_000]).is_ok() {}
    waiting.set_read_timeout(Some(WATCHED));
    let (before, reads) = (client.statistics().polls, client.statistics().socket_reads);
    let (_, ticks) = watch(|| assert!(waiting.peek().is_err()));
    assert!(client.statistics().fallback_bytes >= 1000);
    let polls = client.statistics().polls - before;
    assert!(polls < 150, "{polls} polls while no more may come");
    assert!(client.statistics().socket_reads - reads < 1000);
    assert!(ticks <= 5, "a stuck reader took {ticks} ticks");
    // Data through the queue is still received.
    waiting.send(b"b").unwrap();
    let mut other = server.accept().unwrap();
    assert_eq!(other.peek_at_least(1).unwrap().unwrap().len(), 1);
}

#[cfg(feature = "tokio")]
fn stuck_task() {
    use breezeway_shmipc::asynchronous;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (client, server) =
        Session::pair(&small().queue_capacity(8), &ServerOptions::new(Trust::SameUser)).unwrap();
    let _server = server;
    runtime.block_on(async {
        let session = asynchronous::Session::new(client).unwrap();
        let mut stream = session.open().unwrap();
        for _ in 0..8 {
            stream.send(b"x").await.unwrap();
        }
        let before = ticks();
        tokio::time::timeout(WATCHED, stream.send(b"x")).await.unwrap_err();
        let ticks = ticks() - before;
        assert!(ticks <= 5, "a stuck task took {ticks} ticks");
    });
}

#[test]
fn idle_and_stuck_sessions_cost_no_cpu() {
    let folder = tempfile::tempdir().unwrap();
    idle_sessions(&folder);
    stuck_sender(small().queue_capacity(8));
    let session = SessionOptions::new().when_exhausted(WhenExhausted::Wait);
    stuck_sender(small().session(session));
    stuck_reader();
    #[cfg(feature = "tokio")]
    stuck_task();
}
