//! What a handler is given, and how it replies.

use std::error::Error;

use breezeway_os::Peer;
use breezeway_shm::layout::INLINE_MAX;
use breezeway_shm::{Flags, ForeignBytes, Head, Kind};

use crate::carrier::Carrier;
use crate::error::ReplyError;
use crate::link::{Body, Link};
use crate::presence::SessionId;
use crate::protocol::{ErrorCode, Request};

/// The longest reason that a failed call's reply carries.
const LONGEST_REASON: usize = 1024;

/// The reason of a failure for want of payload memory, where there is none for the full one.
const NO_MEMORY: &str =
    "no payload memory for the reply: receive replies first, or raise the cap on both sides";
const _: () = assert!(NO_MEMORY.len() <= INLINE_MAX);

/// Why a handler failed: any error. Its message goes to the caller.
pub type HandlerError = Box<dyn Error + Send + Sync>;

/// What a handler returns, and what the ways to reply give: a reply is the last expression.
pub type Handled = Result<Replied, HandlerError>;

/// Serves calls. Implemented by every `Fn(Call<'_>) -> Handled`.
///
/// A worker thread calls it for one request after the other, of all the sessions that it serves: a
/// handler that blocks delays those sessions. Give slow work to threads of your own and more
/// workers to the server. A panic fails the call, not the server.
pub trait Handler: Send + Sync + 'static {
    /// Serves one call. An error becomes the failure that the caller sees, unless the reply went
    /// out before; for a one-way message it is logged.
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

/// Proof that a call was replied to.
#[derive(Debug)]
pub struct Replied(());

/// What a call needs of its session.
pub(crate) struct Serving<'c> {
    pub(crate) id: SessionId,
    /// Space that a handler reserves and leaves unsent is given back when it returns.
    pub(crate) link: &'c mut Link,
    pub(crate) peer: &'c Peer,
    /// Set once the reply is out.
    pub(crate) replied: &'c mut bool,
    pub(crate) request: Request,
}

impl Serving<'_> {
    fn head(&self) -> Head {
        Head {
            kind: Kind::Message,
            flags: Flags::FIN,
            stream: self.request.stream,
            tag: 0,
            time: 0,
        }
    }

    /// Sends a reply, and the release of the request with it.
    #[inline]
    fn reply(&mut self, head: Head, body: Body<'_>) -> Result<Replied, ReplyError> {
        if !self.request.one_way {
            if !matches!(body, Body::Received) {
                self.link.release();
            }
            self.link.send(head, body)?;
        }
        *self.replied = true;
        Ok(Replied(()))
    }

    /// Publishes a failure: the reason in full if there is memory for it, else as much as an entry
    /// holds.
    pub(crate) fn fail(mut self, code: ErrorCode, reason: &str) -> Result<(), ReplyError> {
        self.refuse(code, reason).map(drop)
    }

    fn refuse(&mut self, code: ErrorCode, reason: &str) -> Result<Replied, ReplyError> {
        let flags = Flags::FIN.with(Flags::ERROR);
        let head = Head { flags, tag: code.number(), ..self.head() };
        let cut = |len: usize| &reason.as_bytes()[..reason.floor_char_boundary(len)];
        match self.reply(head, Body::Bytes(cut(LONGEST_REASON))) {
            Err(
                ReplyError::TooLarge { .. } | ReplyError::NoMemory { .. } | ReplyError::Segment(_),
            ) => {
                let short = if code == ErrorCode::NoMemory {
                    NO_MEMORY.as_bytes()
                } else {
                    cut(INLINE_MAX)
                };
                self.reply(head, Body::Bytes(short))
            }
            other => other,
        }
    }
}

/// One request to serve: lent by the client until it is replied to.
pub struct Call<'c>(pub(crate) Serving<'c>);

impl<'c> Call<'c> {
    /// The method number.
    #[inline]
    pub fn method(&self) -> u32 {
        self.0.request.method
    }

    /// Whether the client wants no reply. Replying is allowed, and sends nothing.
    #[inline]
    pub fn is_one_way(&self) -> bool {
        self.0.request.one_way
    }

    /// The request's bytes: a private copy up to 104 bytes, else the client's memory, which the
    /// client may still change.
    #[inline]
    pub fn request(&self) -> ForeignBytes<'_> {
        self.0.link.body()
    }

    /// What the call came by, and the reply goes by.
    pub fn carrier(&self) -> Carrier {
        self.0.link.carrier()
    }

    /// The session that the call came by: the same for all of its calls, and in the hooks
    /// [`ServerOptions::on_session_start`](crate::ServerOptions::on_session_start) and
    /// [`on_session_end`](crate::ServerOptions::on_session_end).
    #[inline]
    pub fn session(&self) -> SessionId {
        self.0.id
    }

    /// Who calls: the credentials of the process that connected.
    #[inline]
    pub fn peer(&self) -> &Peer {
        self.0.peer
    }

    /// Replies with a copy of `bytes`.
    ///
    /// ```
    /// use breezeway::{Call, Handled};
    ///
    /// fn greet(call: Call<'_>) -> Handled {
    ///     call.reply(b"hello")
    /// }
    /// ```
    #[inline]
    pub fn reply(mut self, bytes: &[u8]) -> Handled {
        let head = self.0.head();
        Ok(self.0.reply(head, Body::Bytes(bytes))?)
    }

    /// Replies with the request's own bytes, without handing them through: on a socket from where
    /// they lie.
    #[inline]
    pub fn echo(mut self) -> Handled {
        let head = self.0.head();
        Ok(self.0.reply(head, Body::Received)?)
    }

    /// Replies with nothing. The way to end a one-way message's handler.
    #[inline]
    pub fn done(self) -> Handled {
        self.reply(&[])
    }

    /// Fails the call: there is no such method.
    pub fn no_such_method(mut self) -> Handled {
        let reason = format!("there is no method {}", self.method());
        Ok(self.0.refuse(ErrorCode::NoSuchMethod, &reason)?)
    }

    /// Takes space for a reply of `len` bytes, to be filled in place. Fails at once when the client
    /// holds too many replies: a server never waits for a client.
    #[inline(always)]
    pub fn reserve(self, len: usize) -> Result<ReplySpace<'c>, ReplyError> {
        self.0.link.reserve(len)?;
        Ok(ReplySpace(self.0))
    }
}

/// Space for a reply, in shared memory if it is larger than 104 bytes. The client can read it at
/// any time.
pub struct ReplySpace<'c>(Serving<'c>);

impl ReplySpace<'_> {
    /// Its bytes. They hold whatever this session wrote there before, or zeros.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.link.fill().into_bytes()
    }

    /// The request and the reply's bytes, to fill the one from the other.
    #[inline]
    pub fn request_and_bytes_mut(&mut self) -> (ForeignBytes<'_>, &mut [u8]) {
        self.0.link.fill().into_parts()
    }

    /// Copies `bytes` to `offset`; the fastest way for a large reply. Panics if they reach outside.
    #[inline]
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.0.link.fill().write(offset, ForeignBytes::stable(bytes));
    }

    /// Copies the whole request to `offset`. Panics if it reaches outside.
    #[inline]
    pub fn write_request(&mut self, offset: usize) {
        self.0.link.fill().write_received(offset);
    }

    /// Replies with these bytes. The request is released with it.
    #[inline(always)]
    pub fn commit(mut self) -> Handled {
        let head = self.0.head();
        if self.0.request.one_way {
            self.0.link.abandon();
        }
        Ok(self.0.reply(head, Body::Space)?)
    }
}
