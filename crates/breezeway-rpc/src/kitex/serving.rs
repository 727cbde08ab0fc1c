//! Conversion of a message to a call of a service, and of the outcome to a message.

use std::time::Duration;

use breezeway::{Carrier, ForeignBytes, Peer};
use breezeway_os::memory::zeroed;

use super::message::{Message, write, write_value};
use crate::bytes::copy_of;
use crate::call::Exchange;
use crate::context::Context;
use crate::error::Error;
use crate::in_place::Request;
use crate::metadata::{RequestMetadata, for_thrift_clients};
use crate::registry::{Found, Registry};
use crate::thrift::{ExceptionKind, HeaderKey, MessageHeader, MessageKind, TtHeader};

/// Text key of the service's name, for a server with several.
pub(super) const SERVICE: &str = "isn";

/// A request, and the method that it calls.
pub(crate) struct Asked {
    pub(crate) found: Found,
    pub(crate) context: Context,
    /// True if no reply of any kind is due: by the IDL, or by the client, which would not read it.
    pub(crate) oneway: bool,
}

/// A message that is being served.
pub(crate) struct Served {
    message: Message,
    reply: Option<Vec<u8>>,
}

impl Served {
    pub(crate) fn new(message: Message) -> Self {
        Self { message, reply: None }
    }

    /// Returns the request in the message. The client receives an error.
    pub(crate) fn asked(
        &mut self,
        registry: &Registry,
        carrier: Carrier,
        peer: Peer,
    ) -> Result<Asked, Error> {
        let Message { header, head, .. } = &mut self.message;
        if !matches!(head.kind, MessageKind::Call | MessageKind::Oneway) {
            let words = format!("a message of kind {:?} is not a request", head.kind);
            return Err(Error::new(ExceptionKind::INVALID_MESSAGE_TYPE, words));
        }
        let service = header.as_ref().and_then(|header| header.text(SERVICE));
        let (found, method) = registry.find_by_name(service, &head.name)?;
        method.check_call()?;
        let context = Context::new(peer, carrier, header.as_ref().and_then(timeout));
        let metadata = header.as_mut().map(|header| std::mem::take(&mut header.texts));
        let context = context.with_metadata(RequestMetadata(metadata.unwrap_or_default()));
        Ok(Asked { found, context, oneway: method.oneway || self.is_oneway() })
    }

    /// Returns true if the client wants no reply: all that is known before the method is.
    pub(crate) fn is_oneway(&self) -> bool {
        self.message.head.kind == MessageKind::Oneway
    }

    /// Returns true if the client expects replies in the order of its requests.
    #[cfg(feature = "tokio")]
    pub(crate) fn is_in_order(&self) -> bool {
        self.message.header.is_none()
    }

    /// Returns the bytes that report the outcome of its request to the client.
    pub(crate) fn finish(self, outcome: Result<(), Error>, context: Option<&Context>) -> Vec<u8> {
        let told = self.told(outcome, context);
        told.or_else(|error| self.exception(self.header(None), error)).unwrap_or_else(|error| {
            // The client's own name and a short message always fit.
            tracing::error!(error = %breezeway::describe(&error), "a reply cannot be written");
            Vec::new()
        })
    }

    fn told(
        &self,
        outcome: Result<(), Error>,
        context: Option<&Context>,
    ) -> Result<Vec<u8>, Error> {
        let mut header = self.header(context);
        let framing = self.message.framing;
        let head = self.message.head(MessageKind::Reply);
        match (&self.reply, outcome) {
            (Some(reply), Ok(())) => write(framing, &header, &head, reply.len(), &mut |bytes| {
                bytes.copy_from_slice(reply);
                Ok(reply.len())
            }),
            // A method that neither replied nor failed is void.
            (None, Ok(())) => write_value(framing, &header, &head, &()),
            // Status 0 is not a refusal.
            (_, Err(Error::Business(error))) if self.has_header() && error.status != 0 => {
                error.write_to(&mut header);
                write_value(framing, &header, &head, &())
            }
            (_, Err(error)) => self.exception(header, error),
        }
    }

    fn exception(&self, header: TtHeader, error: Error) -> Result<Vec<u8>, Error> {
        let numbered = vec![(HeaderKey::MESSAGE_TYPE, b"3".to_vec())];
        let header = TtHeader { numbered, ..header };
        let head = self.message.head(MessageKind::Exception);
        write_value(self.message.framing, &header, &head, &error.into_exception())
    }

    fn has_header(&self) -> bool {
        self.message.header.is_some()
    }

    fn header(&self, context: Option<&Context>) -> TtHeader {
        let asked = self.message.header.as_ref();
        let values = context.map(Context::take_reply_metadata).unwrap_or_default();
        TtHeader {
            sequence: asked.map_or(0, |header| header.sequence),
            texts: for_thrift_clients(values),
            numbered: vec![(HeaderKey::MESSAGE_TYPE, b"2".to_vec())],
            ..TtHeader::default()
        }
    }
}

impl Message {
    fn head(&self, kind: MessageKind) -> MessageHeader<&str> {
        MessageHeader { kind, name: &self.head.name, sequence: self.head.sequence }
    }
}

impl Exchange for Served {
    fn request(&self) -> ForeignBytes<'_> {
        ForeignBytes::stable(self.message.body())
    }

    fn reply_with(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.reply = Some(copy_of(ForeignBytes::stable(bytes))?);
        Ok(())
    }

    fn take_request(&mut self) -> Request {
        let message = &mut self.message;
        Request::received(std::mem::take(&mut message.bytes), std::mem::take(&mut message.body))
    }

    fn reserve(&mut self, size: usize) -> Result<&mut [u8], Error> {
        Ok(self.reply.insert(zeroed(size).map_err(Error::memory)?))
    }

    fn commit(&mut self, len: usize) -> Result<(), Error> {
        self.reply.get_or_insert_default().truncate(len);
        Ok(())
    }

    fn abandon(&mut self) {
        self.reply = None;
    }
}

/// Returns the client's time-out.
pub(super) fn timeout(header: &TtHeader) -> Option<Duration> {
    let text = std::str::from_utf8(header.numbered(HeaderKey::RPC_TIMEOUT)?).ok()?;
    let milliseconds: u64 = text.parse().ok()?;
    // Kitex writes 0 if there is none.
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}
