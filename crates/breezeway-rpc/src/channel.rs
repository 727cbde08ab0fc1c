//! Channels to a server, for blocking callers.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use breezeway::unstable::pooled_session;
use breezeway::{CallError, ExclusiveSession, Message, Pool, PooledSession, Request};

use crate::bytes::{INLINE, decode, decode_into, keep_buffer, take_buffer};
use crate::caller::{Block, CallOptions};
use crate::error::Error;
use crate::method::Method;
use crate::thrift::{self, Encode, encode_slice, encode_vec};

/// Carries calls to a server.
///
/// * [`breezeway::Pool`], a pool: each call has a session for itself. For threads that share it.
/// * [`breezeway::Session`], one session that threads share.
/// * [`breezeway::Client`], the same, with a session that is replaced when its server is.
/// * `RefCell<`[`breezeway::ExclusiveSession`]`>`: one thread, one session, and the fastest.
pub trait Channel {
    /// Calls a method and waits for its reply.
    fn call<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<A::Reply, Error>;

    /// Sends a oneway call, and waits only for room.
    fn post<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(), Error>;
}

impl<C: Channel> Channel for &C {
    fn call<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<A::Reply, Error> {
        (**self).call(method, arguments, options)
    }

    fn post<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(), Error> {
        (**self).post(method, arguments, options)
    }
}

impl Channel for RefCell<ExclusiveSession> {
    #[inline]
    fn call<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<A::Reply, Error> {
        call(&mut self.borrow_mut(), method, arguments, options, options.timeout)
    }

    #[inline]
    fn post<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(), Error> {
        post(&mut self.borrow_mut(), method, arguments, options, options.timeout)
    }
}

impl Channel for Pool {
    fn call<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<A::Reply, Error> {
        let (mut session, timeout) = pooled(self, options)?;
        call(&mut session, method, arguments, options, timeout)
    }

    fn post<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(), Error> {
        let (mut session, timeout) = pooled(self, options)?;
        post(&mut session, method, arguments, options, timeout)
    }
}

/// Takes a session of a pool. Returns it with the remaining time of the call.
fn pooled<'c>(
    client: &'c Pool,
    options: &CallOptions,
) -> Result<(PooledSession<'c>, Option<Duration>), Error> {
    let Some(deadline) = options.deadline() else {
        return Ok((client.session()?, options.timeout));
    };
    let session = pooled_session(client, deadline)?;
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(CallError::DeadlinePassed.into()) } else { Ok((session, Some(left))) }
}

/// Calls over a session, and writes the arguments into its ring or payload.
#[inline]
fn call<A: thrift::Call>(
    session: &mut ExclusiveSession,
    method: &Method,
    arguments: &A,
    options: &CallOptions,
    timeout: Option<Duration>,
) -> Result<A::Reply, Error> {
    without_metadata(options)?;
    let mut value = A::Reply::default();
    within(session, timeout, |session| {
        let size = arguments.size();
        let reply = if size <= INLINE {
            let mut small = [0; INLINE];
            let len = encode_slice(arguments, &mut small)?;
            session.call(method.tag, &small[..len])?
        } else {
            let mut space = session.reserve(size)?;
            encode_slice(arguments, space.bytes_mut())?;
            space.call(method.tag)?
        };
        decode_into(reply.bytes(), &mut value).map_err(Error::Reply)
    })?;
    Ok(value)
}

fn post<A: thrift::Call>(
    session: &mut ExclusiveSession,
    method: &Method,
    arguments: &A,
    options: &CallOptions,
    timeout: Option<Duration>,
) -> Result<(), Error> {
    without_metadata(options)?;
    within(session, timeout, |session| {
        let mut space = session.reserve(arguments.size())?;
        encode_slice(arguments, space.bytes_mut())?;
        Ok(space.post(method.tag)?)
    })
}

/// Fails if there is metadata, which this channel would drop.
#[inline]
fn without_metadata(options: &CallOptions) -> Result<(), Error> {
    if options.metadata.0.is_empty() { Ok(()) } else { Err(Error::NoMetadata) }
}

/// Runs `act` on a session with this call timeout.
#[inline]
fn within<T>(
    session: &mut ExclusiveSession,
    timeout: Option<Duration>,
    act: impl FnOnce(&mut ExclusiveSession) -> Result<T, Error>,
) -> Result<T, Error> {
    let usual = timeout.map(|_| session.call_timeout());
    if usual.is_some() {
        session.set_call_timeout(timeout);
    }
    // In one place, so that it is inlined into the caller.
    let outcome = act(session);
    if let Some(usual) = usual {
        session.set_call_timeout(usual);
    }
    outcome
}

impl Channel for breezeway::Session {
    fn call<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<A::Reply, Error> {
        exchange(arguments, options, |block, bytes| {
            Ok(within_options(self.request(method.tag), block).send(bytes)?)
        })
    }

    fn post<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(), Error> {
        without_metadata(options)?;
        encoded(arguments, |bytes| {
            Ok(within_options(self.request(method.tag), &options.no_block()).post(bytes)?)
        })
    }
}

impl Channel for breezeway::Client {
    fn call<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<A::Reply, Error> {
        exchange(arguments, options, |block, bytes| {
            Ok(within_options(self.request(method.tag), block).send(bytes)?)
        })
    }

    fn post<A: thrift::Call>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(), Error> {
        without_metadata(options)?;
        encoded(arguments, |bytes| {
            Ok(within_options(self.request(method.tag), &options.no_block()).post(bytes)?)
        })
    }
}

/// Returns a request with the options of a call and its metadata block.
pub(crate) fn within_options<'a, S>(
    request: Request<'a, S>,
    block: &'a Block<'_>,
) -> Request<'a, S> {
    let request = match block.options.timeout {
        None => request,
        Some(timeout) => request.timeout(timeout),
    };
    request.metadata(block.bytes())
}

/// Sends a request with its metadata block, and once more without the trace in it if the server
/// takes no such block.
pub(crate) fn with_block<T>(
    options: &CallOptions,
    send: impl Fn(&Block<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut block = options.block()?;
    loop {
        match send(&block) {
            Ok(sent) => return Ok(sent),
            Err(error) => block.shorten(error)?,
        }
    }
}

/// Calls over a shared session: `send` receives the metadata block and the encoded arguments.
fn exchange<A: thrift::Call>(
    arguments: &A,
    options: &CallOptions,
    send: impl Fn(&Block<'_>, &[u8]) -> Result<Message, Error>,
) -> Result<A::Reply, Error> {
    let reply = encoded(arguments, |bytes| with_block(options, |block| send(block, bytes)))?;
    options.received(reply.metadata())?;
    decode(reply.bytes()).map_err(Error::Reply)
}

/// Sends a message that is first written to memory of this thread.
fn encoded<A: Encode, T>(
    arguments: &A,
    send: impl FnOnce(&[u8]) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut buffer = take_buffer();
    let written = encode_vec(arguments, &mut buffer);
    let sent = written.map_err(Error::from).and_then(|()| send(&buffer));
    keep_buffer(buffer);
    sent
}
