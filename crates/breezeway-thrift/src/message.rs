//! The header of a message: strict Binary protocol, version 1.

use crate::{Decode, DecodeError, Encode, Fault, Sink, Slice, Source, View};

/// The version that the first two bytes of a message say.
const VERSION_1: u16 = 0x8001;

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MessageKind {
    /// A request that is answered.
    Call = 1,
    /// The answer: a result, or an exception that the IDL declares.
    Reply = 2,
    /// The answer if the call failed otherwise: an
    /// [`ApplicationException`](crate::ApplicationException).
    Exception = 3,
    /// A request that is never answered.
    Oneway = 4,
}

impl TryFrom<u8> for MessageKind {
    type Error = Fault;

    fn try_from(byte: u8) -> Result<Self, Fault> {
        Ok(match byte {
            1 => Self::Call,
            2 => Self::Reply,
            3 => Self::Exception,
            4 => Self::Oneway,
            unknown => return Err(Fault::MessageKind(unknown)),
        })
    }
}

/// What stands before the arguments or the result of a call.
///
/// ```text
/// 80 01 00 kind | name length: i32 | name | sequence: i32
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHeader<N = String> {
    /// What the message is for.
    pub kind: MessageKind,
    /// The name of the method: a `String`, or a `&str` where it is borrowed.
    pub name: N,
    /// A number by which the caller finds its answer.
    pub sequence: i32,
}

impl<N: AsRef<str>> MessageHeader<N> {
    /// How many bytes it takes.
    pub fn size(&self) -> usize {
        12 + self.name.as_ref().len()
    }

    /// Writes it; one struct follows.
    #[inline]
    pub fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        let name = self.name.as_ref();
        let length = to.checked_count(name.len());
        to.fixed(8, |to| {
            let [high, low] = VERSION_1.to_be_bytes();
            to[..4].copy_from_slice(&[high, low, 0, self.kind as u8]);
            to[4..8].copy_from_slice(&length);
        });
        to.bytes(name.as_bytes());
        to.fixed(4, |to| to.copy_from_slice(&self.sequence.to_be_bytes()));
    }
}

impl MessageHeader<String> {
    /// Takes it; one struct follows.
    pub fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        let kind = kind(from)?;
        let name = String::decode(from)?;
        let sequence = from.fixed()?;
        Ok(Self { kind, name, sequence })
    }
}

impl<'a> MessageHeader<&'a str> {
    /// Takes it, with the name where it lies; one struct follows.
    pub fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        let kind = kind(from)?;
        let name = View::view(from)?;
        let sequence = from.fixed()?;
        Ok(Self { kind, name, sequence })
    }
}

/// Takes the first four bytes. The old form without a version is refused: in it they are a length.
fn kind<S: Source>(from: &mut S) -> Result<MessageKind, DecodeError> {
    let [high, low, zero, kind] = from.array()?;
    let version = u16::from_be_bytes([high, low]);
    if version != VERSION_1 || zero != 0 {
        return Err(Fault::Version([high, low, zero, kind]).at(from.offset() - 4));
    }
    MessageKind::try_from(kind).map_err(|fault| fault.at(from.offset() - 1))
}

/// As [`encode_vec`](crate::encode_vec), for a message: the header, then `body`.
pub fn message_vec<N: AsRef<str>, T: Encode + ?Sized>(
    header: &MessageHeader<N>,
    body: &T,
    buffer: &mut Vec<u8>,
) -> Result<(), crate::EncodeError> {
    let size = || header.size() + body.size();
    crate::encode::refill(buffer, size, |to| {
        header.encode(to);
        body.encode(to);
    })
}

/// A message in new memory of exactly its size: the header, then `body`.
pub fn message_to_vec<N: AsRef<str>, T: Encode + ?Sized>(
    header: &MessageHeader<N>,
    body: &T,
) -> Result<Vec<u8>, crate::EncodeError> {
    let mut bytes = vec![0; header.size() + body.size()];
    let mut output = crate::Output::new(&mut bytes);
    header.encode(&mut output);
    body.encode(&mut output);
    output.finish()?;
    Ok(bytes)
}
