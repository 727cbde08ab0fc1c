//! The service as a client sees it, case by case. A case panics if its condition does not hold.

use std::io::Read;
use std::time::{Duration, Instant};

use breezeway::{Address, CallError, ConnectError, Session as BlockingChannel};
use breezeway_tokio::{Carrier, Client, ClientOptions, ErrorCode, Session, StreamError};

use crate::service::{
    BOUNCE, CAP, COLLECT, ECHO, EXPAND, GIVEN_UP, HELD, HOLD, LEAVE, MAX_METADATA, MAX_SESSIONS,
    MAX_STREAMS, OPEN_GATE, PATIENCE, RESET, RESET_CODE, SLOW, STREAM_PATIENCE, TRAILER, WHO,
    content, session_options,
};

/// Longer than anything here takes that does not hang.
const SOON: Duration = Duration::from_secs(60);
const LARGEST: usize = 64 << 20;
/// Largest value that a server may receive for 5 s: the encoding rounds up (`docs/abi.md`, section
/// 4.4).
const MOST_TOLD: u64 = 5_100;
/// The window that a server grants by default.
const WINDOW: usize = 64;

/// Runs the case of this name.
pub(crate) fn run(address: Address, case: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        if case == "moves" {
            return moves(&address).await;
        }
        let shared = connect(&address).await;
        let done = tokio::time::timeout(SOON, async {
            match case {
                "sizes" => sizes(&shared).await,
                "streams" => streams(&shared).await,
                "crowd" => crowd(&shared).await,
                "cancellation" => cancellation(&shared).await,
                "deadlines" => deadlines(&shared).await,
                "back-pressure" => back_pressure(&shared).await,
                "limits" => limits(&shared, &address).await,
                "memory" => memory(&shared).await,
                "growth" => growth(&address),
                "drain" => drain(&shared).await,
                "hold" => hold(&shared).await,
                _ => panic!("no case {case}"),
            }
        });
        done.await.expect("the case hangs");
    });
}

/// Connects once a server with too many sessions has noticed that some are gone.
async fn connect(address: &Address) -> Session {
    let begun = Instant::now();
    loop {
        match Session::connect_with(address, &session_options()).await {
            Ok(shared) => return shared,
            Err(ConnectError::Handshake(_)) if begun.elapsed() < SOON => {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Err(error) => panic!("no session: {error}"),
        }
    }
}

async fn sizes(shared: &Session) {
    let sizes = [0, 1, 7, 39, 40, 41, 103, 104, 105, 4096, 65_537, 1 << 20, 5 << 20, LARGEST];
    for (number, size) in sizes.into_iter().enumerate() {
        let request = content(size, number);
        let reply = shared.call(ECHO, &request).await.expect("an echo");
        assert!(reply.to_vec() == request, "{size} bytes came back otherwise");
    }
    let request = content(500, 3);
    let reply = shared.request(ECHO).metadata(b"about it").send(&request).await.expect("an echo");
    assert_eq!(reply.metadata(), Some(&b"about it"[..]));
    assert_eq!(reply.to_vec(), request);
}

async fn streams(shared: &Session) {
    bounce(shared, 300).await;
    collect(shared).await;
    expand(shared).await;
    let mut reset = shared.open(RESET).await.expect("a stream");
    reset.send(b"reset me").await.expect("room");
    match reset.receive().await {
        Err(StreamError::Reset(code)) => assert_eq!(code, RESET_CODE),
        other => panic!("{:?}", other.map(|message| message.is_some())),
    }
    drop(shared.open(BOUNCE).await.expect("a stream")); // Which resets it.
    bounce(shared, 3).await;
}

async fn bounce(shared: &Session, count: usize) {
    let (mut send, mut receive) = shared.open(BOUNCE).await.expect("a stream").split();
    let sending = tokio::spawn(async move {
        for number in 0..count {
            send.send(&content(number * 97 % 9000, number)).await.expect("room");
        }
        send.finish().await.expect("the end");
        send
    });
    for number in 0..count {
        let message = receive.receive().await.expect("a message").expect("no end yet");
        assert!(message.to_vec() == content(number * 97 % 9000, number), "message {number}");
    }
    assert!(receive.receive().await.expect("the end").is_none());
    drop(sending.await.expect("it does not panic"));
}

/// Returns the count and the sum that [`COLLECT`] returns for these messages.
fn sum_of(count: usize) -> [u8; 16] {
    let sums =
        (0..count).map(|number| content(200, number).into_iter().map(u64::from).sum::<u64>());
    let both = [(count as u64).to_le_bytes(), sums.sum::<u64>().to_le_bytes()];
    both.concat().try_into().expect("16 bytes")
}

async fn collect(shared: &Session) {
    let mut stream = shared.request(COLLECT).metadata(b"begin").open().await.expect("a stream");
    for number in 0..100 {
        stream.send(&content(200, number)).await.expect("room");
    }
    stream.finish().await.expect("the end");
    let sum = stream.receive().await.expect("a message").expect("no end yet");
    assert_eq!(sum.to_vec(), sum_of(100));
    assert!(stream.receive().await.expect("the end").is_none());
}

async fn expand(shared: &Session) {
    let mut stream = shared.open(EXPAND).await.expect("a stream");
    stream.send(&250u64.to_le_bytes()).await.expect("room");
    stream.finish().await.expect("the end");
    for number in 0..250 {
        let message = stream.receive().await.expect("a message").expect("no end yet");
        assert!(message.to_vec() == content(number * 37 % 5000, number), "message {number}");
    }
    let trailer = stream.receive().await.expect("the end").expect("the trailer");
    assert_eq!((trailer.is_message(), trailer.metadata()), (false, Some(TRAILER)));
}

/// Five hundred tasks that call, and as many streams, on one session.
async fn crowd(shared: &Session) {
    let tasks: Vec<_> = (0..500)
        .map(|task| {
            let shared = shared.clone();
            tokio::spawn(async move {
                for round in 0..10 {
                    let request = content(8 + task * round % 3000, task);
                    let reply = shared.call(ECHO, &request).await.expect("an echo");
                    assert!(reply.to_vec() == request, "task {task} got another's reply");
                }
                bounce(&shared, 3).await;
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("it does not panic");
    }
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
}

async fn given_up(shared: &Session) -> u64 {
    number(&shared.call(GIVEN_UP, &[]).await.expect("a number").to_vec())
}

/// Waits until the server has counted `count` calls that were given up.
async fn until_given_up(shared: &Session, count: u64) {
    while given_up(shared).await < count {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn cancellation(shared: &Session) {
    let before = given_up(shared).await;
    let before_held = number(&shared.call(HELD, &[]).await.expect("a number").to_vec());
    let (one, other) = (shared.clone(), shared.clone());
    let calls = [
        tokio::spawn(async move { one.call(HOLD, b"small").await.map(drop) }),
        tokio::spawn(async move { other.call(HOLD, &[1; 5000]).await.map(drop) }),
    ];
    while number(&shared.call(HELD, &[]).await.expect("a number").to_vec()) < before_held + 2 {
        tokio::task::yield_now().await;
    }
    for call in calls {
        call.abort();
    }
    until_given_up(shared, before + 2).await;
}

async fn deadlines(shared: &Session) {
    let before = given_up(shared).await;
    let deadline = Instant::now() + Duration::from_millis(20);
    match shared.request(HOLD).deadline(deadline).send(&[]).await {
        // The server has the deadline as well, and may be the first to give up.
        Err(CallError::DeadlinePassed | CallError::Failed { code: ErrorCode::Cancelled, .. }) => {}
        other => panic!("{:?}", other.map(drop)),
    }
    until_given_up(shared, before + 1).await;
    let deadline = Instant::now() + Duration::from_secs(5);
    let told = shared.request(PATIENCE).deadline(deadline).send(&[]).await.expect("a number");
    assert!((1..=MOST_TOLD).contains(&number(&told.to_vec())), "{:?}", told.to_vec());
    let told = shared.call(PATIENCE, &[]).await.expect("a number");
    assert_eq!(number(&told.to_vec()), 0);
    let opened = shared.request(STREAM_PATIENCE).timeout(Duration::from_secs(5)).open().await;
    let told = opened.expect("a stream").receive().await.expect("a message").expect("no end");
    assert!((1..=MOST_TOLD).contains(&number(&told.to_vec())), "{:?}", told.to_vec());
}

/// Checks that a stream without a reader stops at its window, and that nothing else stops.
async fn back_pressure(shared: &Session) {
    const COUNT: usize = 4 * WINDOW;
    let (mut send, mut receive) = shared.open(SLOW).await.expect("a stream").split();
    for number in 0..WINDOW {
        send.send(&content(200, number)).await.expect("room");
    }
    let next = content(200, WINDOW);
    let stuck = tokio::time::timeout(Duration::from_millis(50), send.send(&next)).await;
    assert!(stuck.is_err(), "more than the window was sent");
    bounce(shared, 300).await;
    shared.call(OPEN_GATE, &[]).await.expect("the gate opens");
    for number in WINDOW..COUNT {
        send.send(&content(200, number)).await.expect("room");
    }
    send.finish().await.expect("the end");
    let sum = receive.receive().await.expect("a message").expect("no end yet");
    assert_eq!(sum.to_vec(), sum_of(COUNT));
}

async fn limits(shared: &Session, address: &Address) {
    let too_large = shared.call(ECHO, &vec![0; CAP + 1]).await;
    assert!(matches!(too_large, Err(CallError::TooLarge { .. })));
    let too_much = shared.request(ECHO).metadata(&[0; MAX_METADATA + 1]).send(&[]).await;
    assert!(matches!(too_much, Err(CallError::TooMuchMetadata { .. })));
    match shared.call(99, &[]).await {
        Err(CallError::Failed { code: ErrorCode::NoSuchMethod, .. }) => {}
        other => panic!("{:?}", other.map(drop)),
    }
    let mut streams = Vec::new();
    for _ in 0..MAX_STREAMS {
        streams.push(shared.open(BOUNCE).await.expect("a stream"));
    }
    match shared.open(BOUNCE).await {
        Err(StreamError::TooMany(count)) => assert_eq!(count, MAX_STREAMS),
        other => panic!("{:?}", other.map(drop)),
    }
    streams.clear();
    // Their numbers are free once the server has answered that they were reset.
    while shared.open(BOUNCE).await.is_err() {
        shared.call(ECHO, &[]).await.expect("an echo");
    }
    let mut sessions = Vec::new();
    while sessions.len() < MAX_SESSIONS {
        match Session::connect_with(address, &session_options()).await {
            Ok(session) => sessions.push(session),
            Err(_) => break,
        }
    }
    assert_eq!(sessions.len(), MAX_SESSIONS - 1, "sessions beside the first one");
    sessions.clear();
    connect(address).await;
}

/// Checks that a client that keeps lent memory gets `NoMemory`, and can call again once it gives
/// the memory back.
async fn memory(shared: &Session) {
    let request = content(18 << 20, 1);
    let mut kept = Vec::new();
    let failure = loop {
        match shared
            .request(ECHO)
            .deadline(Instant::now() + Duration::from_secs(1))
            .send(&request)
            .await
        {
            Ok(reply) => kept.push(reply),
            Err(error) => break error,
        }
        if shared.carrier() != Carrier::Shm && kept.len() == 8 {
            return; // A socket lends nothing.
        }
        assert!(kept.len() < 8, "more than the cap is lent");
    };
    // A server may wait for memory as long as its client does.
    let is_no_memory = matches!(
        &failure,
        CallError::Failed { code: ErrorCode::NoMemory, .. } | CallError::DeadlinePassed
    );
    assert!(is_no_memory, "{failure}");
    drop(kept);
    shared.call(ECHO, &request).await.expect("an echo, after all was given back");
}

/// Segments grow with the messages, and go once traffic does without them.
fn growth(address: &Address) {
    let shared = BlockingChannel::connect_with(address, &session_options()).expect("a session");
    let memory = || shared.stats().totals.own_memory + shared.stats().totals.peer_memory;
    let mut size = 1000;
    while size < 40 << 20 {
        let request = content(size, size);
        let reply = shared.call(ECHO, &request).expect("an echo");
        assert!(reply.to_vec() == request, "{size} bytes came back otherwise");
        size *= 3;
    }
    assert!(memory() > 32 << 20, "{} bytes are mapped", memory());
    let began = Instant::now();
    while memory() > 2 << 20 {
        shared.call(ECHO, &content(1000, 2)).expect("an echo");
        assert!(began.elapsed() < SOON, "{} bytes are still mapped", memory());
    }
}

/// Checks that a server that leaves finishes open calls and streams, and takes no new ones.
async fn drain(shared: &Session) {
    let mut stream = shared.open(BOUNCE).await.expect("a stream");
    shared.call(LEAVE, &[]).await.expect("a reply");
    loop {
        stream.send(b"still open").await.expect("room");
        let back = stream.receive().await.expect("a message").expect("no end yet");
        assert_eq!(back.to_vec(), b"still open");
        match shared.call(ECHO, &[]).await {
            Ok(_) => {}
            Err(error) if !error.may_have_run() && shared.is_going_away() => break,
            Err(error) => panic!("{error}"),
        }
    }
    stream.finish().await.expect("the end");
    assert!(stream.receive().await.expect("the end").is_none());
}

/// Calls until standard input ends, by when another server has taken over: no call fails.
async fn moves(address: &Address) {
    let options = ClientOptions::new().session(session_options());
    let client = Client::connect_with(address, options).await.expect("a session");
    let first = client.call(WHO, &[]).await.expect("who serves").to_vec();
    println!("calling");
    let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let mut count = 0;
    while !ended.is_finished() {
        let request = content(count * 53 % 9000, count);
        let reply = client.call(ECHO, &request).await.expect("no call fails");
        assert!(reply.to_vec() == request, "call {count} came back otherwise");
        count += 1;
    }
    let last = client.call(WHO, &[]).await.expect("who serves").to_vec();
    assert_ne!(first, last, "the client has stayed, after {count} calls");
}

/// Prints that a call is pending, which ends with the server's death.
async fn hold(shared: &Session) {
    let count = async || number(&shared.call(HELD, &[]).await.expect("a number").to_vec());
    // Other clients may have been held before.
    let (held, before) = (shared.clone(), count().await);
    let call = tokio::spawn(async move { held.call(HOLD, &[2; 5000]).await.map(drop) });
    while count().await == before {
        tokio::task::yield_now().await;
    }
    println!("holding");
    let error = call.await.expect("it does not panic").expect_err("nobody replies");
    assert!(error.to_string().contains("died"), "{error}");
}
