//! The honest end of a shared session. Its calls and streams are polled step by step and wait for
//! nothing.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use arbitrary::Arbitrary;
use breezeway::{
    Driver, ErrorCode, Incoming, Message, Next, OwnedCall, PendingCall, ServerSession, Session,
    Stream, WaitPolicy,
};

use crate::hung_up::read;

/// One thing that the honest side does.
#[derive(Arbitrary, Debug)]
pub(crate) enum Use {
    Turn,
    Advance,
    Sleep,
    Ready { gone: bool },
    Accept,
    GoAway,

    Call { method: u8, metadata: Option<u8>, len: u16 },
    Answer(u8),
    GiveUp(u8),
    Post(u16),

    Open { metadata: Option<u8>, message: Option<u16>, last: bool },
    Send { which: u8, metadata: Option<u8>, message: Option<u16>, last: bool },
    Receive(u8),
    AwaitReset(u8),
    ResetStream(u8),
    DropStream(u8),

    Reply { which: u8, metadata: Option<u8>, len: u16 },
    Echo(u8),
    Fail(u8),
    DropCall(u8),

    ReadKept(u8),
    DropKept(u8),
}

/// Bytes of metadata that both sides take.
const MAX_METADATA: u32 = 64;
/// Largest number of each that the application holds.
const MOST_HELD: usize = 64;

enum End {
    Client(Session),
    Server(ServerSession),
}

/// The honest end.
pub(crate) struct Honest {
    // Given up in this order: a driver that has ended its session leaves nothing to wait for.
    driver: Driver,
    calls: Vec<OwnedCall>,
    pending: Vec<Pin<Box<PendingCall>>>,
    streams: Vec<Stream>,
    kept: Vec<Message>,
    end: End,
    bytes: Vec<u8>,
}

/// Returns the options that both targets share.
pub(crate) fn options() -> breezeway::SessionOptions {
    breezeway::SessionOptions::new()
        .wait(WaitPolicy::Park)
        .ring_capacity(64)
        .cap(1 << 20)
        .stream_window(4, 1000)
        .max_streams(4)
        .max_metadata(MAX_METADATA)
}

/// Keeps as many as are held at most.
fn hold<T>(of: &mut Vec<T>, what: T) {
    if of.len() == MOST_HELD {
        of.remove(0);
    }
    of.push(what);
}

fn at<T>(of: &mut [T], which: u8) -> Option<&mut T> {
    let index = usize::from(which).checked_rem(of.len())?;
    of.get_mut(index)
}

fn take<T>(of: &mut Vec<T>, which: u8) -> Option<T> {
    let index = usize::from(which).checked_rem(of.len())?;
    Some(of.swap_remove(index))
}

/// No more comes than was agreed.
fn check_metadata(message: &Message) {
    let len = message.metadata().map_or(0, <[u8]>::len);
    assert!(len <= MAX_METADATA as usize, "{len} bytes of metadata");
}

/// Checks that an error has a message.
fn judged<T, E: std::fmt::Display>(outcome: Poll<Result<T, E>>) -> Option<T> {
    match outcome {
        Poll::Pending => None,
        Poll::Ready(Ok(value)) => Some(value),
        Poll::Ready(Err(error)) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

impl Honest {
    pub(crate) fn client((session, driver): (Session, Driver)) -> Self {
        Self::new(End::Client(session), driver)
    }

    pub(crate) fn server((session, driver): (ServerSession, Driver)) -> Self {
        Self::new(End::Server(session), driver)
    }

    fn new(end: End, driver: Driver) -> Self {
        let bytes = vec![3; 1 << 16];
        let (calls, pending) = (Vec::new(), Vec::new());
        Self { driver, calls, pending, streams: Vec::new(), kept: Vec::new(), end, bytes }
    }

    /// Does one step; returns false once the session is over.
    pub(crate) fn apply(&mut self, usage: &Use) -> bool {
        let cx = &mut Context::from_waker(Waker::noop());
        match usage {
            Use::Turn => {
                self.driver.turn();
            }
            Use::Advance => return self.driver.advance(Waker::noop()) != Next::End,
            Use::Sleep => return self.driver.next(Waker::noop()) != Next::End,
            Use::Ready { gone } => self.driver.ready(*gone),
            Use::Accept => self.accept(cx),
            Use::GoAway => {
                if let End::Server(session) = &self.end {
                    session.go_away();
                }
            }
            Use::Call { method, metadata, len } => {
                if let End::Client(session) = &self.end {
                    let metadata = metadata.map(|len| &self.bytes[..len.into()]);
                    let request = &self.bytes[..usize::from(*len)];
                    let method = u32::from(*method);
                    let sent = session.poll_start_call(cx, method, metadata, request, None);
                    if let Some(call) = judged(sent) {
                        hold(&mut self.pending, Box::pin(call));
                    }
                }
            }
            Use::Answer(which) => self.answer(cx, *which),
            Use::GiveUp(which) => drop(take(&mut self.pending, *which)),
            Use::Post(len) => {
                if let End::Client(session) = &self.end {
                    judged(session.poll_post(cx, 2, None, &self.bytes[..usize::from(*len)]));
                }
            }
            Use::Open { metadata, message, last } => self.open(cx, *metadata, *message, *last),
            Use::Send { which, metadata, message, last } => {
                let metadata = metadata.map(|len| &self.bytes[..len.into()]);
                let message = message.map(|len| &self.bytes[..usize::from(len)]);
                if let Some(stream) = at(&mut self.streams, *which) {
                    judged(stream.sender().poll_entry(cx, message, metadata, *last));
                }
            }
            Use::Receive(which) => {
                let Some(stream) = at(&mut self.streams, *which) else { return true };
                if let Some(Some(message)) = judged(stream.receiver().poll_receive(cx)) {
                    check_metadata(&message);
                    hold(&mut self.kept, message);
                }
            }
            Use::AwaitReset(which) => {
                if let Some(stream) = at(&mut self.streams, *which)
                    && let Poll::Ready(error) = stream.sender().poll_reset(cx)
                {
                    assert!(!error.to_string().is_empty());
                }
            }
            Use::ResetStream(which) => {
                if let Some(stream) = take(&mut self.streams, *which) {
                    stream.reset(ErrorCode::Application(7));
                }
            }
            Use::DropStream(which) => drop(take(&mut self.streams, *which)),
            Use::Reply { which, metadata, len } => {
                let bytes = &self.bytes[..usize::from(*len)];
                if let Some(call) = take(&mut self.calls, *which) {
                    let _ = match metadata {
                        None => call.reply(bytes),
                        Some(len) => {
                            call.reply_with_metadata(&self.bytes[..usize::from(*len)], bytes)
                        }
                    };
                }
            }
            Use::Echo(which) => {
                if let Some(call) = take(&mut self.calls, *which) {
                    let _ = call.echo();
                }
            }
            Use::Fail(which) => {
                if let Some(call) = take(&mut self.calls, *which) {
                    let _ = call.fail(ErrorCode::Application(1), "a failure");
                }
            }
            Use::DropCall(which) => drop(take(&mut self.calls, *which)),
            Use::ReadKept(which) => {
                if let Some(message) = at(&mut self.kept, *which) {
                    read(message.bytes());
                }
            }
            Use::DropKept(which) => drop(take(&mut self.kept, *which)),
        }
        true
    }

    fn accept(&mut self, cx: &mut Context<'_>) {
        match &self.end {
            End::Client(session) => {
                if let Some((_, stream)) = judged(session.poll_accept(cx)) {
                    hold(&mut self.streams, stream);
                }
            }
            End::Server(session) => match session.try_accept() {
                Some(Incoming::Call(call)) => {
                    read(call.request());
                    check_metadata(call.message());
                    let in_flight = self.calls.iter().filter(|call| !call.is_one_way()).count();
                    // Half of a ring, as both sides have agreed.
                    assert!(in_flight <= 32, "{in_flight} calls are in flight");
                    hold(&mut self.calls, call);
                }
                Some(Incoming::Stream(_, stream)) => hold(&mut self.streams, stream),
                None => {}
            },
        }
    }

    fn answer(&mut self, cx: &mut Context<'_>, which: u8) {
        let Some(index) = usize::from(which).checked_rem(self.pending.len()) else { return };
        let answer = self.pending[index].as_mut().poll(cx);
        if answer.is_ready() {
            drop(self.pending.swap_remove(index));
        }
        if let Some(message) = judged(answer) {
            check_metadata(&message);
            hold(&mut self.kept, message);
        }
    }

    fn open(
        &mut self,
        cx: &mut Context<'_>,
        metadata: Option<u8>,
        message: Option<u16>,
        last: bool,
    ) {
        let metadata = metadata.map(|len| &self.bytes[..len.into()]);
        let message = message.map(|len| &self.bytes[..usize::from(len)]);
        let opened = match &self.end {
            End::Client(session) => session.poll_open_with(cx, 1, metadata, message, last, None),
            End::Server(session) => session.poll_open(cx, 1, metadata),
        };
        if let Some(stream) = judged(opened) {
            hold(&mut self.streams, stream);
        }
    }
}
