//! Messages of types that are known at run time.

use prost::Message;
use prost_reflect::{DynamicMessage, MessageDescriptor};
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

/// Codec of a method: it encodes any message, and decodes the method's replies.
pub(super) struct Dynamic(MessageDescriptor);

impl Dynamic {
    pub(super) fn new(reply: MessageDescriptor) -> Self {
        Self(reply)
    }
}

impl Codec for Dynamic {
    type Encode = DynamicMessage;
    type Decode = DynamicMessage;
    type Encoder = Encoding;
    type Decoder = Decoding;

    fn encoder(&mut self) -> Encoding {
        Encoding
    }

    fn decoder(&mut self) -> Decoding {
        Decoding(self.0.clone())
    }
}

pub(super) struct Encoding;

impl Encoder for Encoding {
    type Item = DynamicMessage;
    type Error = Status;

    fn encode(&mut self, message: DynamicMessage, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        message.encode(to).map_err(|error| Status::internal(error.to_string()))
    }
}

pub(super) struct Decoding(MessageDescriptor);

impl Decoder for Decoding {
    type Item = DynamicMessage;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<DynamicMessage>, Status> {
        let decoded = DynamicMessage::decode(self.0.clone(), from);
        decoded.map(Some).map_err(|error| {
            let ty = self.0.full_name();
            Status::internal(format!("the reply is not a {ty}: {error}"))
        })
    }
}
