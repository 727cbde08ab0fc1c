//! Many generations of servers in a row, each a process, under load from clients of every kind:
//! `make restarts`. No call fails, no message is lost or doubled, and nothing is left behind.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use breezeway::{Call, HandlerError, Pool, Replied};
use breezeway_tokio::{Address, Client, ClientOptions, Server, ServerOptions, SessionOptions};
use tokio::runtime::Runtime;

use crate::support::{PATIENCE, Process, one_thread, say};

/// Replies with the request.
const ECHO: u32 = 0;
/// Takes a one-way message.
const SINK: u32 = 1;

/// Returns the content of a message: its sender and its number.
fn content(sender: u64, number: u64, len: usize) -> Vec<u8> {
    let mut bytes = [sender.to_le_bytes(), number.to_le_bytes()].concat();
    let word = mixed(sender, number);
    bytes.extend((0..len as u64).map(|at| word.rotate_left((at % 64) as u32) as u8));
    bytes
}

fn mixed(sender: u64, number: u64) -> u64 {
    (sender << 48 ^ number).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// Numbers of messages, as ranges that do not touch: the first of each, and the one behind its
/// last.
#[derive(Debug, Default, PartialEq, Eq)]
struct Numbers(BTreeMap<u64, u64>);

impl Numbers {
    /// Adds a range, of which none may be there.
    fn add(&mut self, mut first: u64, mut behind: u64) {
        if let Some((&before, &end)) = self.0.range(..=first).next_back() {
            assert!(end <= first, "message {first} came twice");
            if end == first {
                first = before;
                self.0.remove(&before);
            }
        }
        if let Some((&after, &end)) = self.0.range(first..).next() {
            assert!(behind <= after, "message {after} came twice");
            if behind == after {
                behind = end;
                self.0.remove(&after);
            }
        }
        self.0.insert(first, behind);
    }
}

/// Numbers of the messages of each sender that have come, each once.
#[derive(Default)]
struct Sunk(Mutex<BTreeMap<u64, Numbers>>);

impl Sunk {
    fn take(&self, bytes: &[u8]) {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let (sender, number) = (word(0), word(8));
        assert!(bytes == content(sender, number, bytes.len() - 16), "a message is not as sent");
        self.add(sender, number, number + 1);
    }

    fn add(&self, sender: u64, first: u64, behind: u64) {
        let mut sunk = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sunk.entry(sender).or_default().add(first, behind);
    }

    fn say(&self) {
        for (sender, numbers) in &*self.0.lock().unwrap() {
            for (first, behind) in &numbers.0 {
                say(format!("{sender} {first} {behind}"));
            }
        }
    }
}

fn options() -> ServerOptions {
    let session = SessionOptions::new().handshake_timeout(PATIENCE);
    ServerOptions::new().take_over(true).drain_timeout(PATIENCE).session(session).workers(2)
}

/// The role: serves calls until it is succeeded, and prints what it has sunk.
pub(crate) fn serve_blocking(address: &Address) {
    let server = breezeway::Server::bind_with(address, options()).unwrap();
    let stopper = server.stopper();
    say("listening");
    let sunk = Arc::new(Sunk::default());
    let sinking = Arc::clone(&sunk);
    let handler = move |call: Call<'_>| -> Result<Replied, HandlerError> {
        let bytes = call.request().to_vec();
        match call.method() {
            SINK => {
                sinking.take(&bytes);
                call.done()
            }
            _ => call.reply(&bytes),
        }
    };
    server.serve(handler).unwrap();
    assert_eq!(stopper.unserved(), breezeway::Unserved::default());
    sunk.say();
}

/// Serves calls and streams like [`serve_blocking`], under tokio.
pub(crate) fn serve_tokio(address: &Address) {
    one_thread().block_on(async {
        let server = Server::bind_with(address, options()).unwrap();
        let stopper = server.stopper();
        say("listening");
        let sunk = Arc::new(Sunk::default());
        let sinking = Arc::clone(&sunk);
        let answer = move |call: breezeway_tokio::OwnedCall| {
            if call.method() == SINK {
                sinking.take(&call.request().to_vec());
            } else {
                let _ = call.echo();
            }
            std::future::ready(())
        };
        server.serve_streams(answer, crate::support::echo_stream).await.unwrap();
        assert_eq!(stopper.unserved(), breezeway::Unserved::default());
        sunk.say();
    });
}

/// A thread that calls until the test is over; returns the number of posted messages.
type Caller = JoinHandle<u64>;

fn caller(over: &Arc<AtomicBool>, mut round: impl FnMut(u64) + Send + 'static) -> Caller {
    let over = Arc::clone(over);
    thread::spawn(move || {
        let mut number = 0;
        while !over.load(Ordering::Relaxed) {
            round(number);
            number += 1;
        }
        number
    })
}

/// Bytes of a round's request: mostly small, now and then large.
fn len(number: u64) -> usize {
    match number % 16 {
        15 => 200_000,
        few => few as usize * 70,
    }
}

struct Clients {
    pool: Arc<Pool>,
    shared: Arc<breezeway::Client>,
    tasks: Arc<Client>,
    runtime: Arc<Runtime>,
}

impl Clients {
    fn new(blocking: &Address, tokio: &Address) -> Self {
        let session = SessionOptions::new().handshake_timeout(PATIENCE);
        let options = || ClientOptions::new().session(session.clone()).max_sessions(2);
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = Arc::new(runtime.worker_threads(1).enable_all().build().unwrap());
        Self {
            pool: Arc::new(Pool::connect_with(blocking, options()).unwrap()),
            shared: Arc::new(breezeway::Client::connect_with(blocking, options()).unwrap()),
            tasks: Arc::new(runtime.block_on(Client::connect_with(tokio, options())).unwrap()),
            runtime,
        }
    }

    /// Eight callers: two share a pool, two a channel, and under tokio two make calls and two have
    /// streams. Their messages are those of senders from `first` on.
    fn start(&self, first: u64, over: &Arc<AtomicBool>) -> Vec<(u64, Caller)> {
        let mut callers = Vec::new();
        for sender in first..first + 8 {
            let (pool, shared) = (Arc::clone(&self.pool), Arc::clone(&self.shared));
            let (tasks, runtime) = (Arc::clone(&self.tasks), Arc::clone(&self.runtime));
            let request = move |number| content(sender, number, len(number));
            callers.push((
                sender,
                match sender - first {
                    0 | 1 => caller(over, move |number| {
                        let request = request(number);
                        assert!(pool.call(ECHO, &request).unwrap().to_vec() == request);
                        pool.session().unwrap().post(SINK, &request).unwrap();
                    }),
                    2 | 3 => caller(over, move |number| {
                        let request = request(number);
                        assert!(shared.call(ECHO, &request).unwrap().to_vec() == request);
                        shared.post(SINK, &request).unwrap();
                    }),
                    4 | 5 => caller(over, move |number| {
                        let request = request(number);
                        runtime.block_on(async {
                            let reply = tasks.call(ECHO, &request).await.unwrap();
                            assert!(reply.to_vec() == request);
                            tasks.post(SINK, &request).await.unwrap();
                        });
                    }),
                    _ => caller(over, move |number| {
                        let request = request(number);
                        runtime.block_on(async {
                            let mut stream = stream(&tasks).await;
                            for _ in 0..4 {
                                stream.send(&request).await.unwrap();
                                let reply = stream.receive().await.unwrap().unwrap();
                                assert!(reply.to_vec() == request);
                            }
                            stream.finish().await.unwrap();
                            assert!(stream.receive().await.unwrap().is_none());
                            tasks.post(SINK, &request).await.unwrap();
                        });
                    }),
                },
            ));
        }
        callers
    }
}

/// A stream, on the successor if the session goes away just now.
async fn stream(client: &Client) -> breezeway_tokio::Stream {
    loop {
        let channel = client.session().await.unwrap();
        match channel.open(ECHO).await {
            Ok(stream) => return stream,
            Err(error) => assert!(channel.is_going_away(), "{error}"),
        }
    }
}

/// Lets so many generations follow each other while the clients call, and gives the last ones.
fn generations(
    count: usize,
    clients: &Clients,
    first: u64,
    addresses: [&Address; 2],
    [mut blocking, mut tokio]: [Process; 2],
    sunk: &Sunk,
    posted: &mut BTreeMap<u64, u64>,
) -> [Process; 2] {
    let over = Arc::new(AtomicBool::new(false));
    let callers = clients.start(first, &over);
    for _ in 0..count {
        for (role, address, serving) in [
            ("blocking generation", addresses[0], &mut blocking),
            ("tokio generation", addresses[1], &mut tokio),
        ] {
            let mut successor = Process::start(role, address);
            assert_eq!(successor.hear(), "listening");
            tally(&mut std::mem::replace(serving, successor), sunk);
        }
    }
    over.store(true, Ordering::Relaxed);
    for (sender, caller) in callers {
        let rounds = caller.join().unwrap();
        assert!(rounds > 0);
        posted.insert(sender, rounds);
        println!("sender {sender}: {rounds} rounds");
    }
    [blocking, tokio]
}

/// Waits for a generation's end, and adds what it has served.
fn tally(generation: &mut Process, sunk: &Sunk) {
    for line in generation.ends() {
        let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        sunk.add(numbers[0], numbers[1], numbers[2]);
    }
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Resident memory, in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
#[ignore = "for make restarts: takes a minute or more"]
fn generations_in_a_row_under_load_lose_and_leave_nothing() {
    let count = std::env::var("GENERATIONS").map_or(200, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    let blocking: Address = format!("shm:{path}/blocking").parse().unwrap();
    let list = format!("shm:{path}/tokio,unix:{path}/tokio-unix,tcp:127.0.0.1:0");
    let tokio: Address = list.parse().unwrap();
    let mut serving = [
        Process::start("blocking generation", &blocking),
        Process::start("tokio generation", &tokio),
    ];
    serving.iter_mut().for_each(|process| assert_eq!(process.hear(), "listening"));
    let clients = Clients::new(&blocking, &format!("unix:{path}/tokio-unix").parse().unwrap());
    let (sunk, mut posted) = (Sunk::default(), BTreeMap::new());
    let addresses = [&blocking, &tokio];
    let warm_up = (count / 10).max(3);
    serving = generations(warm_up, &clients, 0, addresses, serving, &sunk, &mut posted);
    let before = (descriptors(), resident());
    serving = generations(count, &clients, 8, addresses, serving, &sunk, &mut posted);
    let after = (descriptors(), resident());
    drop(clients);
    // The last ones are succeeded without load.
    let roles = ["blocking generation", "tokio generation"];
    for ((role, address), mut last) in roles.into_iter().zip(addresses).zip(serving) {
        let mut successor = Process::start(role, address);
        assert_eq!(successor.hear(), "listening");
        tally(&mut last, &sunk);
        successor.kill();
    }
    let sunk = sunk.0.into_inner().unwrap();
    assert_eq!(sunk.len(), posted.len());
    for (sender, numbers) in sunk {
        // One range, so each has come, and once, since none may come twice.
        assert_eq!(numbers, Numbers([(0, posted[&sender])].into()), "of sender {sender}");
    }
    println!("descriptors and KiB resident: {before:?} before, {after:?} after");
    assert!(after.0 <= before.0, "{before:?} {after:?}");
    assert!(after.1 <= before.1 + 8192, "{before:?} {after:?}");
}

#[test]
#[should_panic(expected = "message 4 came twice")]
fn a_message_that_comes_twice_is_found() {
    let mut numbers = Numbers::default();
    for (first, behind) in [(4, 5), (0, 2), (7, 9), (2, 4), (5, 7)] {
        numbers.add(first, behind);
    }
    assert_eq!(numbers, Numbers([(0, 9)].into()));
    let mut numbers = Numbers([(4, 5)].into());
    numbers.add(3, 5);
}
