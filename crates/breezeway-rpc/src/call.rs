//! A call in progress on the server of a service.

use breezeway::ForeignBytes;

use crate::bytes::{INLINE, decode_into};
use crate::caller::Outcome;
use crate::error::Error;
use crate::in_place::Request;
use crate::reply::Reply;
use crate::thrift::{self, Decode, Encode, EncodeError, ExceptionKind, encode_slice, encode_vec};

/// One call or stream for a generated server: its arguments, and the destination of its reply.
pub struct Call<'c> {
    pub(crate) kind: Kind<'c>,
}

pub(crate) enum Kind<'c> {
    Call(&'c mut dyn Exchange),
    Stream(&'c mut crate::stream::Served),
    #[cfg(feature = "tokio")]
    AsyncStream(&'c mut crate::tokio::stream::Served),
}

/// Transport of a call and its reply.
pub(crate) trait Exchange: Send {
    /// Returns the bytes of the arguments.
    fn request(&self) -> ForeignBytes<'_>;

    /// Returns the buffer that keeps the reply until the handler has ended, if there is one: the
    /// reply is written there.
    fn buffer(&mut self) -> Option<&mut Vec<u8>> {
        None
    }

    /// Takes the call's only reply.
    fn reply_with(&mut self, bytes: &[u8]) -> Result<(), Error>;

    /// Takes the call's only reply, of `size` bytes, written by `fill`.
    fn reply(&mut self, size: usize, fill: Fill<'_>) -> Result<(), Error> {
        match fill(self.reserve(size)?) {
            Ok(len) => self.commit(len),
            Err(error) => {
                self.abandon();
                Err(error.into())
            }
        }
    }

    /// Returns the bytes of the arguments, for the duration of the call: [`Self::request`] is empty
    /// afterwards.
    fn take_request(&mut self) -> Request {
        Request::copied(self.request())
    }

    /// Reserves space for a reply of `size` bytes, none of which is sent yet.
    fn reserve(&mut self, size: usize) -> Result<&mut [u8], Error>;

    /// Takes the first `len` bytes of the space as the call's only reply.
    fn commit(&mut self, len: usize) -> Result<(), Error>;

    /// Gives reserved space back, if there is any: the call gets another reply.
    fn abandon(&mut self);
}

/// Function that writes a message and returns its size.
pub(crate) type Fill<'f> = &'f mut dyn FnMut(&mut [u8]) -> Result<usize, EncodeError>;

impl<'c> Call<'c> {
    #[inline]
    pub(crate) fn new(exchange: &'c mut dyn Exchange) -> Self {
        Self { kind: Kind::Call(exchange) }
    }

    /// Decodes the arguments.
    #[inline]
    pub fn arguments<A: Decode>(&self) -> Result<A, Error> {
        let Kind::Call(exchange) = &self.kind else { return Err(other_way()) };
        let mut arguments = A::default();
        decode_into(exchange.request(), &mut arguments).map_err(Error::Arguments)?;
        Ok(arguments)
    }

    /// Replies with the result of the method. Returns an error that the IDL does not declare; it
    /// fails the call.
    #[inline]
    pub fn reply<A>(&mut self, result: Outcome<A>) -> Result<(), Error>
    where
        A: thrift::Call<Reply: Reply>,
    {
        let Kind::Call(exchange) = &mut self.kind else { return Err(other_way()) };
        let reply = A::Reply::from_result(result)?;
        if let Some(buffer) = exchange.buffer() {
            return Ok(encode_vec(&reply, buffer)?);
        }
        let size = reply.size();
        if size > INLINE {
            return exchange.reply(size, &mut |bytes| encode_slice(&reply, bytes));
        }
        let mut small = [0; INLINE];
        let len = encode_slice(&reply, &mut small)?;
        exchange.reply_with(&small[..len])
    }

    /// Fails the call because the service has no such method.
    pub fn unknown_method(&mut self) -> Result<(), Error> {
        Err(Error::new(ExceptionKind::UNKNOWN_METHOD, "the service has no such method"))
    }
}

/// Returns the error of a method that is not called as its IDL requires. Servers check this before
/// they dispatch.
pub(crate) fn other_way() -> Error {
    Error::new(ExceptionKind::INVALID_MESSAGE_TYPE, "the method is not called in this way")
}
