//! What clients and servers know of a method.

use crate::{Decode, Encode};

/// The arguments of a method, and with them all that a call of it needs. Generated for every method
/// of a service.
pub trait Call: Encode + Decode {
    /// What the reply carries: the result, or an exception that the IDL declares. `()` for void
    /// methods without exceptions, and for oneway methods, which have no reply.
    type Reply: Encode + Decode;

    /// The method's name on the wire.
    const METHOD: &'static str;

    /// Whether there is no reply of any kind.
    const ONEWAY: bool = false;

    /// Who sends more than one message.
    const STREAMING: Streaming = Streaming::None;
}

/// Who sends more than one message (the annotation `streaming.mode` of Kitex).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Streaming {
    /// No stream: a call and its reply.
    #[default]
    None,
    /// A stream with one message each way.
    Unary,
    /// The client.
    Client,
    /// The server.
    Server,
    /// Both.
    Bidirectional,
}
