//! Conversion of a call to a request, and of a reply to the call's outcome.

use std::time::Duration;

use super::frame::Writer;
use super::message::{Framing, Message, write_value};
use crate::business::BusinessError;
use crate::caller::CallOptions;
use crate::error::Error;
use crate::metadata::Pairs;
use crate::method::Method;
use crate::thrift::{
    self, ExceptionKind, HeaderKey, MessageHeader, MessageKind, TtHeader, decode_slice,
};

/// Framing of a client's messages. A server replies in the same framing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThriftFraming {
    /// TTHeader, the only framing that carries metadata, deadlines and business errors.
    #[default]
    TtHeader,
    /// Length prefixes: Kitex's default since 0.13, and Apache's `TFramedTransport`.
    Framed,
    /// Consecutive messages without framing: Apache's `TBufferedTransport`.
    Unframed,
}

impl From<ThriftFraming> for Framing {
    fn from(framing: ThriftFraming) -> Self {
        match framing {
            ThriftFraming::TtHeader => Self::TtHeader { is_framed: true },
            ThriftFraming::Framed => Self::Framed,
            ThriftFraming::Unframed => Self::Unframed,
        }
    }
}

/// Returns the bytes of a request.
pub(super) fn request<A: thrift::Call>(
    framing: Framing,
    sequence: i32,
    method: &Method,
    arguments: &A,
    options: &CallOptions,
) -> Result<Vec<u8>, Error> {
    let kind = if method.oneway { MessageKind::Oneway } else { MessageKind::Call };
    let head = MessageHeader { kind, name: method.name, sequence };
    match framing {
        Framing::TtHeader { .. } => {
            let written = options.write_metadata(|pairs| {
                let header = header(&head, method, pairs, options);
                write_value(framing, &header, &head, arguments)
            });
            Ok(written?.0)
        }
        _ if options.metadata.0.is_empty() => {
            write_value(framing, &TtHeader::default(), &head, arguments)
        }
        _ => Err(Error::NoMetadata),
    }
}

fn header(
    head: &MessageHeader<&str>,
    method: &Method,
    pairs: &Pairs,
    options: &CallOptions,
) -> TtHeader {
    let MessageHeader { kind, sequence, .. } = *head;
    let mut header = TtHeader { sequence, texts: texts(method, pairs), ..TtHeader::default() };
    let mut put = |key, value: String| header.numbered.push((key, value.into_bytes()));
    put(HeaderKey::TRANSPORT_TYPE, "framed".to_owned());
    put(HeaderKey::TO_SERVICE, method.service.to_owned());
    put(HeaderKey::TO_METHOD, method.name.to_owned());
    put(HeaderKey::MESSAGE_TYPE, (kind as u8).to_string());
    if let Some(timeout) = timeout(options) {
        put(HeaderKey::RPC_TIMEOUT, timeout);
    }
    header
}

fn texts(method: &Method, pairs: &Pairs) -> Pairs {
    let mut texts = pairs.clone();
    texts.push((b"isn".to_vec(), method.service.into()));
    texts
}

/// Number of the only stream of a connection.
const STREAM: i32 = 1;

/// Returns the bytes that open a stream: all that the client sends, if that is one message.
pub(crate) fn opening(
    method: &Method,
    request: Option<&[u8]>,
    options: &CallOptions,
) -> Result<(Writer, Vec<u8>), Error> {
    let writer = Writer::new(STREAM, method.name.to_owned());
    let (mut bytes, _) = options.write_metadata(|pairs| {
        let mut bytes = Vec::new();
        writer.opening(texts(method, pairs), timeout(options), &mut bytes)?;
        Ok(bytes)
    })?;
    if let Some(request) = request {
        writer.data(request, &mut bytes)?;
        writer.end(&mut bytes)?;
    }
    Ok((writer, bytes))
}

/// Returns the client's time-out as text. Kitex takes 0 for none.
fn timeout(options: &CallOptions) -> Option<String> {
    options.timeout.map(|timeout| timeout.as_millis().max(1).to_string())
}

/// Time limit for reading a server's error, after it has closed the connection.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(1);

/// Returns the error that a server reports in a message, if it does.
pub(super) fn exception(message: &Message) -> Option<Error> {
    (message.head.kind == MessageKind::Exception).then(|| reported(message))
}

/// Returns the outcome of the call from a reply.
pub(super) fn outcome<A: thrift::Call>(
    message: &Message,
    sequence: i32,
    options: &CallOptions,
) -> Result<A::Reply, Error> {
    let head = &message.head;
    let header = message.header.as_ref();
    if let Some(reply) = &options.reply {
        reply.replace(header.map(|header| header.texts.clone()).unwrap_or_default());
    }
    // Proxies answer with sequence number 0 if they fail.
    let is_expected =
        head.sequence == sequence || head.kind == MessageKind::Exception && head.sequence == 0;
    match head.kind {
        MessageKind::Reply | MessageKind::Exception if !is_expected => Err(Error::new(
            ExceptionKind::BAD_SEQUENCE_ID,
            format!("a reply with sequence number {}, not {sequence}", head.sequence),
        )),
        MessageKind::Exception => Err(reported(message)),
        MessageKind::Reply => {
            if let Some(error) = header.and_then(BusinessError::read_from) {
                return Err(Error::Business(error));
            }
            decode_slice(message.body()).map_err(Error::Reply)
        }
        other => Err(Error::Protocol(format!("a message of kind {other:?} is not a reply"))),
    }
}

/// Decodes an exception.
fn reported(message: &Message) -> Error {
    decode_slice(message.body()).map_or_else(Error::Reply, Error::Application)
}

/// Returns true if the connection can be used for another call: the message is the reply to this
/// one, and the server did not announce that it closes the connection.
pub(super) fn stays(message: &Message, sequence: i32) -> bool {
    let leaving = message.header.as_ref().and_then(|header| header.text("crrst"));
    leaving != Some(b"1") && message.head.sequence == sequence
}
