//! The call that a handler receives, and its reply.

mod reply_space;

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use breezeway_os::Peer;
use breezeway_os::memory::zeroed;
use breezeway_proto::{ErrorCode, time_left};
use breezeway_shm::ForeignBytes;
use breezeway_shm::statistics::HandlerTimes;

use crate::call_limit::CallLimit;
use crate::carrier::{Body, Carrier};
use crate::error::{ReplyError, SegmentError};
use crate::message::Message;
use crate::presence::SessionId;
use crate::serving::Serving;
use crate::session::{OwnedCall, StreamOpener};

pub use reply_space::ReplySpace;

/// Error of a handler, of any type. Its message is sent to the caller.
pub type HandlerError = Box<dyn Error + Send + Sync>;

/// Result of a handler and of the methods that reply, so that a reply can be the last expression.
pub type Handled = Result<Replied, HandlerError>;

/// Serves calls. Implemented by every `Fn(Call<'_>) -> Handled`.
///
/// A worker thread calls it for one request after the other, of all the sessions that it serves: a
/// handler that blocks delays those sessions. Run slow handlers elsewhere
/// ([`ServerOptions::offload`](crate::ServerOptions::offload)), or give slow work to threads of
/// your own, which reply when it is done ([`Call::defer`]). A panic fails the call, not the server.
pub trait Handler: Send + Sync + 'static {
    /// Serves one call. The caller receives an error as its failure, unless the reply was sent
    /// before; for a one-way message the error is logged.
    fn handle(&self, call: Call<'_>) -> Handled;
}

impl<F> Handler for F
where
    F: Fn(Call<'_>) -> Handled + Send + Sync + 'static,
{
    #[inline]
    fn handle(&self, call: Call<'_>) -> Handled {
        self(call)
    }
}

/// Proof that a call was replied to, or deferred.
#[derive(Debug)]
pub struct Replied(());

/// One request to serve: lent by the client until it is replied to.
//
// Two words, which are passed in registers. A larger call would be moved from memory to memory, and
// a processor that moves recently written data in parts waits until all of it has left the store
// buffer: some 10 ns a move.
pub struct Call<'c>(Asked<'c>);

/// Place where the handler runs.
enum Asked<'c> {
    /// On the thread that serves the session.
    Here(&'c mut Serving<'c>),
    /// On another thread, or for a session that threads share.
    Offloaded(&'c mut Elsewhere<'c>),
}

/// State of a call that is served elsewhere.
pub(crate) struct Elsewhere<'c> {
    /// `None` once there is a reply.
    pub(crate) place: &'c mut Option<OwnedCall>,
    /// Limit that counts deferred calls.
    pub(crate) limit: Option<&'c CallLimit>,
}

impl Elsewhere<'_> {
    fn call(&self) -> &OwnedCall {
        self.place.as_ref().expect(PRESENT)
    }

    fn take(&mut self) -> OwnedCall {
        self.place.take().expect(PRESENT)
    }
}

use Asked::{Here, Offloaded};

const PRESENT: &str = "a call is replied to once";

impl<'c> Call<'c> {
    #[inline(always)]
    pub(crate) fn here(serving: &'c mut Serving<'c>) -> Self {
        Self(Here(serving))
    }

    pub(crate) fn offloaded(elsewhere: &'c mut Elsewhere<'c>) -> Self {
        Self(Offloaded(elsewhere))
    }

    /// Returns the times of handlers of its session.
    pub(crate) fn handler_times(&self) -> Option<HandlerTimes> {
        match &self.0 {
            Here(serving) => serving.link().meter().handler_times(),
            Offloaded(elsewhere) => elsewhere.call().handler_times(),
        }
    }

    /// Returns the method number.
    #[inline]
    pub fn method(&self) -> u32 {
        match &self.0 {
            Here(serving) => serving.request.method,
            Offloaded(elsewhere) => elsewhere.call().method(),
        }
    }

    /// Returns true if the client expects no reply. Replying is allowed, and sends nothing.
    #[inline]
    pub fn is_one_way(&self) -> bool {
        match &self.0 {
            Here(serving) => serving.request.one_way,
            Offloaded(elsewhere) => elsewhere.call().is_one_way(),
        }
    }

    /// Returns the request's bytes: a private copy up to 104 bytes, else the client's memory, which
    /// the client may still change.
    #[inline]
    pub fn request(&self) -> ForeignBytes<'_> {
        match &self.0 {
            Here(serving) => serving.link().body(),
            Offloaded(elsewhere) => elsewhere.call().request(),
        }
    }

    /// Takes a lent request out of the call as a message of its own: it can be read while the reply
    /// is reserved and written, and is released when it is dropped. From then on [`Self::request`]
    /// and the metadata are empty. Returns `None` if the bytes are already private: small ones, and
    /// those of a socket.
    ///
    /// ```
    /// use breezeway::{Call, Handled};
    ///
    /// fn reverse(mut call: Call<'_>) -> Handled {
    ///     let Some(request) = call.lease() else { return call.echo() };
    ///     let mut space = call.reserve(request.len())?;
    ///     request.bytes().copy_to(space.bytes_mut());
    ///     space.bytes_mut().reverse();
    ///     drop(request);
    ///     space.commit()
    /// }
    /// ```
    pub fn lease(&mut self) -> Option<Message> {
        match &mut self.0 {
            Here(serving) => {
                let link = serving.link_mut();
                link.is_lent().then(|| Message::plain(link.detach()))
            }
            Offloaded(elsewhere) => elsewhere.place.as_mut().expect(PRESENT).lease(),
        }
    }

    /// Returns the metadata block of the request, if the server accepts metadata, as a server with
    /// [streams](crate::Server::on_stream) does.
    pub fn metadata(&self) -> Option<&[u8]> {
        match &self.0 {
            Here(_) => None,
            Offloaded(elsewhere) => elsewhere.call().metadata(),
        }
    }

    /// Returns the carrier of the call and of its reply.
    pub fn carrier(&self) -> Carrier {
        match &self.0 {
            Here(serving) => serving.terms.carrier,
            Offloaded(elsewhere) => elsewhere.call().carrier(),
        }
    }

    /// Returns the id of the call's session: the same for all of its calls, and in the hooks
    /// [`ServerOptions::on_session_start`](crate::ServerOptions::on_session_start) and
    /// [`on_session_end`](crate::ServerOptions::on_session_end).
    #[inline]
    pub fn session(&self) -> SessionId {
        match &self.0 {
            Here(serving) => serving.terms.id,
            Offloaded(elsewhere) => elsewhere.call().session(),
        }
    }

    /// Returns a handle that opens streams to the client, now or later. `None` for a plain session,
    /// whose client accepts no streams: that of an [`ExclusiveSession`](crate::ExclusiveSession) or
    /// a [`Pool`](crate::Pool), and every session of a server without
    /// [streams](crate::Server::on_stream).
    pub fn stream_opener(&self) -> Option<StreamOpener> {
        match &self.0 {
            Here(_) => None,
            Offloaded(elsewhere) => elsewhere.call().stream_opener(),
        }
    }

    /// Returns the credentials of the process that connected.
    #[inline]
    pub fn peer(&self) -> &Peer {
        match &self.0 {
            Here(serving) => &serving.terms.peer,
            Offloaded(elsewhere) => elsewhere.call().peer(),
        }
    }

    /// Replies with a copy of `bytes`. A sleeping client is woken at once, whatever the handler
    /// does before it returns.
    ///
    /// If the client holds so many replies that memory for this one is lacking, the reply waits
    /// until the client releases some, for at most
    /// [`ServerOptions::reply_timeout`](crate::ServerOptions::reply_timeout) and no longer than the
    /// client waits for it; then the call fails. The handler continues at once, and the worker
    /// serves other sessions; the next request of this session is served after that reply.
    ///
    /// ```
    /// use breezeway::{Call, Handled};
    ///
    /// fn greet(call: Call<'_>) -> Handled {
    ///     call.reply(b"hello")
    /// }
    /// ```
    #[inline]
    pub fn reply(self, bytes: impl AsRef<[u8]>) -> Handled {
        match self.0 {
            Here(serving) => replied(serving.reply(Body::Bytes(bytes.as_ref()))),
            Offloaded(elsewhere) => replied(elsewhere.take().reply(bytes)),
        }
    }

    /// Replies like [`Self::reply`] to a call that is taken out of `place`. Fails if the place is
    /// empty.
    #[inline]
    pub(crate) fn reply_from(place: &mut Option<Self>, bytes: &[u8]) -> Handled {
        let handled = match &mut place.as_mut().ok_or(PRESENT)?.0 {
            Here(serving) => replied(serving.reply(Body::Bytes(bytes))),
            Offloaded(elsewhere) => replied(elsewhere.take().reply(bytes)),
        };
        *place = None;
        handled
    }

    /// Replies with the request's own bytes without copying them through the handler: on a socket
    /// from their place in the receive buffer.
    #[inline]
    pub fn echo(self) -> Handled {
        match self.0 {
            Here(serving) => replied(serving.reply(Body::Received)),
            Offloaded(elsewhere) => replied(elsewhere.take().echo()),
        }
    }

    /// Replies with no bytes. Ends the handler of a one-way message.
    #[inline]
    pub fn done(self) -> Handled {
        self.reply([])
    }

    /// Fails the call with the error that the method does not exist.
    pub fn no_such_method(self) -> Handled {
        let reason = format!("there is no method {}", self.method());
        match self.0 {
            Here(serving) => replied(serving.refuse(ErrorCode::NoSuchMethod, &reason)),
            Offloaded(elsewhere) => replied(elsewhere.take().no_such_method()),
        }
    }

    /// Fails the call with a code, such as one of the application's own, and a reason, which is cut
    /// after 1 KiB. (A handler's error fails it with [`ErrorCode::Failed`].)
    ///
    /// ```
    /// use breezeway::{Call, ErrorCode, Handled};
    ///
    /// fn find(call: Call<'_>) -> Handled {
    ///     call.fail(ErrorCode::Application(404), "no such user")
    /// }
    /// ```
    pub fn fail(self, code: ErrorCode, reason: impl fmt::Display) -> Handled {
        match self.0 {
            Here(serving) => replied(serving.refuse(code, &reason.to_string())),
            Offloaded(elsewhere) => replied(elsewhere.take().fail(code, reason)),
        }
    }

    /// Returns the time that the client waits for the reply, counted from the sending of the call,
    /// as the request states; `None` if it waits without a limit.
    pub fn patience(&self) -> Option<Duration> {
        match &self.0 {
            Here(serving) => time_left::decode(serving.request.time),
            Offloaded(elsewhere) => elsewhere.call().patience(),
        }
    }

    /// Returns the time that the client will still wait for the reply; `None` if it waits without a
    /// limit. On a plain session the time counts from the start of the worker's turn, which began
    /// up to 50 µs before the handler; for an
    /// [`ExclusiveServerSession`](crate::ExclusiveServerSession) that is served on its own, it is
    /// always the full time, as the start is unknown.
    pub fn time_left(&self) -> Option<Duration> {
        match &self.0 {
            Here(serving) => serving.time_left(),
            Offloaded(elsewhere) => elsewhere.call().time_left(),
        }
    }

    /// Returns true if the reply is of no more use, with the meaning of
    /// [`OwnedCall::is_cancelled`](crate::OwnedCall::is_cancelled). A worker that serves a plain
    /// session sees only if the client's [time](Self::time_left) is over.
    pub fn is_cancelled(&self) -> bool {
        match &self.0 {
            Here(_) => self.time_left() == Some(Duration::ZERO),
            Offloaded(elsewhere) => elsewhere.call().is_cancelled(),
        }
    }

    /// Converts the call to a handle that replies later, from any thread and in any order with
    /// other calls. The handler returns the second value at once, and the worker serves other
    /// requests.
    ///
    /// ```
    /// use breezeway::{Call, Handled};
    ///
    /// fn sum(call: Call<'_>) -> Handled {
    ///     let (call, later) = call.defer()?;
    ///     std::thread::spawn(move || {
    ///         let sum: u64 = call.request().to_vec().into_iter().map(u64::from).sum();
    ///         // An error means that the client is gone, and waits for nothing.
    ///         let _ = call.reply(sum.to_le_bytes());
    ///     });
    ///     Ok(later)
    /// }
    /// ```
    ///
    /// Fails on a socket if a large request must be copied and memory is lacking.
    pub fn defer(self) -> io::Result<(OwnedCall, Replied)> {
        let (limit, call) = match self.0 {
            Here(serving) => (serving.terms.call_limit.as_ref(), serving.defer()?),
            Offloaded(elsewhere) => (elsewhere.limit, elsewhere.take()),
        };
        Ok((call.deferred(limit.map(CallLimit::begin)), Replied(())))
    }

    /// Reserves space for a reply of `len` bytes, to be filled in place. If the client holds too
    /// many replies, and for an offloaded call, it is private memory, and the reply waits like that
    /// of [`Self::reply`].
    #[inline(always)]
    pub fn reserve(self, len: usize) -> Result<ReplySpace<'c>, ReplyError> {
        match self.0 {
            Here(serving) => match serving.link_mut().reserve(len) {
                Ok(()) => Ok(ReplySpace::here(serving)),
                Err(error) => ReplySpace::kept(serving, len, error),
            },
            Offloaded(elsewhere) => {
                let call = elsewhere.call();
                let cap = call.cap();
                if len > cap {
                    return Err(ReplyError::TooLarge { len, cap });
                }
                let space = if call.is_here() { call.try_reserve(len).ok() } else { None };
                match space {
                    Some(space) => Ok(ReplySpace::owned(elsewhere, space)),
                    None => {
                        let bytes =
                            zeroed(len).map_err(SegmentError).map_err(ReplyError::Segment)?;
                        Ok(ReplySpace::offloaded(elsewhere, bytes))
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn replied(outcome: Result<(), ReplyError>) -> Handled {
    outcome?;
    Ok(Replied(()))
}
