//! Tasks that take a turn while the driver of their session sleeps.

use std::future::Future;
use std::iter;
use std::os::fd::{AsFd, AsRawFd};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use breezeway::{
    CallError, Driver, Incoming, Message, Next, PendingCall, SessionOptions, WaitPolicy,
};

use super::drivers::Driven;

/// A session whose client's driver sleeps, and so many of its calls, each polled once.
fn asleep(calls: usize) -> (Driven, Vec<PendingCall>) {
    let mut driven = Driven::new(WaitPolicy::Park);
    let calls = (0..calls).map(|_| start(&driven)).collect();
    driven.client.1.alarm(Waker::noop());
    sleep(&mut driven.client.1);
    (driven, calls)
}

fn start(driven: &Driven) -> PendingCall {
    let mut cx = Context::from_waker(Waker::noop());
    match driven.client.0.poll_start_call(&mut cx, 0, None, b"", None) {
        Poll::Ready(Ok(call)) => call,
        _ => panic!("the call does not start"),
    }
}

fn sleep(driver: &mut Driver) {
    while driver.advance(Waker::noop()) == Next::Turn {}
}

/// The server replies to so many calls, and what it has to send is sent.
fn reply(driven: &mut Driven, calls: usize) {
    let (session, driver) = &mut driven.server;
    driver.turn();
    for _ in 0..calls {
        let Some(Incoming::Call(call)) = session.try_accept() else { panic!("no call") };
        let _ = call.reply(b"reply");
    }
    driver.turn();
}

fn poll(call: &mut PendingCall, waker: &Waker) -> Poll<Result<Message, CallError>> {
    Pin::new(call).poll(&mut Context::from_waker(waker))
}

/// Doorbell bytes that the client has not read.
fn doorbells(driver: &Driver) -> i32 {
    let mut count = 0;
    // SAFETY: an integer goes out, for which there is room.
    unsafe { libc::ioctl(driver.as_fd().as_raw_fd(), libc::FIONREAD, &mut count) };
    count
}

#[test]
fn task_takes_reply_of_sleeping_driver_and_rearms_it() {
    let (mut driven, mut calls) = asleep(1);
    for round in 0..3 {
        assert!(poll(&mut calls[0], Waker::noop()).is_pending());
        let before = doorbells(&driven.client.1);
        reply(&mut driven, 1);
        assert_eq!(doorbells(&driven.client.1), before + 1, "nothing rings in round {round}");
        assert!(poll(&mut calls[0], Waker::noop()).is_ready());
        calls[0] = start(&driven);
    }
}

#[test]
fn task_that_takes_anothers_reply_wakes_that_task() {
    let (mut driven, mut calls) = asleep(2);
    let woken = Woken::default();
    let [one, other] = ["one", "other"].map(|name| woken.waker(name));
    assert!(poll(&mut calls[0], &one).is_pending());
    assert!(poll(&mut calls[1], &other).is_pending());
    reply(&mut driven, 2);
    assert!(poll(&mut calls[1], &other).is_ready());
    assert_eq!(woken.take(), ["one"]);
    assert!(poll(&mut calls[0], &one).is_ready());
}

#[test]
fn a_task_that_is_not_polled_leaves_all_to_the_driver() {
    let (mut driven, mut calls) = asleep(2);
    let woken = Woken::default();
    let [one, other, driver] = ["one", "other", "driver"].map(|name| woken.waker(name));
    assert!(poll(&mut calls[0], &one).is_pending());
    assert!(poll(&mut calls[1], &other).is_pending());
    let alarm = driven.client.1.alarm(&driver);
    reply(&mut driven, 2);
    alarm.wake_by_ref();
    assert_eq!(woken.take(), ["one", "driver"], "the task first");
    driven.client.1.ready(false);
    driven.client.1.turn();
    let mut names = woken.take();
    names.sort();
    assert_eq!(names, ["one", "other"]);
    assert!(poll(&mut calls[1], &other).is_ready());
}

#[test]
fn awake_or_unalarmed_driver_keeps_its_turns() {
    for is_awake in [true, false] {
        let mut driven = Driven::new(WaitPolicy::Park);
        let mut call = start(&driven);
        if is_awake {
            driven.client.1.alarm(Waker::noop());
            driven.client.1.turn();
        } else {
            sleep(&mut driven.client.1);
        }
        reply(&mut driven, 1);
        assert!(poll(&mut call, Waker::noop()).is_pending());
        driven.client.1.turn();
        assert!(poll(&mut call, Waker::noop()).is_ready());
    }
}

#[test]
fn task_that_finds_session_end_wakes_the_driver() {
    let (driven, mut calls) = asleep(1);
    let (_client, mut client_driver) = driven.client;
    let woken = Woken::default();
    let driver = woken.waker("driver");
    assert!(matches!(client_driver.next(&driver), Next::Sleep { .. }));
    drop(driven.server);
    assert!(matches!(poll(&mut calls[0], Waker::noop()), Poll::Ready(Err(_))));
    assert_eq!(woken.take(), ["driver"]);
    assert_eq!(client_driver.next(&driver), Next::End);
}

#[test]
fn drain_ends_once_a_reader_has_taken_the_last_message() {
    let mut driven = Driven::new(WaitPolicy::Park);
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Ok(mut stream)) = driven.client.0.poll_open(&mut cx, 0, None, None) else {
        panic!("there is room for it")
    };
    let woken = Woken::default();
    let waker = woken.waker("driver");
    let (server, driver) = &mut driven.server;
    driver.alarm(&waker);
    driver.turn();
    let Some(Incoming::Stream(_, reader)) = server.try_accept() else { panic!("no stream") };
    let mut reader = Some(reader);
    server.drain(Duration::from_secs(3600));
    while driver.advance(&waker) == Next::Turn {}
    let mut read = doorbells(driver);
    // The client's driver is awake, and rings in its next turn.
    driven.client.1.turn();
    assert!(stream.sender().poll_entry(&mut cx, Some(b"last"), None, true).is_ready());
    for _ in 0..100 {
        while let Some(stream) = &mut reader {
            match stream.receiver().poll_receive(&mut cx) {
                Poll::Ready(Ok(Some(_))) => {}
                Poll::Ready(Ok(None)) => reader = None,
                Poll::Ready(Err(error)) => panic!("{error}"),
                Poll::Pending => break,
            }
        }
        driven.client.1.turn();
        if doorbells(driver) > read || !woken.take().is_empty() {
            driver.ready(false);
            while driver.advance(&waker) == Next::Turn {}
            read = doorbells(driver);
        }
    }
    assert!(reader.is_none() && breezeway::unstable::has_drained(server));
}

/// A reply that waits for a slot may do so for any time, and one that waits for memory for 1 s.
#[test]
fn earlier_deadline_that_a_task_finds_wakes_the_driver() {
    const SLOTS: usize = 8;
    const LEN: usize = 64 << 10;
    let options = SessionOptions::new().wait(WaitPolicy::Park).ring_capacity(SLOTS as u32);
    let mut driven = Driven::with(&options.cap(3 * LEN as u64 / 2));
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Ok(mut stream)) = driven.client.0.poll_open(&mut cx, 0, None, None) else {
        panic!("there is room for it")
    };
    driven.server.1.turn();
    let Some(Incoming::Stream(_, mut reader)) = driven.server.0.try_accept() else {
        panic!("no stream")
    };
    let serve = |driven: &mut Driven, reply: Vec<u8>| {
        let call = start(driven);
        driven.server.1.turn();
        let Some(Incoming::Call(accepted)) = driven.server.0.try_accept() else {
            panic!("no call")
        };
        let _ = accepted.reply(reply);
        call
    };
    let mut first = serve(&mut driven, vec![1; LEN]);
    driven.client.1.turn();
    let Poll::Ready(Ok(kept)) = poll(&mut first, Waker::noop()) else { panic!("no first reply") };
    // These leave no slot for the last reply, which finds no memory either.
    while let Poll::Ready(sent) = reader.sender().poll_send(&mut cx, b"x") {
        sent.unwrap();
    }
    let calls: Vec<_> = (0..SLOTS / 2 - 1).map(|_| serve(&mut driven, vec![1])).collect();
    let last = serve(&mut driven, vec![1; LEN]);
    let woken = Woken::default();
    let (waker, driver) = (woken.waker("driver"), &mut driven.server.1);
    driver.alarm(&waker);
    let mut turns = iter::repeat_with(|| driver.advance(&waker)).take(1_000);
    let asleep = turns.find(|next| *next != Next::Turn);
    assert_eq!(asleep, Some(Next::Sleep { writable: false, at_most: None }));
    // The client makes room for slots, and none in its memory.
    driven.client.1.turn();
    assert!(stream.sender().poll_send(&mut cx, b"x").is_ready());
    driven.client.1.turn();
    assert!(woken.take().is_empty());
    assert!(reader.receiver().poll_receive(&mut cx).is_ready());
    assert_eq!(woken.take(), ["driver"], "it sleeps past the deadline of the last reply");
    drop((kept, calls, last));
}

/// Names of the woken tasks, in order.
#[derive(Clone, Default)]
struct Woken(Arc<Mutex<Vec<&'static str>>>);

struct Named(Woken, &'static str);

impl Wake for Named {
    fn wake(self: Arc<Self>) {
        self.0.0.lock().unwrap().push(self.1);
    }
}

impl Woken {
    fn waker(&self, name: &'static str) -> Waker {
        Waker::from(Arc::new(Named(self.clone(), name)))
    }

    fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}
