//! Frames of streams: received ones, and writing the next.

use super::message::{Framing, write_value};
use crate::business::BusinessError;
use crate::error::Error;
use crate::metadata::Pairs;
use crate::stream::Ended;
use crate::thrift::{
    ApplicationException, ExceptionKind, FrameKind, HeaderKey, MessageHeader, MessageKind, Output,
    Slice, TtHeader, decode_slice,
};

/// Kind of an exception for a stream after its time is over (Kitex's number).
pub(super) const TIMEOUT: ExceptionKind = ExceptionKind(12015);

/// A received frame.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: FrameKind,
    pub(crate) header: TtHeader,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    pub(crate) fn stream(&self) -> i32 {
        self.header.sequence
    }

    pub(crate) fn method(&self) -> String {
        let method = self.header.numbered(HeaderKey::TO_METHOD).unwrap_or_default();
        String::from_utf8_lossy(method).into_owned()
    }

    /// Returns the method's outcome from a trailer or a reset.
    pub(super) fn outcome(&self) -> Result<(), Error> {
        if let Some(exception) = self.exception().transpose()? {
            return Err(exception);
        }
        match BusinessError::read_from(&self.header) {
            Some(error) => Err(error.into()),
            None if self.kind == FrameKind::Reset => {
                Err(Error::Protocol("the server has reset the stream without a reason".to_owned()))
            }
            None => Ok(()),
        }
    }

    fn exception(&self) -> Option<Result<Error, Error>> {
        (!self.payload.is_empty()).then(|| {
            let mut from = Slice::new(&self.payload).map_err(Error::Reply)?;
            let head = MessageHeader::decode(&mut from).map_err(Error::Reply)?;
            if head.kind != MessageKind::Exception {
                let words = format!("a stream ended by a message of kind {:?}", head.kind);
                return Err(Error::Protocol(words));
            }
            let exception: ApplicationException =
                decode_slice(&self.payload[head.size()..]).map_err(Error::Reply)?;
            Ok(match exception.kind {
                TIMEOUT => breezeway::CallError::DeadlinePassed.into(),
                _ => Error::Application(exception),
            })
        })
    }
}

/// Writer of one side's frames of one stream.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    stream: i32,
    method: String,
}

impl Writer {
    pub(crate) fn new(stream: i32, method: String) -> Self {
        Self { stream, method }
    }

    pub(crate) fn stream(&self) -> i32 {
        self.stream
    }

    /// Appends a client's first frame.
    pub(crate) fn opening(
        &self,
        texts: Pairs,
        timeout: Option<String>,
        to: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let mut header = self.head(FrameKind::Header, texts);
        if let Some(timeout) = timeout {
            header.numbered.push((HeaderKey::RPC_TIMEOUT, timeout.into_bytes()));
        }
        self.write(header, &[], to)
    }

    /// Appends a server's first frame.
    pub(crate) fn header(&self, texts: Pairs, to: &mut Vec<u8>) -> Result<(), Error> {
        self.write(self.head(FrameKind::Header, texts), &[], to)
    }

    /// Appends a message.
    pub(crate) fn data(&self, message: &[u8], to: &mut Vec<u8>) -> Result<(), Error> {
        self.write(self.head(FrameKind::Data, Pairs::new()), message, to)
    }

    /// Appends a client's last frame.
    pub(crate) fn end(&self, to: &mut Vec<u8>) -> Result<(), Error> {
        self.write(self.head(FrameKind::Trailer, Pairs::new()), &[], to)
    }

    /// Appends a server's last frame, preceded by its last message.
    fn trailer(&self, ended: Ended, texts: Pairs, to: &mut Vec<u8>) -> Result<(), Error> {
        let mut header = self.head(FrameKind::Trailer, texts);
        let payload = match ended {
            Ended::Well(None) => Vec::new(),
            Ended::Well(Some(value)) => {
                self.data(&value, to)?;
                Vec::new()
            }
            Ended::Failed(Error::Business(error)) if error.status != 0 => {
                error.write_to(&mut header);
                Vec::new()
            }
            // Kitex has no other way to report it.
            Ended::Thrown(_, message) => {
                let kind = ExceptionKind::INTERNAL_ERROR;
                self.exception(ApplicationException { kind, message })?
            }
            Ended::Failed(error) => self.exception(error.into_exception())?,
        };
        self.write(header, &payload, to)
    }

    /// Returns the frame that ends the stream at once.
    pub(crate) fn reset(&self, kind: ExceptionKind, words: &str) -> Result<Vec<u8>, Error> {
        let message = words.to_owned();
        let payload = self.exception(ApplicationException { kind, message })?;
        let mut bytes = Vec::new();
        self.write(self.head(FrameKind::Reset, Pairs::new()), &payload, &mut bytes)?;
        Ok(bytes)
    }

    /// Returns all that a server sends last: preceded by its first frame, if that was not sent.
    pub(crate) fn last(&self, has_begun: bool, ended: Ended, texts: Pairs) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut begun = 0;
        let write = || {
            if !has_begun {
                self.header(Pairs::new(), &mut bytes)?;
            }
            begun = bytes.len();
            self.trailer(ended, texts, &mut bytes)
        };
        if let Err(error) = write() {
            bytes.truncate(begun);
            let failed = self.trailer(Ended::Failed(error), Pairs::new(), &mut bytes);
            if let Err(error) = failed {
                // The client's own name and a short message always fit.
                tracing::error!(%error, "a stream's end cannot be written");
            }
        }
        bytes
    }

    fn head(&self, kind: FrameKind, texts: Pairs) -> TtHeader {
        TtHeader { texts, ..TtHeader::of_stream(self.stream, kind, &self.method) }
    }

    fn exception(&self, exception: ApplicationException) -> Result<Vec<u8>, Error> {
        let (kind, name) = (MessageKind::Exception, self.method.as_str());
        let head = MessageHeader { kind, name, sequence: self.stream };
        write_value(Framing::Unframed, &TtHeader::default(), &head, &exception)
    }

    fn write(&self, header: TtHeader, payload: &[u8], to: &mut Vec<u8>) -> Result<(), Error> {
        let (start, size) = (to.len(), header.size());
        to.resize(start + size, 0);
        let mut output = Output::new(&mut to[start..]);
        header.encode(payload.len(), &mut output);
        let written = output.finish();
        if let Err(error) = written {
            to.truncate(start);
            return Err(error.into());
        }
        to.extend_from_slice(payload);
        Ok(())
    }
}
