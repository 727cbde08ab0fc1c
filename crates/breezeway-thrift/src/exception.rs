//! The exception of a call that failed for a reason that its IDL does not declare.

use std::fmt;

use crate::{Decode, DecodeError, Encode, Fields, Sink, Source, Wire, open_enum};

/// Reason why a call failed: a number that is the same in all implementations. Numbers that this
/// version does not know are preserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExceptionKind(pub i32);

impl ExceptionKind {
    /// No reason is given.
    pub const UNKNOWN: Self = Self(0);
    /// The service has no such method.
    pub const UNKNOWN_METHOD: Self = Self(1);
    /// The message's kind is not allowed here.
    pub const INVALID_MESSAGE_TYPE: Self = Self(2);
    /// The reply is to another method.
    pub const WRONG_METHOD_NAME: Self = Self(3);
    /// The reply has another sequence number.
    pub const BAD_SEQUENCE_ID: Self = Self(4);
    /// The reply has neither a result nor an exception.
    pub const MISSING_RESULT: Self = Self(5);
    /// The server failed.
    pub const INTERNAL_ERROR: Self = Self(6);
    /// The bytes break the protocol.
    pub const PROTOCOL_ERROR: Self = Self(7);
    /// The transform is not supported.
    pub const INVALID_TRANSFORM: Self = Self(8);
    /// The protocol is not supported.
    pub const INVALID_PROTOCOL: Self = Self(9);
    /// The client is of a type that is not supported.
    pub const UNSUPPORTED_CLIENT_TYPE: Self = Self(10);
    /// The server has no such service (Kitex).
    pub const UNKNOWN_SERVICE: Self = Self(20);
    /// No service is named (Kitex).
    pub const NO_SERVICE_NAME: Self = Self(21);
}

open_enum!(ExceptionKind);

/// Body of a message of kind [`Exception`](crate::MessageKind::Exception).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplicationException {
    /// Message of the server.
    pub message: String,
    /// Reason of the failure.
    pub kind: ExceptionKind,
}

impl fmt::Display for ApplicationException {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (type {})", self.message, self.kind.0)
    }
}

impl std::error::Error for ApplicationException {}

impl Wire for ApplicationException {}

impl Encode for ApplicationException {
    /// Writes both fields and no other, in this order: gopkg 0.2 misreads fields before them.
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        to.field(1, &self.message);
        to.put(2, self.kind);
        to.stop();
    }
}

impl Decode for ApplicationException {
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        let mut fields = Fields::begin(from)?;
        fields.read(1, &mut self.message)?;
        fields.read(2, &mut self.kind)?;
        while let Some(id) = fields.next_id()? {
            match id {
                1 => fields.read_next(&mut self.message)?,
                2 => fields.read_next(&mut self.kind)?,
                _ => fields.skip_next()?,
            };
        }
        Ok(())
    }
}
