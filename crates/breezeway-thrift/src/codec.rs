//! Codecs: the encodings of messages, behind one trait.

use crate::{Decode, DecodeError, Encode, EncodeError};

/// Encodes and decodes messages of the type `T`.
///
/// The size is known before the first byte is written, so that a message is encoded straight into
/// the space that was reserved for it.
pub trait Codec<T> {
    /// Error for bytes that are not a message.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Returns the exact encoded size of the message in bytes.
    fn size(message: &T) -> usize;

    /// Writes the message into `to`, from its start. Returns its size.
    fn encode(message: &T, to: &mut [u8]) -> Result<usize, EncodeError>;

    /// Decodes a message from all of `bytes`.
    fn decode(bytes: &[u8]) -> Result<T, Self::Error>;
}

/// Thrift Binary.
#[derive(Clone, Copy, Debug, Default)]
pub struct Binary;

impl<T: Encode + Decode> Codec<T> for Binary {
    type Error = DecodeError;

    #[inline]
    fn size(message: &T) -> usize {
        message.size()
    }

    #[inline]
    fn encode(message: &T, to: &mut [u8]) -> Result<usize, EncodeError> {
        crate::encode_slice(message, to)
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Result<T, DecodeError> {
        crate::decode_slice(bytes)
    }
}

/// Protobuf, for messages of prost.
#[cfg(feature = "prost")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Protobuf;

#[cfg(feature = "prost")]
impl<T: prost::Message + Default> Codec<T> for Protobuf {
    type Error = prost::DecodeError;

    #[inline]
    fn size(message: &T) -> usize {
        message.encoded_len()
    }

    #[inline]
    fn encode(message: &T, mut to: &mut [u8]) -> Result<usize, EncodeError> {
        let (needed, capacity) = (message.encoded_len(), to.len());
        match message.encode(&mut to) {
            Ok(()) => Ok(capacity - to.len()),
            Err(_) => Err(EncodeError::Full { needed, capacity }),
        }
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Result<T, prost::DecodeError> {
        T::decode(bytes)
    }
}
