//! Structs as the bytes on the wire: the requests and replies of the command.

use std::fmt;

use breezeway_rpc::thrift::{Call, Decode, DecodeError, Encode, Sink, Source, Wire};
use breezeway_rpc::{Error, Reply};

/// A struct's bytes.
#[derive(Default)]
pub(super) struct Raw(pub(super) Vec<u8>);

impl Wire for Raw {}

impl Encode for Raw {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        to.bytes(&self.0);
    }
}

impl Decode for Raw {
    /// Takes all that there is: a struct is all of a message's body.
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        from.binary(from.remaining()).map(Self)
    }
}

impl Call for Raw {
    type Reply = Self;
    const METHOD: &'static str = "";
}

/// Last message of a stream. Its only value is that of a declared exception.
#[derive(Default)]
pub(super) struct Last(Raw);

impl Wire for Last {}

impl Encode for Last {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        self.0.encode(to);
    }
}

impl Decode for Last {
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        Raw::decode(from).map(Self)
    }
}

/// Failure of a stream.
pub(super) enum StreamFailure {
    /// The reply that names the exception.
    Thrown(Raw),
    Rpc(Error),
}

impl From<Error> for StreamFailure {
    fn from(error: Error) -> Self {
        Self::Rpc(error)
    }
}

impl fmt::Display for StreamFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Thrown(_) => formatter.write_str("an exception"),
            Self::Rpc(error) => error.fmt(formatter),
        }
    }
}

impl Reply for Last {
    type Value = ();
    type Error = StreamFailure;

    fn from_result(_: Result<(), StreamFailure>) -> Result<Self, Error> {
        Ok(Self::default())
    }

    fn into_result(self) -> Result<(), StreamFailure> {
        Err(StreamFailure::Thrown(self.0))
    }
}
