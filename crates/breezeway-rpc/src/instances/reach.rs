//! The session to one instance: connected before it takes calls, and anew after its end.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready as poll_ready};
use std::time::Duration;

use breezeway::{Address, CallError, SessionOptions};
use breezeway_tokio::Channel;
use tokio::time::sleep;
use tower::Service;

use super::Task;
use crate::error::Error;
use crate::governance::{BoxFuture, CallReply, CallRequest, call};

/// After so many calls in a row that nobody waits for any more, with no answer in between, the
/// instance has to answer a new session's hello before it gets further calls.
pub(super) const LOST_IN_A_ROW: u32 = 3;
/// The first pause between tries to connect, and the longest; each is twice the one before.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));

/// One instance, as a [`tower::Service`]: ready while it has a session over which answers come.
///
/// Clones share the session. Of several that wait for it only the last one is woken: layers that
/// take a clone for each call wait with one of them, as tower has it.
#[derive(Clone)]
pub struct InstanceService {
    name: Arc<str>,
    address: Address,
    options: SessionOptions,
    state: Arc<Mutex<State>>,
}

enum State {
    Connected(Session),
    Connecting(Task<Channel>),
}

#[derive(Clone)]
struct Session {
    channel: Channel,
    /// Calls in a row that were given up.
    lost: Arc<AtomicU32>,
}

impl InstanceService {
    pub(super) fn new(name: Arc<str>, address: Address, options: SessionOptions) -> Self {
        let state = Arc::new(Mutex::new(State::connecting(&name, &address, &options)));
        Self { name, address, options, state }
    }
}

impl State {
    fn connecting(name: &Arc<str>, address: &Address, options: &SessionOptions) -> Self {
        let connecting = connect(Arc::clone(name), address.clone(), options.clone());
        Self::Connecting(Task(tokio::spawn(connecting)))
    }
}

/// Tries until the instance answers.
async fn connect(name: Arc<str>, address: Address, options: SessionOptions) -> Channel {
    let (mut pause, longest) = PAUSES;
    loop {
        match Channel::connect_with(&address, &options).await {
            Ok(channel) => return channel,
            Err(error) => tracing::debug!(instance = &*name, %error, "cannot be reached"),
        }
        sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

impl Session {
    fn new(channel: Channel) -> Self {
        Self { channel, lost: Arc::default() }
    }

    fn is_usable(&self) -> bool {
        !self.channel.is_going_away() && self.lost.load(Ordering::Relaxed) < LOST_IN_A_ROW
    }

    async fn call(self, request: CallRequest) -> Result<CallReply, Error> {
        if request.method.is_stream() {
            // That it is opened says nothing of the other side.
            return call(&self.channel, request).await;
        }
        let mut waiting = Waiting { lost: &self.lost, was_answered: false };
        let outcome = call(&self.channel, request).await;
        waiting.was_answered = !matches!(outcome, Err(Error::Call(CallError::DeadlinePassed)));
        outcome
    }
}

/// A call that somebody waits for.
struct Waiting<'s> {
    lost: &'s AtomicU32,
    was_answered: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.was_answered {
            self.lost.store(0, Ordering::Relaxed);
        } else {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Service<CallRequest> for InstanceService {
    type Response = CallReply;
    type Error = Error;
    type Future = BoxFuture<Result<CallReply, Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let mut state = self.state.lock().expect("nobody panics with the lock");
        loop {
            *state = match &mut *state {
                State::Connected(session) if session.is_usable() => return Poll::Ready(Ok(())),
                State::Connecting(task) => match poll_ready!(Pin::new(&mut task.0).poll(cx)) {
                    Ok(channel) => State::Connected(Session::new(channel)),
                    // The runtime ends, or connecting panicked.
                    Err(error) => return Poll::Ready(Err(Error::Layer(error.into()))),
                },
                State::Connected(_) => State::connecting(&self.name, &self.address, &self.options),
            }
        }
    }

    fn call(&mut self, request: CallRequest) -> Self::Future {
        let session = match &*self.state.lock().expect("nobody panics with the lock") {
            State::Connected(session) => session.clone(),
            State::Connecting(_) => return Box::pin(ready(Err(CallError::Ended.into()))),
        };
        if let Some(route) = &request.options.route {
            route.set_instance(&self.name);
        }
        Box::pin(session.call(request))
    }
}
