//! Messages as bytes: Thrift structs without a header, which pilota writes and reads.

use breezeway_rpc::thrift::{Call, Decode, DecodeError, Encode, Sink, Source, Wire};
use breezeway_rpc::{Error, Reply};
use bytes::{Bytes, BytesMut};
use pilota::thrift::binary::TBinaryProtocol;
use pilota::thrift::{TLengthProtocol, TMessageIdentifier, TMessageType, ThriftException};
use volo::FastStr;
use volo_thrift::{EntryMessage, LinkedBytes};

use crate::checked::{Checked, invalid};

/// The bytes of a struct.
pub(crate) enum Body {
    /// In one piece: a short message, or one that was received.
    Whole(Bytes),
    /// With the large strings and binaries of the value that was written, which are not copied.
    Linked(LinkedBytes),
}

impl Body {
    /// Writes a message.
    pub(crate) fn write(message: &impl EntryMessage) -> Result<Self, ThriftException> {
        let mut lengths = TBinaryProtocol::new((), true);
        let size = message.size(&mut lengths);
        let linked = lengths.zero_copy_len();
        if linked == 0 {
            let mut bytes = BytesMut::with_capacity(size);
            message.encode(&mut TBinaryProtocol::new(&mut bytes, false))?;
            return Ok(Self::Whole(bytes.freeze()));
        }
        let mut bytes = LinkedBytes::with_capacity(size - linked);
        message.encode(&mut TBinaryProtocol::new(&mut bytes, true))?;
        Ok(Self::Linked(bytes))
    }

    /// Reads a message of this method from a peer that is not trusted. Strings and binaries share
    /// the memory of the body.
    pub(crate) fn read<M: EntryMessage>(self, method: FastStr) -> Result<M, ThriftException> {
        let mut bytes = match self {
            Self::Whole(bytes) => bytes,
            Self::Linked(linked) => linked.into_bytes_mut().freeze(),
        };
        let name = TMessageIdentifier::new(method, TMessageType::Call, 0);
        let message = M::decode(&mut Checked::new(&mut bytes), &name)?;
        if !bytes.is_empty() {
            return Err(invalid(format_args!("{} bytes behind the message", bytes.len())));
        }
        Ok(message)
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl Wire for Body {}

impl Encode for Body {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        match self {
            Self::Whole(bytes) => to.bytes(bytes),
            Self::Linked(linked) => {
                for piece in linked.iter_list() {
                    to.bytes(piece.as_ref());
                }
                to.bytes(linked.bytes());
            }
        }
    }
}

impl Decode for Body {
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        let length = from.remaining();
        *self = Self::Whole(from.binary(length)?.into());
        Ok(())
    }
}

impl Call for Body {
    type Reply = Self;
    // Channels use the method that they are given.
    const METHOD: &'static str = "";
}

impl Reply for Body {
    type Value = Self;
    type Error = Error;

    fn from_result(result: Result<Self, Error>) -> Result<Self, Error> {
        result
    }

    fn into_result(self) -> Result<Self, Error> {
        Ok(self)
    }
}
