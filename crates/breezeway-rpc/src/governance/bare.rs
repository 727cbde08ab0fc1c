//! Messages that stay bytes: encoded before, and decoded later.

use bytes::Bytes;

use crate::thrift::{Call, Decode, DecodeError, Encode, Sink, Source, Wire};

/// The bytes of a struct.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bare(pub(crate) Bytes);

impl Wire for Bare {}

impl Encode for Bare {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        to.bytes(&self.0);
    }
}

impl Decode for Bare {
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        let length = from.remaining();
        self.0 = from.binary(length)?.into();
        Ok(())
    }
}

impl Call for Bare {
    type Reply = Self;
    // Channels use the method that they are given.
    const METHOD: &'static str = "";
}
