//! The session to one instance, or the connections to one without sessions: connected before it
//! takes calls, and reconnected after its end.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use breezeway::{Address, CallError, SessionOptions};
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use tokio::time::sleep;
use tower::Service;

use super::Task;
use super::line::Line;
use crate::error::Error;
use crate::governance::{BoxFuture, CallReply, CallRequest};
use crate::kitex::ThriftFraming;

/// Number of consecutive abandoned calls, with no answer in between, after which the instance has
/// to answer a new session's hello before it gets further calls.
pub(super) const LOST_IN_A_ROW: u32 = 3;
/// First pause between tries to connect, and the longest; each is twice the one before.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));

/// One instance, as a [`tower::Service`]: ready while it has a session over which answers come.
///
/// Clones share the session, and all that wait for it are woken once it is there.
pub struct InstanceService {
    to: Arc<To>,
    state: Arc<Mutex<State>>,
    connected: Arc<Connected>,
    /// Set while this clone waits.
    waiting: Option<Pin<Box<OwnedNotified>>>,
}

/// Address of an instance, and options for calling it.
pub(super) struct To {
    pub(super) name: Arc<str>,
    pub(super) address: Address,
    pub(super) options: SessionOptions,
    /// Framing of an instance without sessions.
    pub(super) framing: Option<ThriftFraming>,
}

/// Wakes all clones.
struct Connected(Arc<Notify>);

impl Wake for Connected {
    fn wake(self: Arc<Self>) {
        self.0.notify_waiters();
    }
}

impl Clone for InstanceService {
    fn clone(&self) -> Self {
        Self {
            to: Arc::clone(&self.to),
            state: Arc::clone(&self.state),
            connected: Arc::clone(&self.connected),
            waiting: None,
        }
    }
}

enum State {
    Connected(Session),
    Connecting(Task<Line>),
}

#[derive(Clone)]
struct Session {
    line: Line,
    /// Consecutive calls that were given up.
    lost: Arc<AtomicU32>,
    /// True if a connection could not be made, or was cut.
    failed: Arc<AtomicBool>,
}

impl InstanceService {
    pub(super) fn new(to: To) -> Self {
        let to = Arc::new(to);
        let state = Arc::new(Mutex::new(State::connecting(&to, false)));
        let connected = Arc::new(Connected(Arc::default()));
        Self { to, state, connected, waiting: None }
    }

    fn poll_session(&self) -> Poll<Result<(), Error>> {
        let mut state = self.state.lock().expect("no panic under the lock");
        loop {
            *state = match &mut *state {
                State::Connected(session) if session.is_usable() => return Poll::Ready(Ok(())),
                State::Connecting(task) => {
                    let all = Waker::from(Arc::clone(&self.connected));
                    match Pin::new(&mut task.0).poll(&mut Context::from_waker(&all)) {
                        Poll::Pending => return Poll::Pending,
                        Poll::Ready(Ok(line)) => State::Connected(Session::new(line)),
                        // The runtime ends, or connecting panicked.
                        Poll::Ready(Err(error)) => {
                            return Poll::Ready(Err(Error::Layer(error.into())));
                        }
                    }
                }
                State::Connected(session) => State::connecting(&self.to, session.has_hung()),
            }
        }
    }
}

impl State {
    fn connecting(to: &Arc<To>, has_hung: bool) -> Self {
        Self::Connecting(Task(tokio::spawn(connect(Arc::clone(to), has_hung))))
    }
}

/// Connects repeatedly until the instance answers.
async fn connect(to: Arc<To>, has_hung: bool) -> Line {
    let (mut pause, longest) = PAUSES;
    loop {
        match Line::connect(&to, has_hung).await {
            Ok(line) => return line,
            Err(error) => {
                let reason = breezeway::describe(&error);
                tracing::debug!(instance = &*to.name, error = reason, "cannot be reached");
            }
        }
        sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

impl Session {
    fn new(line: Line) -> Self {
        Self { line, lost: Arc::default(), failed: Arc::default() }
    }

    fn is_usable(&self) -> bool {
        !self.line.is_going_away() && !self.failed.load(Ordering::Relaxed) && !self.has_hung()
    }

    fn has_hung(&self) -> bool {
        self.lost.load(Ordering::Relaxed) >= LOST_IN_A_ROW
    }

    async fn call(self, request: CallRequest) -> Result<CallReply, Error> {
        if request.method.is_stream() {
            // Opening a stream does not show that the peer answers.
            return self.line.call(request).await;
        }
        let is_oneway = request.method.oneway;
        let mut waiting = Waiting { lost: &self.lost, end: End::GivenUp };
        let outcome = self.line.call(request).await;
        if let Err(Error::Connecting(..) | Error::Connect(_) | Error::Io(_)) = outcome {
            self.failed.store(true, Ordering::Relaxed);
        }
        waiting.end = match &outcome {
            Err(Error::Call(CallError::DeadlinePassed)) => End::GivenUp,
            Ok(_) if is_oneway => End::Unknown,
            Ok(_) | Err(Error::Call(CallError::Failed { .. })) => End::Answered,
            Err(Error::Application(_) | Error::Business(_) | Error::Reply(_)) => End::Answered,
            // It failed on this side, or with the session.
            Err(_) => End::Unknown,
        };
        outcome
    }
}

/// A call with a waiting caller.
struct Waiting<'s> {
    lost: &'s AtomicU32,
    end: End,
}

/// Outcome of a call.
enum End {
    GivenUp,
    Answered,
    /// Unknown: a oneway call that was sent may not have been received.
    Unknown,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        match self.end {
            End::Answered => self.lost.store(0, Ordering::Relaxed),
            End::GivenUp => {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
            End::Unknown => {}
        }
    }
}

impl Service<CallRequest> for InstanceService {
    type Response = CallReply;
    type Error = Error;
    type Future = BoxFuture<Result<CallReply, Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        loop {
            // Before the session is checked, so that a notification in between is not missed.
            if let Some(waiting) = &mut self.waiting
                && waiting.as_mut().poll(cx).is_ready()
            {
                self.waiting = None;
            }
            let polled = self.poll_session();
            if polled.is_ready() {
                self.waiting = None;
                return polled;
            }
            if self.waiting.is_some() {
                return Poll::Pending;
            }
            let connected = Arc::clone(&self.connected.0);
            self.waiting = Some(Box::pin(connected.notified_owned()));
        }
    }

    fn call(&mut self, request: CallRequest) -> Self::Future {
        let session = match &*self.state.lock().expect("no panic under the lock") {
            State::Connected(session) => session.clone(),
            State::Connecting(_) => return Box::pin(ready(Err(CallError::Ended.into()))),
        };
        if let Some(route) = &request.options.route {
            route.set_instance(&self.to.name);
        }
        Box::pin(session.call(request))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io;

    use breezeway_tokio::Server;
    use tempfile::tempdir;
    use tokio::task::JoinSet;
    use tokio::time::timeout;
    use tower::ServiceExt;

    use super::*;
    use crate::CallOptions;
    use crate::method::Method;
    use crate::thrift::Streaming;

    /// Time limit for events that must come.
    const PATIENCE: Duration = Duration::from_secs(30);

    fn instance(address: &Address) -> InstanceService {
        let (name, options) = ("one".into(), SessionOptions::new());
        InstanceService::new(To { name, address: address.clone(), options, framing: None })
    }

    fn request(oneway: bool, options: CallOptions) -> CallRequest {
        let method = Method::new("S", "m", oneway, Streaming::None);
        CallRequest { method, arguments: vec![0].into(), options }
    }

    #[tokio::test]
    async fn all_clones_that_wait_are_woken() -> io::Result<()> {
        let folder = tempdir()?;
        let address = Address::shm(folder.path().join("socket"));
        let instance = instance(&address);
        let mut waiting = JoinSet::new();
        for number in 0..3 {
            let mut clone = instance.clone();
            waiting.spawn(async move { clone.ready().await.map(|_| number).unwrap() });
        }
        // They wait by then: the server does not exist yet.
        tokio::task::yield_now().await;
        let server = Server::bind(&address).unwrap();
        let stopper = server.stopper();
        let serving = tokio::spawn(server.serve(|call| async move { call.echo() }));
        let mut woken = BTreeSet::new();
        while let Some(number) = timeout(PATIENCE, waiting.join_next()).await.unwrap() {
            woken.insert(number.unwrap());
        }
        assert_eq!(woken.len(), 3);
        drop(instance);
        stopper.stop();
        serving.await.unwrap().unwrap();
        Ok(())
    }

    #[tokio::test]
    async fn oneway_message_does_not_count_as_an_answer() -> io::Result<()> {
        let folder = tempdir()?;
        let address = Address::shm(folder.path().join("socket"));
        let server = Server::bind(&address).unwrap();
        let stopper = server.stopper();
        let serving = tokio::spawn(server.serve(|call| async move {
            // Calls with a reply get none, as from a server that hangs.
            if !call.is_one_way() {
                std::future::pending::<()>().await;
            }
        }));
        let mut instance = instance(&address);
        let first = |instance: &InstanceService| match &*instance.state.lock().unwrap() {
            State::Connected(session) => Arc::clone(&session.lost),
            State::Connecting(_) => panic!("not connected"),
        };
        timeout(PATIENCE, instance.ready()).await.unwrap().unwrap();
        let lost = first(&instance);
        for given_up in 1..=LOST_IN_A_ROW {
            let options = CallOptions::new().timeout(Duration::from_millis(10));
            let outcome = instance.call(request(false, options)).await;
            assert!(matches!(outcome, Err(Error::Call(CallError::DeadlinePassed))), "{outcome:?}");
            instance.call(request(true, CallOptions::new())).await.unwrap();
            assert_eq!(lost.load(Ordering::Relaxed), given_up);
        }
        drop(instance);
        stopper.stop();
        serving.await.unwrap().unwrap();
        Ok(())
    }
}
