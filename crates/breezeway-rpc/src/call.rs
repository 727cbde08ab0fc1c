//! A call on its way through the server of a service.

use breezeway::ForeignBytes;

use crate::bytes::{INLINE, decode_into};
use crate::caller::Outcome;
use crate::error::Error;
use crate::in_place::Request;
use crate::reply::Reply;
use crate::thrift::{self, Decode, Encode, EncodeError, ExceptionKind, encode_slice, encode_vec};

/// One call or stream, as generated servers see it: its arguments, and where its reply goes.
pub struct Call<'c> {
    pub(crate) kind: Kind<'c>,
}

pub(crate) enum Kind<'c> {
    Call(&'c mut dyn Exchange),
    Stream(&'c mut crate::stream::Served),
    #[cfg(feature = "tokio")]
    AsyncStream(&'c mut crate::tokio::stream::Served),
}

/// How a call came, and its reply goes.
pub(crate) trait Exchange: Send {
    /// The arguments' bytes.
    fn request(&self) -> ForeignBytes<'_>;

    /// Where the reply is kept until the handler has ended, if it is kept: it is written there.
    fn buffer(&mut self) -> Option<&mut Vec<u8>> {
        None
    }

    /// Takes a reply. It is the call's only one.
    fn reply_with(&mut self, bytes: &[u8]) -> Result<(), Error>;

    /// Takes a reply of `size` bytes, which `fill` writes. It is the call's only one.
    fn reply(&mut self, size: usize, fill: Fill<'_>) -> Result<(), Error> {
        match fill(self.reserve(size)?) {
            Ok(len) => self.commit(len),
            Err(error) => {
                self.abandon();
                Err(error.into())
            }
        }
    }

    /// The arguments' bytes, for as long as the call takes: [`Self::request`] is empty from now on.
    fn take_request(&mut self) -> Request {
        Request::copied(self.request())
    }

    /// Gives space for a reply of `size` bytes, of which none is sent yet.
    fn reserve(&mut self, size: usize) -> Result<&mut [u8], Error>;

    /// Takes the first `len` bytes of the space as the call's only reply.
    fn commit(&mut self, len: usize) -> Result<(), Error>;

    /// Gives space back that was reserved, if any: the call is to be replied to otherwise.
    fn abandon(&mut self);
}

/// Writes a message and tells how long it is.
pub(crate) type Fill<'f> = &'f mut dyn FnMut(&mut [u8]) -> Result<usize, EncodeError>;

impl<'c> Call<'c> {
    #[inline]
    pub(crate) fn new(exchange: &'c mut dyn Exchange) -> Self {
        Self { kind: Kind::Call(exchange) }
    }

    /// The arguments.
    #[inline]
    pub fn arguments<A: Decode>(&self) -> Result<A, Error> {
        let Kind::Call(exchange) = &self.kind else { return Err(other_way()) };
        let mut arguments = A::default();
        decode_into(exchange.request(), &mut arguments).map_err(Error::Arguments)?;
        Ok(arguments)
    }

    /// Replies with what the method gave. An error that the IDL does not declare is returned, and
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

    /// Fails the call: the service has no such method.
    pub fn unknown_method(&mut self) -> Result<(), Error> {
        Err(Error::new(ExceptionKind::UNKNOWN_METHOD, "the service has no such method"))
    }
}

/// Of a method that is not called as its IDL says, which servers refuse before they dispatch.
pub(crate) fn other_way() -> Error {
    Error::new(ExceptionKind::INVALID_MESSAGE_TYPE, "the method is not called in this way")
}
