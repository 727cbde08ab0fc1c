//! The struct without fields.

use crate::{Decode, DecodeError, Encode, Fields, Sink, Slice, Source, View, Wire};

impl Wire for () {}

impl Encode for () {
    #[inline(always)]
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        to.stop();
    }
}

impl Decode for () {
    #[inline]
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        let mut fields = Fields::begin(from)?;
        while fields.next_id()?.is_some() {
            fields.skip_next()?;
        }
        Ok(())
    }
}

impl<'a> View<'a> for () {
    #[inline]
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        Self::decode(from)
    }
}
