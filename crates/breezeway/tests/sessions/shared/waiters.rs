//! A waiter on a shared session is woken by the event that ends its wait, and is forgotten once it
//! has gone.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use breezeway::{
    CallError, ErrorCode, Incoming, Message, SessionOptions, Stream, StreamError, WaitPolicy,
};

use super::drivers::Driven;

/// A task that counts how often it is woken.
#[derive(Default)]
pub(super) struct Task(AtomicUsize);

impl Task {
    pub(super) fn new() -> (Arc<Self>, Waker) {
        let task = Arc::new(Self::default());
        (Arc::clone(&task), Waker::from(task))
    }

    pub(super) fn wakes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn options() -> SessionOptions {
    SessionOptions::new().wait(WaitPolicy::Park)
}

fn open(driven: &mut Driven) -> (Stream, Stream) {
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Ok(here)) = driven.client.0.poll_open(&mut cx, 0, None, None) else {
        panic!("the stream does not open")
    };
    driven.client.1.turn();
    driven.server.1.turn();
    let Some(Incoming::Stream(_, there)) = driven.server.0.try_accept() else {
        panic!("no stream came")
    };
    (here, there)
}

/// A stream on which the server's task waits for memory, as the client keeps all that it was sent.
fn short_of_memory(driven: &mut Driven, waker: &Waker) -> (Stream, Stream, Vec<Message>) {
    static PART: [u8; 64 << 10] = [7; 64 << 10];
    let (mut here, mut there) = open(driven);
    let mut kept = Vec::new();
    while there.sender().poll_send(&mut Context::from_waker(waker), &PART).is_ready() {
        driven.client.1.turn();
        let mut cx = Context::from_waker(Waker::noop());
        match here.receiver().poll_receive(&mut cx) {
            Poll::Ready(Ok(Some(message))) => kept.push(message),
            other => panic!("{other:?}"),
        }
    }
    assert!(kept.len() > 2, "it is memory that is short");
    (here, there, kept)
}

#[test]
fn memory_waiter_is_woken_by_peers_stream_reset() {
    let mut driven = Driven::with(&options().cap(1 << 20).stream_window(1 << 20, 1 << 40));
    let (task, waker) = Task::new();
    let (here, mut there, kept) = short_of_memory(&mut driven, &waker);
    // The next turns bring no memory back.
    for _ in 0..3 {
        driven.server.1.turn();
        let sent = there.sender().poll_send(&mut Context::from_waker(&waker), &[7; 64 << 10]);
        assert!(sent.is_pending());
    }
    let before = task.wakes();
    here.reset(ErrorCode::Application(7));
    driven.client.1.turn();
    driven.server.1.turn();
    assert_eq!(task.wakes(), before + 1);
    let sent = there.sender().poll_send(&mut Context::from_waker(&waker), &[7; 64 << 10]);
    let reset = ErrorCode::Application(7);
    assert!(matches!(sent, Poll::Ready(Err(StreamError::Reset(code))) if code == reset));
    drop(kept);
}

#[test]
fn waiters_for_window_and_reset_do_not_wake_each_other() {
    let mut driven = Driven::with(&options().stream_window(1, 1_000));
    let ((sends, sending), (watches, watching)) = (Task::new(), Task::new());
    let (mut here, mut there) = open(&mut driven);
    let sender = there.sender();
    let (mut sending, mut watching) =
        (Context::from_waker(&sending), Context::from_waker(&watching));
    assert!(sender.poll_send(&mut sending, b"x").is_ready());
    for _ in 0..2 {
        assert!(sender.poll_send(&mut sending, b"y").is_pending(), "its window is used up");
        assert!(sender.poll_reset(&mut watching).is_pending());
        assert_eq!((sends.wakes(), watches.wakes()), (0, 0));
    }
    driven.client.1.turn();
    assert!(here.receiver().try_receive().is_ready());
    driven.client.1.turn();
    driven.server.1.turn();
    assert_eq!((sends.wakes(), watches.wakes()), (1, 0));
    assert!(sender.poll_send(&mut sending, b"y").is_ready());
    assert!(sender.poll_send(&mut sending, b"z").is_pending());
    here.reset(ErrorCode::Application(7));
    driven.client.1.turn();
    driven.server.1.turn();
    assert_eq!((sends.wakes(), watches.wakes()), (2, 1));
}

#[test]
fn memory_waiter_is_woken_by_own_stream_reset() {
    let mut driven = Driven::with(&options().cap(1 << 20).stream_window(1 << 20, 1 << 40));
    let (task, waker) = Task::new();
    let (_here, there, _kept) = short_of_memory(&mut driven, &waker);
    let (mut send, mut receive) = there.split();
    receive.reset(ErrorCode::Cancelled);
    assert_eq!(task.wakes(), 1);
    let sent = send.poll_send(&mut Context::from_waker(&waker), &[7; 64 << 10]);
    assert!(matches!(sent, Poll::Ready(Err(StreamError::Reset(ErrorCode::Cancelled)))));
}

#[test]
fn waiting_openers_are_woken_when_server_goes_away() {
    let mut driven = Driven::with(&options().max_streams(1).ring_capacity(8));
    let mut nobody = Context::from_waker(Waker::noop());
    let (_here, _there) = open(&mut driven);
    let mut calls = Vec::new();
    while let Poll::Ready(call) = driven.client.0.poll_start_call(&mut nobody, 0, None, b"", None) {
        calls.push(call.unwrap());
        // Its window, if not its ring, is to have room for what comes below.
        driven.server.1.turn();
        driven.client.1.turn();
    }
    let (opener, waker) = Task::new();
    let cx = &mut Context::from_waker(&waker);
    assert!(driven.client.0.poll_open_with(cx, 0, None, None, false, None).is_pending());
    let (caller, waker) = Task::new();
    let cx = &mut Context::from_waker(&waker);
    assert!(driven.client.0.poll_start_call(cx, 0, None, b"", None).is_pending());
    driven.server.0.go_away();
    driven.server.1.turn();
    driven.client.1.turn();
    assert_eq!((opener.wakes(), caller.wakes()), (1, 1));
    let again = driven.client.0.poll_start_call(cx, 0, None, b"", None);
    assert!(matches!(again, Poll::Ready(Err(CallError::GoingAway))));
    let again = driven.client.0.poll_open_with(cx, 0, None, None, false, None);
    assert!(matches!(again, Poll::Ready(Err(StreamError::Session(CallError::GoingAway)))));
}

/// Pauses for the time in which waiters must show that they still wait.
fn pause() {
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(10) {
        std::thread::yield_now();
    }
}

#[test]
fn abandoned_waiters_are_forgotten() {
    let mut driven = Driven::with(&options().ring_capacity(8));
    let mut nobody = Context::from_waker(Waker::noop());
    let mut calls = Vec::new();
    while let Poll::Ready(call) = driven.client.0.poll_start_call(&mut nobody, 0, None, b"", None) {
        calls.push(call.unwrap());
        driven.server.1.turn();
        driven.client.1.turn();
    }
    let (patient, patient_waker) = Task::new();
    let wait = |waker: &Waker| {
        let cx = &mut Context::from_waker(waker);
        assert!(driven.client.0.poll_start_call(cx, 0, None, b"", None).is_pending());
    };
    wait(&patient_waker);
    let mut seen = 0;
    let gone: Vec<Weak<Task>> = (0..1000)
        .map(|number| {
            if number % 100 == 0 {
                pause();
            }
            let (task, waker) = Task::new();
            wait(&waker);
            // A woken task polls again.
            if patient.wakes() > seen {
                seen = patient.wakes();
                wait(&patient_waker);
            }
            Arc::downgrade(&task)
        })
        .collect();
    let kept = gone.iter().filter(|task| task.upgrade().is_some()).count();
    assert!(kept <= 300, "{kept} of 1000 tasks that have gone are kept");
    let Some(Incoming::Call(call)) = driven.server.0.try_accept() else { panic!("no call") };
    let _ = call.reply(b"");
    driven.server.1.turn();
    driven.client.1.turn();
    assert_eq!(patient.wakes(), seen + 1, "who still waits is woken by what it waits for");
}
