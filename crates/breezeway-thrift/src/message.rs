//! The header of a message: strict Binary protocol, version 1.

use crate::{Decode, DecodeError, Encode, Fault, Sink, Slice, Source, View};

/// Version in the first two bytes of a message.
const VERSION_1: u16 = 0x8001;

/// Kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MessageKind {
    /// A request with a reply.
    Call = 1,
    /// The reply: a result, or an exception that the IDL declares.
    Reply = 2,
    /// The reply to a call that failed otherwise: an
    /// [`ApplicationException`](crate::ApplicationException).
    Exception = 3,
    /// A request without a reply.
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

/// Header before the arguments or the result of a call.
///
/// ```text
/// 80 01 00 kind | name length: i32 | name | sequence: i32
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHeader<N = String> {
    /// Kind of the message.
    pub kind: MessageKind,
    /// Name of the method: a `String`, or a `&str` if it is borrowed.
    pub name: N,
    /// Sequence number by which the caller finds its reply.
    pub sequence: i32,
}

impl<N: AsRef<str>> MessageHeader<N> {
    /// Returns the encoded size in bytes.
    pub fn size(&self) -> usize {
        12 + self.name.as_ref().len()
    }

    /// Writes the header; one struct follows.
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
    /// Takes the header; one struct follows.
    pub fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        let kind = kind(from)?;
        let name = String::decode(from)?;
        let sequence = from.fixed()?;
        Ok(Self { kind, name, sequence })
    }
}

impl<'a> MessageHeader<&'a str> {
    /// Takes the header, with the name in place; one struct follows.
    pub fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        let kind = kind(from)?;
        let name = View::view(from)?;
        let sequence = from.fixed()?;
        Ok(Self { kind, name, sequence })
    }
}

/// Takes the first four bytes. The old form without a version, where they are a length, is refused.
fn kind<S: Source>(from: &mut S) -> Result<MessageKind, DecodeError> {
    let [high, low, zero, kind] = from.array()?;
    let version = u16::from_be_bytes([high, low]);
    if version != VERSION_1 || zero != 0 {
        return Err(Fault::Version([high, low, zero, kind]).at(from.offset() - 4));
    }
    MessageKind::try_from(kind).map_err(|fault| fault.at(from.offset() - 1))
}

/// Writes a message like [`encode_vec`](crate::encode_vec): the header, then `body`.
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

/// Returns a message in new memory of exactly its size: the header, then `body`.
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
