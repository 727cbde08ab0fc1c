//! Properties of a method that clients and servers share.

use crate::{Decode, Encode};

/// The arguments of a method, with the properties needed for a call. Generated for every method of
/// a service.
pub trait Call: Encode + Decode {
    /// Type of the reply: the result, or an exception that the IDL declares. `()` for void methods
    /// without exceptions, and for oneway methods, which have no reply.
    type Reply: Encode + Decode;

    /// Name of the method on the wire.
    const METHOD: &'static str;

    /// True if the method has no reply of any kind.
    const ONEWAY: bool = false;

    /// Direction of the method's streams.
    const STREAMING: Streaming = Streaming::None;
}

/// Side that sends more than one message (the annotation `streaming.mode` of Kitex).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Streaming {
    /// No stream: a call and its reply.
    #[default]
    None,
    /// A stream with one message in each direction.
    Unary,
    /// The client sends a stream.
    Client,
    /// The server sends a stream.
    Server,
    /// Both send a stream.
    Bidirectional,
}
